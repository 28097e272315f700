use super::*;
use crate::outcome::TRANSACTION;
use seekwell_model::field::{Value, Values};
use seekwell_model::workloads::{WorkloadParams, workload_kind};
use seekwell_stats::Histogram;

fn params(kind: &str, values: &[(&'static str, Value)]) -> WorkloadParams {
    let mut given = Values::default();
    for (name, value) in values {
        given.set(name, value.clone());
    }
    workload_kind(kind).unwrap().params(&given).unwrap()
}

const PGBENCH: &str = "\
wanted: fsync=on
wanted: synchronous_commit=on
setting: fsync=on
setting: synchronous_commit=on
pgbench (15.18)
transaction type: <builtin: TPC-B (sort of)>
number of transactions actually processed: 2000/2000
number of failed transactions: 0 (0.000%)
latency average = 2.000 ms
initial connection time = 4.6 ms
tps = 500.500000 (without initial connection time)
latency_us 1000 1500
latency_us 5000 490
latency_us 20000 10
";

#[test]
fn what_pgbench_prints_becomes_rates_and_a_histogram() {
    let outcome = pgbench::read(PGBENCH).unwrap();
    assert_eq!((outcome.ops, outcome.metrics["transactions_per_s"]), (2_000, 500.5));
    assert_eq!(outcome.elapsed_ns, (2_000.0 / 500.5 * 1e9) as u64);
    let settings: Vec<(&str, &str)> =
        outcome.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(settings, [("fsync", "on"), ("synchronous_commit", "on")]);
    let mut expected = Histogram::new();
    for (us, count) in [(1_000, 1_500), (5_000, 490), (20_000, 10)] {
        expected.record_n(us * 1_000, count);
    }
    assert_eq!(outcome.histograms[TRANSACTION], expected);
    let mut computed = outcome;
    computed.compute(&["latency_p50".to_owned(), "latency_max".to_owned()]);
    assert_eq!(computed.metrics["latency_p50"], expected.percentile_ns(0.5).unwrap() as f64);
}

#[test]
fn a_server_that_runs_with_other_settings_measures_nothing() {
    let other = PGBENCH.replace("setting: fsync=on", "setting: fsync=off");
    assert_eq!(pgbench::read(&other).unwrap_err(), "did not run with fsync=on");
    let silent: String = PGBENCH.lines().filter(|l| !l.starts_with("latency_us")).collect();
    assert!(pgbench::read(&silent).is_err());
    let cut = PGBENCH.replace("\ntps =", "\nrate =");
    assert_eq!(pgbench::read(&cut).unwrap_err(), "printed no line with '\ntps ='");
}

#[test]
fn the_settings_of_a_lab_reach_the_server() {
    let values = [
        ("clients", Value::Integer(7)),
        ("synchronous_commit", Value::Text("off".into())),
        ("wal_sync_method", Value::Text("open_datasync".into())),
        ("time", Value::Duration(seekwell_model::units::Nanos::seconds(3))),
        ("warm_up", Value::Duration(seekwell_model::units::Nanos(0))),
    ];
    let WorkloadParams::Pgbench(params) = params("pgbench", &values) else { panic!("other kind") };
    let script = pgbench::run(&params);
    for part in [
        "-c fsync=on",
        "-c synchronous_commit=off",
        "-c wal_sync_method=open_datasync",
        "-c full_page_writes=on",
        "bench -b tpcb-like -c 7 -j 2 -T 3 -l",
        "wanted: synchronous_commit=off",
    ] {
        assert!(script.contains(part), "{part}\n{script}");
    }
    assert_eq!(script.matches("bench -b").count(), 1, "no warm-up was asked for");
}

const DB_BENCH: &str = "\
DB path: [/mnt/rocksdb]
overwrite    :      35.625 micros/op 56132 ops/sec 2.013 seconds 112998 operations;   22.3 MB/s
Microseconds per write:
Count: 112998 Average: 35.6283  StdDev: 238.59
Min: 3  Median: 8.5671  Max: 20397
Percentiles: P50: 8.57 P75: 15.68 P99: 595.36 P99.9: 3462.53 P99.99: 8378.37
";

const WARM_UP: &str = "\
warm-up: RocksDB:    version 7.8.3
warm-up: rocksdb.number.keys.written COUNT : 94999
warm-up: rocksdb.wal.synced COUNT : 94999
warm-up: rocksdb.wal.bytes COUNT : 41039568
warm-up: use_fsync=false
setting: wanted_sync=on
";

#[test]
fn the_warm_up_of_db_bench_shows_the_settings_in_force() {
    let outcome = db_bench::read(&format!("{WARM_UP}{DB_BENCH}")).unwrap();
    assert_eq!(outcome.ops, 112_998);
    let settings: Vec<String> =
        outcome.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let all = "rocksdb_version=7.8.3 sync=on sync_call=fdatasync write_ahead_log=on";
    assert_eq!(settings.join(" "), all);
    assert!(db_bench::read(DB_BENCH).unwrap().settings.is_empty(), "without a warm-up");
    let unsynced = WARM_UP.replace("wal.synced COUNT : 94999", "wal.synced COUNT : 0");
    let told = db_bench::read(&format!("{unsynced}{DB_BENCH}")).unwrap_err();
    assert_eq!(told, "did not run with sync=on: 0 syncs for 94999 keys");
    let silent = "setting: wanted_sync=on\n";
    assert!(db_bench::read(&format!("{silent}{DB_BENCH}")).is_err(), "nothing was counted");
}

#[test]
fn what_db_bench_prints_becomes_rates_and_percentiles() {
    let outcome = db_bench::read(DB_BENCH).unwrap();
    assert_eq!((outcome.ops, outcome.elapsed_ns), (112_998, 2_013_000_000));
    let metric = |name: &str| outcome.metrics[name].round();
    assert_eq!(metric("transactions_per_s"), 56_132.0);
    assert_eq!([metric("latency_p50"), metric("latency_p99")], [8_570.0, 595_360.0]);
    assert_eq!([metric("latency_p999"), metric("latency_max")], [3_462_530.0, 20_397_000.0]);
    assert!(db_bench::read("unknown benchmark").is_err());
}

#[test]
fn transactions_of_sqlite_are_counted_and_stay_in_the_database() {
    for mode in ["delete", "truncate", "persist", "wal"] {
        let folder = tempfile::tempdir().unwrap();
        let values = [
            ("journal_mode", Value::Text(mode.into())),
            ("rows", Value::Integer(100)),
            ("rows_per_transaction", Value::Integer(3)),
            ("warm_up", Value::Integer(2)),
            ("count", Value::Integer(10)),
        ];
        let context = crate::fixture::context(folder.path());
        let mut steps = crate::steps(&params("sqlite", &values));
        assert_eq!(steps.len(), 2);
        steps[0].run(&context).unwrap();
        let outcome = steps[1].run(&context).unwrap();
        assert_eq!((outcome.ops, outcome.histograms[TRANSACTION].count()), (10, 10));
        assert_eq!(outcome.settings["journal_mode"], mode);
        assert_eq!(outcome.settings["synchronous"], "full");
        assert_eq!(outcome.settings["sqlite_version"], rusqlite::version());
        assert!(
            outcome.metrics["transactions_per_s"] > 0.0 && outcome.metrics["latency_p99"] > 0.0
        );
        let database = rusqlite::Connection::open(folder.path().join("application.db")).unwrap();
        let rows: i64 =
            database.query_row("SELECT count(*) FROM event", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 100 + 12 * 3, "{mode}");
        let found: String =
            database.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
        assert_eq!(found == "wal", mode == "wal");
    }
}
