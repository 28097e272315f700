//! The line of numbers that `bon_csv2html` and `bon_csv2txt` read, format 1.98.

use seekwell_model::bench::{BenchResult, BenchStep};
use seekwell_model::workloads::BonnieParams;

/// Version of the format, and of the program whose meaning the numbers have.
const VERSIONS: &str = "1.98,2.00a";

/// bonnie++ shows no result for what took less time: it would be rounding.
const SHORTEST_NS: u64 = 500_000_000;

/// The tests in the order of the line: those on one file, those on many.
const STREAMS: [&str; 6] = ["putc", "put_block", "rewrite", "getc", "get_block", "seeks"];
const FILES: [&str; 6] = ["seq_create", "seq_stat", "seq_del", "ran_create", "ran_stat", "ran_del"];

/// The line for a result, without its line break. `machine` is the name that it is shown under.
#[must_use]
pub fn line(params: &BonnieParams, result: &BenchResult, machine: &str, seed: u64) -> String {
    let step = |name: &str| result.steps.iter().find(|step| step.name == name);
    let streams = STREAMS.iter().any(|name| step(name).is_some());
    let files = FILES.iter().any(|name| step(name).is_some());
    let machine = machine.replace([',', '\n'], " ");
    let mut fields = vec![VERSIONS.to_owned(), machine, "1".to_owned(), seed.to_string()];
    let given = |wanted: bool, text: String| if wanted { text } else { String::new() };
    fields.push(given(streams, size(params.size.0)));
    fields.push(given(streams, params.chunk.0.to_string()));
    fields.push(given(streams, params.seeks.to_string()));
    fields.push(given(streams, params.seekers.to_string()));
    for name in STREAMS {
        let amount = |step: &BenchStep| match name {
            "seeks" => step.ops,
            "putc" | "getc" => params.char_size.0 / 1024,
            _ => params.size.0 / 1024,
        };
        fields.push(step(name).map_or(",".to_owned(), |step| rate(step, amount(step))));
    }
    fields.push(given(files, (params.files / 1024).to_string()));
    fields.push(given(files, params.max_size.0.to_string()));
    fields.push(given(files, params.min_size.0.to_string()));
    fields.push(given(files, params.directories.to_string()));
    fields.push(given(files, params.chunk.0.to_string()));
    for name in FILES {
        fields.push(step(name).map_or(",".to_owned(), |step| rate(step, step.ops)));
    }
    for name in STREAMS.iter().chain(&FILES) {
        let latency = step(name).and_then(|step| step.latency_ns.as_ref());
        fields.push(latency.map_or(String::new(), |latency| time(latency.max)));
    }
    fields.join(",")
}

/// Operations per second, and the share of CPU in percent.
fn rate(step: &BenchStep, amount: u64) -> String {
    if step.elapsed_ns < SHORTEST_NS {
        return "+++++,+++".to_owned();
    }
    let per_s = amount as f64 * 1e9 / step.elapsed_ns as f64;
    match step.metrics.get("cpu_share") {
        Some(share) => format!("{per_s:.0},{:.0}", share * 100.0),
        None => format!("{per_s:.0},"),
    }
}

fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(1 << 20) {
        format!("{}M", bytes >> 20)
    } else {
        format!("{}k", bytes >> 10)
    }
}

fn time(ns: u64) -> String {
    match ns.div_ceil(1_000) {
        us if us < 10_000 => format!("{us}us"),
        us if us < 10_000_000 => format!("{}ms", us / 1_000),
        us => format!("{}s", us / 1_000_000),
    }
}
