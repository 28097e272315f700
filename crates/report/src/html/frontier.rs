//! Speed against loss as a picture: a row for each level of loss, a mark for each of its stacks.

use super::scale::Scale;
use crate::number::ratio;
use crate::page::Page;
use crate::safety::{Level, bought, levels};
use crate::view::RunView;

/// The rows; the stacks of the frontier, which nothing that loses less beats, are filled.
pub(super) fn draw(page: &mut Page, view: &RunView) {
    let levels = levels(view);
    let rows = || levels.iter().flat_map(|level| level.stacks.iter().copied());
    let scale = Scale::of(rows(), view.verdict.tie);
    page.raw("<div class=\"scroll\"><table class=\"forest long\" id=\"frontier\">\n");
    page.raw("<thead><tr><th scope=\"col\">a power cut</th><th scope=\"col\" class=\"plot\">");
    scale.head(page);
    page.raw("</th><th scope=\"col\">fastest</th><th scope=\"col\">gain</th></tr></thead>\n");
    for (number, level) in levels.iter().enumerate() {
        page.raw(match (number, level.is_on_frontier) {
            (0, _) => "<tbody class=\"pick\"><tr>",
            (_, true) => "<tbody class=\"out\"><tr>",
            (_, false) => "<tbody class=\"none\"><tr>",
        });
        page.element("<th scope=\"row\">", &level.loss, "</th><td class=\"plot\">");
        marks(page, level, &scale);
        page.element("</td><td>", &level.fastest().stack, "</td>");
        let gain = if number == 0 { String::new() } else { bought(view, level) };
        page.element("<td>", &gain, "</td></tr></tbody>\n");
    }
    page.raw("</table></div>\n");
}

fn marks(page: &mut Page, level: &Level<'_>, scale: &Scale) {
    page.raw("<svg class=\"plot\" role=\"img\"");
    let one = |row: &&seekwell_model::verdict::Ratio| format!("{} {}", row.stack, ratio(row.ratio));
    let stacks: Vec<String> = level.stacks.iter().map(one).collect();
    page.attribute("aria-label", &format!("{}: {}", level.loss, stacks.join(", ")));
    page.shape("><line class=\"one\" y2=\"100%\"", &[("x1", scale.x(1.0)), ("x2", scale.x(1.0))]);
    for (number, row) in level.stacks.iter().enumerate() {
        let Some(ratio) = row.ratio else { continue };
        let is_filled = number == 0 && level.is_on_frontier;
        page.raw(if is_filled { "<circle r=\"5\"" } else { "<circle r=\"3\"" });
        page.shape(" class=\"mark\" cy=\"45%\"", &[("cx", scale.x(ratio))]);
    }
    page.raw("</svg>");
}
