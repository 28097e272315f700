//! RocksDB: the commands of db_bench, and reading what it prints.

use super::number_after;
use crate::outcome::StepOutcome;
use seekwell_model::workloads::DbBenchParams;

fn common(params: &DbBenchParams) -> String {
    format!(
        "--db={{dir}}/rocksdb --num={} --value_size={} --compression_type=none \
         --progress_reports=0 --seed=1",
        params.keys, params.value_size.0
    )
}

/// Fills the database.
pub(super) fn prepare(params: &DbBenchParams) -> String {
    format!("exec db_bench {} --benchmarks=fillseq,flush --sync=0 2>&1\n", common(params))
}

/// Measures.
pub(super) fn run(params: &DbBenchParams) -> String {
    format!(
        "exec db_bench {} --benchmarks={} --use_existing_db=1 --threads={} --duration={} \
         --sync={} --histogram=1 2>&1\n",
        common(params),
        params.benchmark,
        params.threads,
        params.time.0 / 1_000_000_000,
        u8::from(params.sync)
    )
}

/// Reads the line of the benchmark and the percentiles of its only, or of its last, operation.
pub(super) fn read(output: &str) -> Result<StepOutcome, String> {
    let line = output
        .lines()
        .find(|line| line.contains(" micros/op ") && line.contains(" ops/sec "))
        .ok_or("printed no line with 'ops/sec'")?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let before = |unit: &str| {
        let at = words.iter().position(|word| word.trim_end_matches(';') == unit)?;
        words.get(at.checked_sub(1)?)?.parse::<f64>().ok()
    };
    let number = |unit| before(unit).ok_or_else(|| format!("printed no number before '{unit}'"));
    let (rate, seconds, ops) = (number("ops/sec")?, number("seconds")?, number("operations")?);
    let mut outcome = StepOutcome {
        ops: ops as u64,
        elapsed_ns: (seconds * 1e9) as u64,
        ..StepOutcome::default()
    };
    outcome.metrics.insert("transactions_per_s".to_owned(), rate);
    let figures = [
        ("latency_mean", "Average:"),
        ("latency_p50", "P50:"),
        ("latency_p99", "P99:"),
        ("latency_p999", "P99.9:"),
        ("latency_max", "Max:"),
    ];
    for (metric, label) in figures {
        outcome.metrics.insert(metric.to_owned(), number_after(output, label)? * 1e3);
    }
    Ok(outcome)
}
