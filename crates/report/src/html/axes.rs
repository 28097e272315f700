//! The effect of each axis as a table with a forest plot.

use super::draw::Axis;
use crate::number::{percent, ratio};
use crate::page::Page;
use crate::view::RunView;
use seekwell_model::verdict::{AxisFound, Basis, Ratio};

/// The table of the axes, the strongest first; nothing where the verdict has none.
pub(super) fn axes(page: &mut Page, view: &RunView) {
    let found = &view.verdict.evidence.axes;
    if found.is_empty() {
        return;
    }
    let rows: Vec<Ratio> = found.iter().map(as_ratio).collect();
    let scale = Axis::of(rows.iter(), view.verdict.tie);
    page.raw("<section>\n<h2>Which axis mattered</h2>\n");
    let explained = format!(
        "{} of the value with the highest over that with the lowest, averaged over the other \
         axes, on a logarithmic axis; the band is the tie width",
        view.verdict.metric
    );
    page.element("<p class=\"faint\">", &explained, "</p>\n");
    page.raw("<div class=\"scroll\"><table>\n<thead><tr><th>axis</th><th>highest</th>");
    page.raw("<th>lowest</th><th class=\"number\">ratio</th><th class=\"number\">interval</th>");
    page.raw("<th>ratio and interval");
    scale.ticks(page);
    page.raw("</th><th class=\"number\">of the variance</th>");
    page.raw("</tr></thead>\n<tbody>\n");
    for (axis, row) in found.iter().zip(&rows) {
        page.raw(if axis.measurable { "<tr class=\"best\">" } else { "<tr>" });
        page.element("<td class=\"label\">", &axis.axis, "</td>");
        page.element("<td>", &axis.highest, "</td>");
        page.element("<td>", &axis.lowest, "</td>");
        page.element("<td class=\"number\">", &ratio(Some(axis.ratio)), "</td>");
        let interval = match (axis.low, axis.high) {
            (Some(low), Some(high)) => format!("{}–{}", ratio(Some(low)), ratio(Some(high))),
            _ => crate::number::DASH.to_owned(),
        };
        page.element("<td class=\"number\">", &interval, "</td><td>");
        scale.row(page, row, view.verdict.tie);
        page.element("</td><td class=\"number\">", &percent(axis.share), "</td></tr>\n");
    }
    page.raw("</tbody>\n</table></div>\n</section>\n");
}

fn as_ratio(axis: &AxisFound) -> Ratio {
    Ratio {
        stack: axis.axis.clone(),
        ratio: Some(axis.ratio),
        low: axis.low,
        high: axis.high,
        median: None,
        pairs: 0,
        basis: Basis::Paired,
        hodges_lehmann: None,
        a12: None,
        autocorrelated: false,
    }
}
