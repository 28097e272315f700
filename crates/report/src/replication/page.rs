//! The comparison as one page: tables, and a drawing of every ratio.

use super::{
    agreement, beside, chart, first_lines, fitted_since, interval, result, score, summed, tested,
    why, with_unit,
};
use crate::page::Page;
use seekwell_model::replication::{Agreement, AtEnds, Replication, StudyOutcome};

/// The comparison as one HTML page that asks nothing of any network, its JSON inside.
#[must_use]
pub fn replication_html(found: &Replication) -> String {
    let title = "Replications: published and measured";
    let mut page = Page::new(title);
    page.element("<h1>", title, "</h1>\n");
    for line in first_lines(found) {
        page.element("<p><strong>", &line, "</strong></p>\n");
    }
    let device = found.device.as_deref().map(|device| format!(", device: {device}"));
    let facts = format!(
        "{} set, backend: {}{}; claims frozen on {}",
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
    for note in &study.notes {
        page.element("<li>", note, "</li>\n");
    }
    for lab in &study.labs {
        let text = format!(
            "{} ({} set): {} trials, {} left out, kernel {} ({}){}",
            lab.lab,
            lab.set,
            lab.trials,
            lab.left_out,
            lab.kernel,
            lab.file,
            lab.models_since().map(|since| format!(", {since}")).unwrap_or_default()
        );
        page.element("<li>", &text, "</li>\n");
    }
    page.raw("</ul>\n");
    chart::draw(page, study);
    values(page, study);
    claims(page, study);
    page.raw("<ul>\n");
    for line in study.changes.iter().chain(&study.errata) {
        page.element("<li>", line, "</li>\n");
    }
    page.raw("</ul>\n");
}

fn values(page: &mut Page, study: &StudyOutcome) {
    page.raw("<table><thead><tr><th>value</th><th>use</th><th>published</th><th>measured</th><th>ratio</th><th>agreement</th></tr></thead><tbody>\n");
    for value in &study.values {
        let ratio = value.ratio.map_or("—".to_owned(), |ratio| format!("{ratio:.2}"));
        let remark = value.reason.as_deref().or(value.note.as_deref());
        let mut remark = remark.map(|text| format!(": {text}")).unwrap_or_default();
        if let Some(since) = &value.fitted_since {
            remark.push_str(&format!("; {}", fitted_since(since)));
        }
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
    page.raw("<table><thead><tr><th>claim</th><th>statement</th><th>result</th><th>shown by</th></tr></thead><tbody>\n");
    for claim in &study.claims {
        let mut tests: Vec<String> = claim.tests.iter().map(tested).collect();
        let left_out = claim.not_counted.as_ref();
        tests.extend(left_out.map(|left_out| format!("not counted: {}", left_out.reason)));
        tests.extend(claim.at_ends.map(AtEnds::words));
        tests.extend(claim.also.iter().map(beside));
        tests.extend(why(claim));
        let text = format!("{}. {}", result(claim), tests.join("; "));
        let cells = [
            &format!("{} (line {})", claim.id, claim.line),
            &claim.says,
            text.trim(),
            &summed(&claim.shown_by).join("; "),
        ];
        row(page, claim.agreement.is_some_and(Agreement::differs), &cells);
    }
    page.raw("</tbody></table>\n");
}

/// Writes a row; one that disagrees is red, and its text says so too.
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
