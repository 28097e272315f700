//! The comparison as one page: tables, and a drawing of every ratio.

use super::{agreement, beside, interval, score, tested, why, with_unit};
use crate::html::Page;
use seekwell_model::replication::{ClaimVerdict, Replication, StudyOutcome};

/// Width and height of a drawing of ratios, and of one of its rows.
const WIDTH: f64 = 640.0;
const ROW: f64 = 18.0;
/// Left of the names' end.
const LEFT: f64 = 260.0;

/// The comparison as one HTML page that asks nothing of any network, its JSON inside.
#[must_use]
pub fn replication_html(found: &Replication) -> String {
    let title = "Replications: published and measured";
    let mut page = Page::new(title);
    page.element("<h1>", title, "</h1>\n");
    let device = found.device.as_deref().map(|device| format!(", device: {device}"));
    let facts = format!(
        "{} set, place: {}{}; claims frozen on {}",
        found.set,
        found.place,
        device.unwrap_or_default(),
        found.frozen
    );
    page.element("<p>", &facts, "</p>\n");
    for study in &found.studies {
        section(&mut page, study);
    }
    page.data("replication", &serde_json::to_value(found).unwrap_or_default());
    page.finish()
}

fn section(page: &mut Page, study: &StudyOutcome) {
    page.element("<h2>", &format!("{} {}", study.key, study.title), "</h2>\n");
    let facts = format!("{}, {}; {}", study.author, study.kernel, study.stands_for);
    page.element("<p>", &facts, "</p>\n");
    page.element("<p><strong>", &score(study), "</strong></p>\n");
    page.raw("<ul>\n");
    for note in study.notes.iter().chain(&study.errata) {
        page.element("<li>", note, "</li>\n");
    }
    for lab in &study.labs {
        let text =
            format!("{}: {} trials, kernel {} ({})", lab.lab, lab.trials, lab.kernel, lab.file);
        page.element("<li>", &text, "</li>\n");
    }
    page.raw("</ul>\n");
    ratios(page, study);
    values(page, study);
    claims(page, study);
}

/// Every measured value over its published one, on a logarithmic axis from a quarter to four times.
fn ratios(page: &mut Page, study: &StudyOutcome) {
    let shown: Vec<(&str, f64)> = study
        .values
        .iter()
        .filter_map(|value| Some((value.id.as_str(), value.ratio.filter(|ratio| *ratio > 0.0)?)))
        .collect();
    if shown.is_empty() {
        return;
    }
    let height = ROW * (shown.len() as f64 + 1.0);
    let x = |ratio: f64| LEFT + (WIDTH - LEFT) * (ratio.log2().clamp(-2.0, 2.0) + 2.0) / 4.0;
    page.raw("<svg role=\"img\"");
    page.attribute("viewBox", &format!("0 0 {WIDTH:.0} {height:.0}"));
    page.coordinate("width", WIDTH);
    page.coordinate("height", height);
    page.attribute("aria-label", "measured over published, one line per value");
    page.raw(">");
    for mark in [0.25, 0.5, 1.0, 2.0, 4.0] {
        page.raw("<line class=\"axis\" y1=\"0\"");
        page.coordinate("x1", x(mark));
        page.coordinate("x2", x(mark));
        page.coordinate("y2", height - ROW);
        page.raw("/>");
        label(page, x(mark) - 8.0, height - 4.0, &format!("{mark}×"));
    }
    for (index, (name, ratio)) in shown.iter().enumerate() {
        let y = ROW * (index as f64 + 0.5);
        label(page, 0.0, y + 4.0, name);
        page.raw("<circle r=\"4\"");
        page.coordinate("cx", x(*ratio));
        page.coordinate("cy", y);
        page.raw("/>");
    }
    page.raw("</svg>\n");
}

fn label(page: &mut Page, x: f64, y: f64, text: &str) {
    page.raw("<text font-size=\"11\"");
    page.coordinate("x", x);
    page.coordinate("y", y);
    page.raw(">");
    page.text(text);
    page.raw("</text>");
}

fn values(page: &mut Page, study: &StudyOutcome) {
    page.raw("<table><thead><tr><th>value</th><th>use</th><th>published</th><th>measured</th><th>ratio</th><th>agreement</th></tr></thead><tbody>\n");
    for value in &study.values {
        let ratio = value.ratio.map_or("—".to_owned(), |ratio| format!("{ratio:.2}"));
        let remark = value.reason.as_deref().or(value.note.as_deref());
        let mut remark = remark.map(|text| format!(": {text}")).unwrap_or_default();
        for also in &value.also {
            remark.push_str(&format!("; {}", beside(also)));
        }
        let cells = [
            &value.id,
            value.usage.word(),
            &with_unit(value.published, &value.unit),
            &interval(value),
            &ratio,
            &format!("{}{remark}", agreement(value)),
        ];
        row(page, value.agrees() == Some(false), &cells);
    }
    page.raw("</tbody></table>\n");
}

fn claims(page: &mut Page, study: &StudyOutcome) {
    page.raw("<table><thead><tr><th>claim</th><th>says</th><th>became</th><th>shown by</th></tr></thead><tbody>\n");
    for claim in &study.claims {
        let mut tests: Vec<String> = claim.tests.iter().map(tested).collect();
        tests.extend(claim.also.iter().map(beside));
        let text = format!("{}. {} {}", claim.verdict.words(), tests.join("; "), why(claim));
        let cells = [
            &format!("{} (line {})", claim.id, claim.line),
            &claim.says,
            text.trim(),
            &claim.shown_by.join("; "),
        ];
        row(page, claim.verdict == ClaimVerdict::NotConfirmed, &cells);
    }
    page.raw("</tbody></table>\n");
}

/// What disagrees stands in red, and says so in words too.
fn row(page: &mut Page, red: bool, cells: &[&str]) {
    page.raw(if red { "<tr class=\"failed\">" } else { "<tr>" });
    for cell in cells {
        page.element("<td>", cell, "</td>");
    }
    page.raw(
        "</tr>
",
    );
}
