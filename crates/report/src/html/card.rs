//! The card: the answer as a picture of 1200 × 630, as links are shown elsewhere.

use super::first::First;
use crate::answer_text::{Role, Span, joined};
use crate::page::Page;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 60.0;
/// Rows of the small forest.
const ROWS: usize = 9;
/// Left end and width of the forest.
const PLOT: (f64, f64) = (430.0, 640.0);
const INK: &str = "#15191d";
const FAINT: &str = "#56616b";
const PICK: &str = "#1658a5";
const OUT: &str = "#a8410b";

/// The card as an address that contains it.
pub(super) fn address(first: &First<'_>) -> String {
    format!("data:image/svg+xml;base64,{}", STANDARD.encode(svg(first)))
}

fn svg(first: &First<'_>) -> String {
    let mut page = Page::fragment();
    page.raw("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\" height=\"630\" viewBox=\"0 0 1200 630\" ");
    page.raw("font-family=\"system-ui, 'DejaVu Sans', sans-serif\"><rect width=\"1200\" height=\"630\" fill=\"#fff\"/>");
    let lab = &first.view.plan.lab;
    let question = if lab.question.trim().is_empty() { &lab.name } else { &lab.question };
    text(&mut page, &cut(&crate::text::capital(question), 88), (LEFT, 62.0), 24.0, FAINT);
    let mut y = 122.0;
    let size = if joined(&first.text.pick).chars().count() > 110 { 38.0 } else { 48.0 };
    for line in wrapped(&first.text.pick, (WIDTH - 2.0 * LEFT) / (size * 0.56), 3) {
        spans(&mut page, &line, y, size);
        y += size * 1.2;
    }
    let space = Span { text: " ".to_owned(), role: Role::Plain };
    let parts = [&first.text.out, &first.text.close].into_iter().flatten();
    let said: Vec<Span> = parts.flat_map(|part| part.iter().chain([&space])).cloned().collect();
    y -= 4.0;
    for line in wrapped(&said, 84.0, 2) {
        spans(&mut page, &line, y, 26.0);
        y += 36.0;
    }
    forest(&mut page, first, y + 4.0);
    text(&mut page, &cut(&first.view.facts().join(" · "), 116), (LEFT, 604.0), 18.0, FAINT);
    page.raw("</svg>");
    page.into_text()
}

/// The foremost stacks in the room that is left.
fn forest(page: &mut Page, first: &First<'_>, top: f64) {
    let room = 572.0 - top;
    let rows = first.forest.foremost(ROWS.min((room / 27.0) as usize));
    let step = (room / rows.len().max(1) as f64).min(40.0);
    let scale = &first.forest.scale;
    let x = |ratio: f64| PLOT.0 + scale.x(ratio) / 100.0 * PLOT.1;
    let tie = 1.0 + first.view.verdict.tie;
    let height = step * rows.len() as f64;
    rect(page, "#e3e8ec", (x(1.0 / tie), top), (x(tie) - x(1.0 / tie), height));
    rect(page, PICK, (x(1.0) - 1.0, top), (2.0, height));
    for (number, (class, row)) in rows.into_iter().enumerate() {
        let y = top + step * (number as f64 + 0.5);
        let label = cut(&row.ratio.stack, 28);
        text(page, &label, (LEFT, y + 7.0), 21.0, if class == "pick" { PICK } else { INK });
        let median = format!("{} {}", row.median, first.unit);
        text(page, &median, (PLOT.0 + PLOT.1 + 10.0, y + 7.0), 20.0, INK);
        let colour = match class {
            "pick" => PICK,
            "out" => OUT,
            _ => FAINT,
        };
        if let (Some(low), Some(high)) = (row.ratio.low, row.ratio.high)
            && class != "pick"
        {
            rect(page, colour, (x(low), y - 2.0), (x(high) - x(low), 4.0));
        }
        if let Some(ratio) = row.ratio.ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0) {
            let at = x(ratio);
            if class == "out" {
                rect(page, colour, (at - 7.0, y - 7.0), (14.0, 14.0));
            } else {
                page.raw("<circle r=\"8\" stroke-width=\"4\"");
                page.attribute("stroke", colour);
                page.attribute("fill", if class == "pick" { colour } else { "#fff" });
                page.coordinate("cx", at);
                page.coordinate("cy", y);
                page.raw("/>");
            }
        }
    }
}

fn rect(page: &mut Page, fill: &str, (x, y): (f64, f64), (width, height): (f64, f64)) {
    page.raw("<rect");
    page.attribute("fill", fill);
    page.coordinate("x", x);
    page.coordinate("y", y);
    page.coordinate("width", width.max(0.0));
    page.coordinate("height", height);
    page.raw("/>");
}

fn text(page: &mut Page, words: &str, (x, y): (f64, f64), size: f64, fill: &str) {
    page.raw("<text");
    page.coordinate("x", x);
    page.coordinate("y", y);
    page.coordinate("font-size", size);
    page.attribute("fill", fill);
    page.element(">", words, "</text>");
}

/// One line of spans, with the colours of their roles.
fn spans(page: &mut Page, line: &[Span], y: f64, size: f64) {
    page.raw("<text xml:space=\"preserve\"");
    page.coordinate("x", LEFT);
    page.coordinate("y", y);
    page.coordinate("font-size", size);
    page.attribute("font-weight", if size > 30.0 { "700" } else { "400" });
    page.attribute("fill", INK);
    page.raw(">");
    for span in line {
        page.raw("<tspan");
        match span.role {
            Role::Pick => page.attribute("fill", PICK),
            Role::Out => page.attribute("fill", OUT),
            Role::Plain => {}
        }
        page.element(">", &span.text, "</tspan>");
    }
    page.raw("</text>");
}

/// Spans in lines of at most this many letters; what is beyond the last line ends with an ellipsis.
fn wrapped(all: &[Span], letters: f64, lines: usize) -> Vec<Vec<Span>> {
    let letters = letters as usize;
    let mut found: Vec<Vec<Span>> = vec![vec![]];
    let mut used = 0;
    for span in all {
        for word in span.text.split_inclusive(' ') {
            let length = word.chars().count();
            if used > 0 && used + word.trim_end().chars().count() > letters {
                if found.len() == lines {
                    if let Some(last) = found.last_mut().and_then(|line| line.last_mut()) {
                        last.text = format!("{}…", last.text.trim_end());
                    }
                    return found;
                }
                found.push(vec![]);
                used = 0;
            }
            used += length;
            let word = cut(word, letters);
            let Some(line) = found.last_mut() else { continue };
            match line.last_mut().filter(|last| last.role == span.role) {
                Some(last) => last.text.push_str(&word),
                None => line.push(Span { text: word, role: span.role }),
            }
        }
    }
    found
}

fn cut(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(letters.saturating_sub(1)).collect();
    short.push('…');
    short
}

#[cfg(test)]
mod tests;
