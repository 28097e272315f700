//! Medians by workload, for runs whose stacks cannot be compared.

use crate::number::{Scale, unit_of};
use crate::text::{Ink, Palette, Table, paragraph};
use crate::view::{RunView, count};
use seekwell_model::record::Status;
use seekwell_stats::estimate::median;
use std::collections::BTreeMap;

/// The title of the table.
pub(crate) fn heading(view: &RunView) -> String {
    format!("{}, medians by workload", view.verdict.metric)
}

/// The table as text; nothing where no trial has a value.
pub(crate) fn table(view: &RunView, width: usize, stacks: usize, palette: Palette) -> String {
    let Some(table) = grid(view, stacks) else { return String::new() };
    let heading = paragraph("", &heading(view), width);
    let heading = palette.paint(Ink::Faint, heading.trim_end());
    let (text, hidden) = table.render(width, 2, palette);
    let more = match hidden {
        0 => String::new(),
        hidden => format!("{} omitted: widen the terminal\n", count(hidden, "more workload")),
    };
    format!("{heading}\n{text}{more}")
}

/// One row per stack, one column per workload; `None` where no trial has a value.
pub(crate) fn grid(view: &RunView, stacks: usize) -> Option<Table> {
    let metric = &view.verdict.metric;
    let mut values: BTreeMap<(u32, u32), Vec<f64>> = BTreeMap::new();
    for (trial, record) in view.records.iter().filter(|(_, record)| record.status == Status::Ok) {
        let Some(pair) = view.candidate_of(trial) else { continue };
        let value = record.metric(metric);
        values.entry((pair.stack, pair.workload)).or_default().extend(value);
    }
    let medians: BTreeMap<(u32, u32), f64> =
        values.iter().filter_map(|(pair, values)| Some((*pair, median(values)?))).collect();
    if medians.is_empty() {
        return None;
    }
    let scale = Scale::fit(unit_of(metric), medians.values().copied());
    let mut table = Table::default();
    table.column("stack", "", false);
    for workload in &view.plan.workloads {
        table.column(&workload.name, scale.symbol(), true);
    }
    let shown = (0_u32..).zip(&view.plan.stacks[..view.plan.ranked()]).take(stacks);
    for (index, stack) in shown {
        let cells = (0..view.plan.workloads.len() as u32)
            .map(|workload| scale.number(medians.get(&(index, workload)).copied()));
        table.row(None, std::iter::once(stack.label.clone()).chain(cells).collect());
    }
    Some(table)
}
