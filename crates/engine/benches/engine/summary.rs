//! Medians over the rounds, each with an interval that asks nothing of the shape of the scatter: this
//! machine has rounds that are several times slower than others.

use crate::{Measured, Runs};
use serde_json::Value;
use std::collections::BTreeMap;

/// The middle and the interval between the two values of an ordered list that hold the true median
/// between them in at least 95 % of all cases.
fn median(mut values: Vec<f64>) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let (mut below, mut chance, mut left) = (0, 0.5_f64.powi(count as i32), 0.0);
    while below < count / 2 && left + chance <= 0.025 {
        left += chance;
        chance *= (count - below) as f64 / (below + 1) as f64;
        below += 1;
    }
    let rank = below.saturating_sub(1);
    let middle = f64::midpoint(values[(count - 1) / 2], values[count / 2]);
    (values[rank], middle, values[count - 1 - rank])
}

fn shown((low, middle, high): (f64, f64, f64), digits: usize) -> String {
    format!("{middle:.digits$} ({low:.digits$} to {high:.digits$})")
}

/// The runs that a file holds, of rounds in which every side of the case was measured.
pub fn read(file: &str) -> Runs {
    let text = std::fs::read_to_string(file).unwrap();
    let mut rounds: BTreeMap<(String, u64), Vec<(&'static str, Measured)>> = BTreeMap::new();
    let mut part = 0;
    let mut last = 0;
    for line in text.lines() {
        let told: Value = serde_json::from_str(line).unwrap();
        let round = told["round"].as_u64().unwrap();
        // A file of several runs of this program begins again with its first round.
        part += u64::from(round < last);
        last = round;
        let number = |name: &str| told[name].as_f64().unwrap();
        let measured = Measured { iops: number("iops"), cpu_ns_per_op: number("cpu_ns_per_op") };
        let who = match told["who"].as_str().unwrap() {
            "seekwell" => "seekwell",
            "fio" => "fio",
            _ => "bare",
        };
        let case = told["case"].as_str().unwrap().to_owned();
        rounds.entry((case, part << 32 | round)).or_default().push((who, measured));
    }
    let mut found = Runs::new();
    for ((case, _), sides) in rounds {
        let all = if case.starts_with("null") { 2 } else { 3 };
        if sides.len() == all {
            for (who, measured) in sides {
                found.entry((case.clone(), who)).or_default().push(measured);
            }
        }
    }
    found
}

/// Prints what was found about every case.
pub fn print(found: &Runs) {
    let labels = found.keys().filter(|(_, who)| *who == "seekwell").map(|(label, _)| label);
    for label in labels {
        let of = |who| found.get(&(label.clone(), who)).map(Vec::as_slice);
        let column = |runs: &[Measured], value: fn(&Measured) -> f64| {
            median(runs.iter().map(value).collect())
        };
        let (ours, fio, bare) = (of("seekwell").unwrap_or_default(), of("fio"), of("bare"));
        eprintln!("{label}, {} rounds", ours.len());
        for (who, runs) in [("seekwell", Some(ours)), ("fio", fio), ("bare", bare)] {
            let Some(runs) = runs else { continue };
            let iops = shown(column(runs, |run| run.iops), 0);
            let cpu = shown(column(runs, |run| run.cpu_ns_per_op), 0);
            eprintln!("  {who:9} IOPS {iops}, CPU {cpu} ns per operation");
        }
        let Some(fio) = fio else { continue };
        let ratios = ours.iter().zip(fio).map(|(ours, fio)| ours.iops / fio.iops).collect();
        eprintln!("  IOPS relative to fio {}", shown(median(ratios), 3));
        let Some(bare) = bare else { continue };
        let over = |runs: &[Measured]| -> Vec<f64> {
            let each = runs.iter().zip(bare);
            each.map(|(run, bare)| run.cpu_ns_per_op - bare.cpu_ns_per_op).collect()
        };
        let (ours, fio) = (over(ours), over(fio));
        let room = ours.iter().zip(&fio).map(|(ours, fio)| ours - 0.5 * fio).collect();
        eprintln!("  overhead {} ns, fio's {} ns", shown(median(ours), 0), shown(median(fio), 0));
        eprintln!(
            "  overhead less half of fio's {} ns: at most 0 is the goal",
            shown(median(room), 0)
        );
    }
}
