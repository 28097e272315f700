//! A prediction and what came of it.

use crate::number::{Scale, ratio, unit_of};
use crate::stack_table::direction;
use crate::text::{Palette, Table, paragraph};
use seekwell_model::comparison::Prediction;

/// A prediction with the run on the device, for a terminal of `width` columns (at least 60 are used).
#[must_use]
pub fn prediction_text(found: &Prediction, width: usize, colour: bool) -> String {
    let width = width.max(60);
    let head = format!(
        "{} ({}); medians, and the ratio of the device to its prediction",
        found.metric,
        direction(found.better)
    );
    let mut out = paragraph("", &head, width);
    out.push_str(&table(found, width, Palette { colour }));
    out.push('\n');
    let [predicted, real] = found.best();
    let order = if predicted == real {
        format!("{real} was predicted to be the best and is.")
    } else {
        format!("{predicted} was predicted to be the best; {real} is.")
    };
    let ratios = format!(
        "The device has {} times the predicted value ({} to {} by stack).",
        ratio(Some(found.median)),
        ratio(Some(found.lowest)),
        ratio(Some(found.highest))
    );
    out.push_str(&paragraph("", &format!("{ratios} {order}"), width));
    if !found.without_value.is_empty() {
        let text =
            format!("Without a value in one of the runs: {}.", found.without_value.join(", "));
        out.push_str(&paragraph("", &text, width));
    }
    out
}

fn table(found: &Prediction, width: usize, palette: Palette) -> String {
    let medians = found.stacks.iter().flat_map(|stack| [stack.predicted, stack.real]);
    let scale = Scale::fit(unit_of(&found.metric), medians);
    let mut table = Table::default();
    table.column("stack", "", false);
    table.column("predicted", scale.symbol(), true);
    table.column("device", scale.symbol(), true);
    table.column("ratio", "", true);
    for stack in &found.stacks {
        let cells = vec![
            stack.label.clone(),
            scale.number(Some(stack.predicted)),
            scale.number(Some(stack.real)),
            ratio(Some(stack.ratio())),
        ];
        table.row(None, cells);
    }
    table.render(width, 4, palette).0
}
