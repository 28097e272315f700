//! RocksDB: the commands of db_bench, and reading what it prints.

use super::number_after;
use crate::outcome::StepOutcome;
use seekwell_model::units::Nanos;
use seekwell_model::workloads::DbBenchParams;
use std::collections::BTreeMap;

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

/// The benchmark over the filled database, for a time.
fn benchmark(params: &DbBenchParams, time: Nanos) -> String {
    format!(
        "db_bench {} --benchmarks={} --use_existing_db=1 --threads={} --duration={} --sync={}",
        common(params),
        params.benchmark,
        params.threads,
        time.0 / 1_000_000_000,
        u8::from(params.sync)
    )
}

/// Warms up, in a process of its own that counts its syncs, and measures.
pub(super) fn run(params: &DbBenchParams) -> String {
    let mut script = String::new();
    if params.warm_up.0 > 0 {
        // The counters of the measured process would cost time.
        script = format!(
            "{} --statistics=1 2>&1 | grep -E '^RocksDB:|^rocksdb[.](number[.]keys[.]written|wal[.])' \
             | sed 's/^/warm-up: /'\n\
             sed -n 's/^ *use_fsync=/warm-up: use_fsync=/p' {{dir}}/rocksdb/OPTIONS-* | head -1\n\
             echo \"setting: wanted_sync={}\"\n",
            benchmark(params, params.warm_up),
            if params.sync { "on" } else { "off" }
        );
    }
    format!("{script}exec {} --histogram=1 2>&1\n", benchmark(params, params.time))
}

/// The settings in force, as the counters of the warm-up show them: write-ahead log and syncs.
fn settings(output: &str) -> Result<BTreeMap<String, String>, String> {
    let mut wanted = super::settings(output);
    let Some(wanted) = wanted.remove("wanted_sync") else { return Ok(BTreeMap::new()) };
    let count = |name: &str| {
        let line =
            output.lines().find_map(|line| line.strip_prefix("warm-up: ")?.strip_prefix(name));
        let number =
            line.and_then(|line| line.split_once("COUNT : ")?.1.trim().parse::<u64>().ok());
        number.ok_or_else(|| format!("counted no '{name}' in its warm-up"))
    };
    let written = count("rocksdb.number.keys.written")?;
    let (logged, synced) = (count("rocksdb.wal.bytes")?, count("rocksdb.wal.synced")?);
    let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
    let mut found = BTreeMap::new();
    let mut keep = |name: &str, value: String| found.insert(name.to_owned(), value);
    if written > 0 {
        let sync = on(synced > 0);
        if sync != wanted {
            return Err(format!(
                "did not run with sync={wanted}: {synced} syncs for {written} keys"
            ));
        }
        keep("sync", sync);
        keep("write_ahead_log", on(logged > 0));
    }
    let mut lines = output.lines().filter_map(|line| line.strip_prefix("warm-up: "));
    if let Some(use_fsync) = lines.clone().find_map(|line| line.strip_prefix("use_fsync=")) {
        let call = if use_fsync == "true" { "fsync" } else { "fdatasync" };
        keep("sync_call", call.to_owned());
    }
    if let Some(version) =
        lines.find_map(|line| line.split_once("RocksDB:")?.1.split_once("version "))
    {
        keep("rocksdb_version", version.1.trim().to_owned());
    }
    Ok(found)
}

/// Reads the line of the benchmark and the percentiles of its only, or of its last, operation.
pub(super) fn read(output: &str) -> Result<StepOutcome, String> {
    let settings = settings(output)?;
    let measured: Vec<&str> =
        output.lines().filter(|line| !line.starts_with("warm-up: ")).collect();
    let output = &measured.join("\n");
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
        settings,
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
