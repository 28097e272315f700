//! One workload that was run now.

use crate::number::{DASH, quantity};
use crate::terminal::warnings;
use crate::text::{Palette, Table, harmless, paragraph};
use seekwell_model::bench::{BenchResult, BenchStep};
use seekwell_model::metrics::Unit;

const WIDTH: usize = 80;

/// The result in at most 80 columns: some lines for one step, a table for several; then doubts
/// with what to do.
#[must_use]
pub fn bench_text(result: &BenchResult) -> String {
    let title = format!("{} on {}", result.workload, result.target);
    let mut out = paragraph("", &title, WIDTH);
    out.push_str(&match result.steps.as_slice() {
        [] => "  no step was run\n".to_owned(),
        [step] => one(step),
        steps => several(steps),
    });
    out.push_str(&beyond(&result.steps));
    out.push_str(&warnings(&result.warnings, WIDTH, Palette { colour: false }));
    out
}

/// Metrics that the other lines do not tell, of steps that have such: what finding the blocks took,
/// and how fair threads were to each other.
fn beyond(steps: &[BenchStep]) -> String {
    const TOLD: &[(&str, &str)] = &[
        ("seek_time", "seek time"),
        ("extents", "extents"),
        ("pointer_blocks", "pointer blocks"),
        ("device_reads_per_op", "device reads per operation"),
        ("device_writes_per_op", "device writes per operation"),
        ("metadata_reads", "reads of metadata"),
        ("chunk_read", "whole-chunk read"),
        ("chunk_write", "whole-chunk write"),
        ("thread_mb_per_s_min", "slowest thread"),
        ("thread_mb_per_s_max", "fastest thread"),
        ("imbalance", "imbalance"),
        ("checked_bytes", "written and read back"),
        ("wrong_bytes", "with wrong content"),
    ];
    let mut out = String::new();
    for step in steps {
        // One thread is no more and no less than its step, and the rates of several steps tell seek times.
        let fair = step.metrics.get("imbalance") == Some(&1.0);
        let skip = |name: &str| {
            (fair && (name == "imbalance" || name.starts_with("thread_")))
                || (name == "seek_time" && steps.len() > 1)
        };
        let known: Vec<String> = TOLD
            .iter()
            .filter(|(name, _)| !skip(name))
            .filter_map(|(name, words)| {
                let value = step.metrics.get(*name)?;
                Some(format!("{words} {}", quantity(crate::number::unit_of(name), *value)))
            })
            .collect();
        if !known.is_empty() {
            let name = format!("  {}  ", harmless(&step.name));
            out.push_str(&paragraph(&name, &known.join(", "), WIDTH));
        }
    }
    out
}

fn nanoseconds(value: f64) -> String {
    quantity(Some(Unit::Nanoseconds), value)
}

fn rate(step: &BenchStep) -> String {
    quantity(Some(Unit::PerSecond), step.iops)
}

fn one(step: &BenchStep) -> String {
    let mut speed = vec![format!(
        "{} operations in {}: {}",
        step.ops,
        nanoseconds(step.elapsed_ns as f64),
        rate(step)
    )];
    speed.extend(step.mb_per_s.map(|mb| quantity(Some(Unit::MegabytesPerSecond), mb)));
    speed.extend(step.cpu_ns_per_op.map(|cpu| format!("CPU {} per operation", nanoseconds(cpu))));
    let name = format!("  {}  ", harmless(&step.name));
    let mut out = paragraph(&name, &speed.join(", "), WIDTH);
    if let Some(latency) = &step.latency_ns {
        let parts = [
            ("mean", latency.mean),
            ("p50", latency.p50 as f64),
            ("p99", latency.p99 as f64),
            ("p99.9", latency.p999 as f64),
            ("max", latency.max as f64),
        ];
        let text: Vec<String> =
            parts.iter().map(|(word, value)| format!("{word} {}", nanoseconds(*value))).collect();
        let blanks = " ".repeat(crate::text::width(&name));
        let text = format!("latency {}", text.join(", "));
        out.push_str(&paragraph(&blanks, &text, WIDTH));
    }
    out
}

fn several(steps: &[BenchStep]) -> String {
    let mut table = Table::default();
    table.column("step", "", false);
    table.numbers(["ops", "time", "rate", "MB/s", "p50", "p99", "max"]);
    for step in steps {
        let latency = |pick: fn(&seekwell_model::bench::LatencySummary) -> u64| {
            step.latency_ns.as_ref().map_or(DASH.to_owned(), |all| nanoseconds(pick(all) as f64))
        };
        let mb = step.mb_per_s.map_or(DASH.to_owned(), |mb| quantity(None, mb));
        table.row(
            None,
            vec![
                step.name.clone(),
                step.ops.to_string(),
                nanoseconds(step.elapsed_ns as f64),
                rate(step),
                mb,
                latency(|all| all.p50),
                latency(|all| all.p99),
                latency(|all| all.max),
            ],
        );
    }
    let (text, _) = table.render(WIDTH - 2, usize::MAX, Palette { colour: false });
    text.lines().map(|line| format!("  {line}\n")).collect()
}

#[cfg(test)]
mod tests;
