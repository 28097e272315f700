//! The atlas as a static site: a matrix of loads and devices, a page per entry and one per question.

use super::questions::{Answered, QUESTIONS, named};
use super::{Against, Cell, EQUAL, Entry, not_eligible};
use crate::number::{DASH, percent};
use crate::page::{Head, Page};
use crate::program::SITE;
use crate::safety::class_words;
use seekwell_model::verdict::DurabilityClass;

/// A file of the site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitePage {
    /// Name of the file.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Entries that were made under different conditions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{one} and {other} were made with other kernels, CPU charges or seeds and cannot be in one matrix; complete \
     the atlas with seekwell atlas run"
)]
pub struct MixedKeys {
    one: String,
    other: String,
}

/// Pages of the entries. `title` gives the title of a model, `kind` the kind of device.
///
/// # Errors
/// [`MixedKeys`] for entries that cannot be compared.
pub fn site(
    entries: &[Entry],
    title: &dyn Fn(&str) -> Option<String>,
    kind: &dyn Fn(&str) -> String,
) -> Result<Vec<SitePage>, MixedKeys> {
    // Stacks are compared within an entry alone, so builds of one Linux may stand next to each other.
    let linux = |entry: &Entry| entry.kernel.split(' ').next().unwrap_or_default().to_owned();
    let conditions = |entry: &Entry| (linux(entry), entry.cpu.clone(), entry.seed);
    for pair in entries.windows(2) {
        if conditions(&pair[0]) != conditions(&pair[1]) {
            return Err(MixedKeys { one: pair[0].name(None), other: pair[1].name(None) });
        }
    }
    let answered = QUESTIONS.iter().filter_map(|one| Answered::of(one, entries));
    let answered: Vec<Answered<'_>> = answered.collect();
    let mut pages = vec![index(entries, &answered, kind)];
    pages.extend(entries.iter().map(|entry| entry_page(entry, title)));
    pages.extend(answered.iter().map(|one| question_page(one, kind)));
    Ok(pages)
}

fn file_of(entry: &Entry) -> String {
    format!("{}.{}.html", entry.load, entry.device)
}

fn names(entries: &[Entry], of: fn(&Entry) -> &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in entries.iter().map(of) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn link(page: &mut Page, to: &str, text: &str) {
    page.raw("<a");
    page.attribute("href", to);
    page.element(">", text, "</a>");
}

fn index(entries: &[Entry], answered: &[Answered<'_>], kind: &dyn Fn(&str) -> String) -> SitePage {
    let head = Head {
        title: "Storage answers that anybody can check",
        description: "Filesystems and I/O schedulers compared on modelled disks, SSDs and cards, load by load.",
    };
    let mut page = Page::with_program(&head, Some(&SITE));
    page.element("<h1>", head.title, "</h1>");
    let cells: usize = entries.iter().map(|entry| entry.cells.len()).sum();
    let facts = entries.first().map_or_else(String::new, |entry| {
        format!(
            "{cells} cells of {} runs on modelled devices in virtual time: Linux {}, {}, seed {}. The same seed \
             gives the same cell on every machine.",
            entries.len(),
            names(entries, |entry| &entry.kernel).join(" and "),
            entry.cpu,
            entry.seed
        )
    });
    page.element("<p class=\"faint\">", &facts, "</p>");
    page.raw("<h2>Which stack for which load and device?</h2><form hidden><label>Show <input name=\"q\" type=\"search\" placeholder=\"database nvme xfs\"></label> <output class=\"faint\"></output></form>");
    matrix(&mut page, entries, kind);
    page.raw("<p class=\"faint\">Colour: the most that the pick can be worse than the best stack. <span class=\"loss-0\">at most 2 %</span> <span class=\"loss-1\">at most 10 %</span> <span class=\"loss-2\">more, or no bound</span></p>");
    page.raw("<h2>Questions that people ask</h2>");
    legend(&mut page);
    page.raw("<dl class=\"questions\">");
    for one in answered {
        page.raw("<dt>");
        link(&mut page, &format!("question-{}.html", one.question.name), one.question.text);
        page.element("</dt><dd>", &one.sentence(kind), "</dd>");
    }
    page.raw("</dl>");
    SitePage { name: "index.html".to_owned(), text: page.finish_with(Some(&SITE)) }
}

/// Words that the answers use.
fn legend(page: &mut Page) {
    let text = format!("A case is a load on a device; {}.", named());
    page.element("<p class=\"faint\">", &text, "</p>");
}

/// The start of a table that scrolls: by keys where a link in it has the focus, or else the table itself.
fn scroll(page: &mut Page, label: &str, has_links: bool) {
    page.raw("<div class=\"scroll\" role=\"region\"");
    page.attribute("aria-label", label);
    page.raw(if has_links { ">" } else { " tabindex=\"0\">" });
}

fn matrix(page: &mut Page, entries: &[Entry], kind: &dyn Fn(&str) -> String) {
    let devices = names(entries, |entry| &entry.device);
    scroll(page, "Stack by load and device", true);
    page.raw("<table class=\"atlas\"><thead><tr><th scope=\"col\">load</th>");
    for device in &devices {
        page.element("<th scope=\"col\">", &kind(device), "");
        page.element("<br><small>", device, "</small></th>");
    }
    page.raw("</tr></thead><tbody>");
    for load in names(entries, |entry| &entry.load) {
        page.element("<tr><th scope=\"row\">", load, "</th>");
        for device in &devices {
            let found = entries.iter().find(|one| one.load == load && one.device == *device);
            match found {
                Some(entry) => square(page, entry, kind),
                None => page.raw("<td class=\"faint\">not run</td>"),
            }
        }
        page.raw("</tr>");
    }
    page.raw("</tbody></table></div>");
}

fn square(page: &mut Page, entry: &Entry, kind: &dyn Fn(&str) -> String) {
    page.raw(match entry.loss {
        Some(loss) if loss <= 0.02 => "<td class=\"loss-0\"",
        Some(loss) if loss <= 0.1 => "<td class=\"loss-1\"",
        _ => "<td class=\"loss-2\"",
    });
    let pick = entry.pick.as_deref().unwrap_or("no pick");
    let text = format!("{} {} {} {pick}", entry.load, entry.device, kind(&entry.device));
    page.attribute("data-text", &text.to_lowercase());
    page.raw(">");
    link(page, &file_of(entry), pick);
    let loss =
        entry.loss.map_or_else(|| "no bound".to_owned(), |loss| format!("≤ {}", percent(loss)));
    page.element("<br><small>", &loss, "</small></td>");
}

fn start(title: &str) -> Page {
    let mut page = Page::new(title);
    page.raw("<p><a href=\"index.html\">All answers</a></p>");
    page.element("<h1>", title, "</h1>");
    page
}

fn entry_page(entry: &Entry, title: &dyn Fn(&str) -> Option<String>) -> SitePage {
    let device = title(&entry.device).unwrap_or_else(|| entry.device.clone());
    let mut page = start(&format!("{} on {device}", entry.load));
    for (nth, said) in entry.answer.iter().enumerate() {
        match nth {
            0 => page.element("<p class=\"said\"><strong>", said, "</strong></p>"),
            _ => page.element("<p class=\"said\">", said, "</p>"),
        }
    }
    page.raw("<ul>");
    let error = entry.model_error.iter().map(|text| format!("Error of the model: {text}"));
    let doubt = entry.doubt.iter().map(|text| format!("Main doubt: {text}"));
    for text in entry.axes.iter().cloned().chain(entry.why.clone()).chain(error).chain(doubt) {
        page.element("<li>", &text, "</li>");
    }
    page.raw("</ul>");
    cell_table(&mut page, entry);
    page.element(
        "<p>Check it: <code>seekwell atlas check ",
        &entry.name(entry.picked()),
        "</code></p>",
    );
    let cost = entry.host_s.map_or_else(String::new, |host_s| format!(", {host_s} s of host time"));
    let facts = format!(
        "Comparison key {}, Linux {}, {}, seed {}, {} rounds{cost}",
        entry.key, entry.kernel, entry.cpu, entry.seed, entry.rounds
    );
    page.element("<p class=\"faint\">", &facts, "</p>");
    SitePage { name: file_of(entry), text: page.finish() }
}

fn cell_table(page: &mut Page, entry: &Entry) {
    scroll(page, "Results of each stack", false);
    page.raw("<table><thead><tr><th scope=\"col\">stack</th>");
    let mut columns =
        vec![entry.metric.as_str(), "against the pick", "longer is slower", "after a power cut"];
    columns.push("written per byte");
    let others: Vec<&String> =
        entry.cells.first().iter().flat_map(|cell| cell.others.keys()).collect();
    columns.extend(others.iter().map(|other| other.as_str()));
    columns.extend(["trials", "fingerprint"]);
    for column in columns {
        page.element("<th scope=\"col\">", column, "</th>");
    }
    page.raw("</tr></thead><tbody>");
    let worst = entry.cells.iter().filter_map(|cell| worse(entry, cell)).fold(1.0, f64::max);
    for cell in &entry.cells {
        row(page, entry, cell, worst);
        let number =
            |value: Option<f64>| value.map_or_else(|| DASH.to_owned(), crate::number::three_digits);
        page.element("<td>", &number(cell.written_per_byte), "</td>");
        for other in &others {
            page.element("<td>", &number(cell.others.get(*other).copied()), "</td>");
        }
        let [ok, marked, failed] = cell.trials;
        let troubled = |count: u32, word: &str| {
            if count > 0 { format!(", {count} {word}") } else { String::new() }
        };
        page.element(
            "<td>",
            &format!("{ok}{}{}", troubled(marked, "marked"), troubled(failed, "failed")),
            "</td>",
        );
        page.element("<td><code>", &cell.fingerprint, "</code></td></tr>");
    }
    page.raw("</tbody></table></div>");
}

/// Factor by which a cell is worse than the best.
fn worse(entry: &Entry, cell: &Cell) -> Option<f64> {
    let best = entry.cells.iter().filter_map(|cell| cell.median);
    let best = best.reduce(|a, b| if entry.worse(b, a) < 1.0 { b } else { a })?;
    Some(entry.worse(cell.median?, best))
}

/// The first columns of a stack, with its bar.
fn row(page: &mut Page, entry: &Entry, cell: &Cell, worst: f64) {
    page.element("<tr><th scope=\"row\">", &cell.stack, "</th>");
    let median = cell.median.map_or_else(|| DASH.to_owned(), |value| entry.value(value));
    page.element("<td>", &median, "</td>");
    page.element("<td>", &against(entry, cell), "</td><td>");
    if let Some(factor) = worse(entry, cell) {
        page.raw("<svg width=\"120\" height=\"12\" aria-hidden=\"true\"><rect height=\"12\" fill=\"currentColor\"");
        page.coordinate("width", 120.0 * factor / worst);
        page.raw("/></svg>");
    }
    let class = |class: DurabilityClass| class_words(class).to_owned();
    page.element("</td><td>", &cell.survives.map_or_else(|| DASH.to_owned(), class), "</td>");
}

/// A cell against the leader, which is the pick, as the interval of their ratio allows.
fn against(entry: &Entry, cell: &Cell) -> String {
    match entry.against_leader(cell) {
        None => DASH.to_owned(),
        Some(Against::Equal) => "as good".to_owned(),
        Some(Against::Open) => "too close to call".to_owned(),
        Some(Against::Worse(factor)) => entry.extent(factor),
        Some(Against::Better(gain)) => not_eligible(gain),
    }
}

fn question_page(answered: &Answered<'_>, kind: &dyn Fn(&str) -> String) -> SitePage {
    let question = answered.question;
    let mut page = start(question.text);
    page.element("<p class=\"said\"><strong>", &answered.sentence(kind), "</strong></p>");
    if let Some(text) = answered.survival() {
        page.element("<p class=\"said\">", &text, "</p>");
    }
    page.element("<p class=\"faint\">What would change it: ", question.caveat, "</p>");
    scroll(&mut page, "Cost of each choice", true);
    page.raw("<table><thead><tr><th scope=\"col\">load on device</th>");
    for choice in answered.choices() {
        page.element("<th scope=\"col\">", choice, "</th>");
    }
    page.raw("</tr></thead><tbody>");
    for (entry, costs) in &answered.rows {
        page.raw("<tr><th scope=\"row\">");
        link(&mut page, &file_of(entry), &entry.name(None));
        page.raw("</th>");
        for worse in costs {
            let (class, said) = match *worse {
                None => ("<td class=\"faint\">", "too close to call".to_owned()),
                Some(worse) if worse < EQUAL => ("<td class=\"loss-0\">", "best".to_owned()),
                Some(worse) if worse < 1.02 => ("<td class=\"loss-0\">", entry.extent(worse)),
                Some(worse) if worse < 1.1 => ("<td class=\"loss-1\">", entry.extent(worse)),
                Some(worse) => ("<td class=\"loss-2\">", entry.extent(worse)),
            };
            page.element(class, &said, "</td>");
        }
        page.raw("</tr>");
    }
    page.raw("</tbody></table></div><p class=\"faint\">Each choice with its best value of the other axis, against the best choice of the row by medians; too close to call: the interval holds no difference.</p>");
    legend(&mut page);
    SitePage { name: format!("question-{}.html", question.name), text: page.finish() }
}
