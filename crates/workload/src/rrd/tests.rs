use super::access::update;
use super::*;
use rustix::fs::CWD;
use seekwell_model::workloads::rrd::RrdAccess;
use std::process::Command;

/// A definition with every type and function, so that all of the arithmetic is compared.
fn varied() -> Definition {
    let source = |name: &str, kind, min, max| Source {
        name: name.to_owned(),
        kind,
        heartbeat_s: 600,
        min,
        max,
    };
    let archive = |function, rows, steps, unknown| Archive { function, rows, steps, unknown };
    Definition {
        step_s: 300,
        sources: vec![
            source("g", SourceKind::Gauge, f64::NAN, f64::NAN),
            source("c", SourceKind::Counter, 0.0, 1e7),
        ],
        archives: vec![
            archive(Consolidation::Average, 10, 1, 0.5),
            archive(Consolidation::Average, 7, 6, 0.5),
            archive(Consolidation::Max, 5, 4, 0.25),
            archive(Consolidation::Max, 5, 3, 0.9),
            archive(Consolidation::Average, 3, 2, 0.5),
        ],
    }
}

fn created_by_rrdtool(path: &Path, definition: &Definition, start: u64) {
    let bound = |value: f64| if value.is_nan() { "U".to_owned() } else { value.to_string() };
    let mut command = Command::new("rrdtool");
    command.arg("create").arg(path).args(["--start", &start.to_string()]);
    command.args(["--step", &definition.step_s.to_string()]);
    for source in &definition.sources {
        let Source { name, kind, heartbeat_s, min, max } = source;
        let (min, max) = (bound(*min), bound(*max));
        command.arg(format!("DS:{name}:{}:{heartbeat_s}:{min}:{max}", kind.word()));
    }
    for Archive { function, rows, steps, unknown } in &definition.archives {
        command.arg(format!("RRA:{}:{unknown}:{steps}:{rows}", function.word()));
    }
    assert!(command.status().unwrap().success());
}

fn updated_by_rrdtool(path: &Path, time_s: u64, values: &[&str]) {
    let text = format!("{time_s}:{}", values.join(":"));
    let status = Command::new("rrdtool").arg("update").arg(path).arg(text).status().unwrap();
    assert!(status.success());
}

/// Updates with every awkward turn: parts of steps, gaps, unknown values, wraps, values out of
/// bounds, gaps longer than whole rows.
fn awkward_updates(start: u64) -> Vec<(u64, [&'static str; 2])> {
    let mut time = start;
    [
        (300, ["1.5", "100"]),
        (17, ["2.5", "200"]),
        (290, ["U", "1000"]),
        (293, ["3", "4294967000"]),
        (5, ["3", "300"]),
        (600, ["1e3", "500"]),
        (595, ["4", "50000000000"]),
        (1_900, ["5", "700"]),
        (300, ["6", "800"]),
        (300, ["-7.25", "900"]),
        (1, ["7", "1000"]),
        (299, ["8", "U"]),
        (300, ["9", "1100"]),
        (301, ["10", "1200"]),
        (600, ["11", "1300"]),
        (600, ["12", "1400"]),
        (9_000, ["13", "1500"]),
        (300, ["14", "1600"]),
    ]
    .into_iter()
    .map(|(later, values)| {
        time += later;
        (time, values)
    })
    .collect()
}

/// rrdtool begins at a random row of each archive; everything else must be the same bytes.
fn without_rows(definition: &Definition, mut file: Vec<u8>) -> Vec<u8> {
    let offsets = definition.offsets();
    file[offsets.rows..offsets.data].fill(0);
    file
}

/// The same bytes, except that floats may differ in their last digits.
fn assert_same(theirs: &[u8], ours: &[u8], what: &str) {
    assert_eq!(theirs.len(), ours.len(), "{what}");
    let live = varied().offsets().live;
    assert_eq!(theirs[..live], ours[..live], "{what}");
    for at in (live..theirs.len()).step_by(8) {
        if theirs[at..at + 8] == ours[at..at + 8] {
            continue;
        }
        let (theirs, ours) = (format::get_f64(theirs, at), format::get_f64(ours, at));
        let near = theirs.is_normal() && ((theirs - ours) / theirs).abs() < 1e-12;
        assert!(near, "{what}, at {at}: {theirs:e} and {ours:e}");
    }
}

#[test]
fn new_files_are_those_of_rrdtool_byte_by_byte() {
    if seekwell_testing::tool("rrdtool").is_none() {
        return seekwell_testing::skip(
            "new_files_are_those_of_rrdtool_byte_by_byte",
            "rrdtool is not installed",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    for (number, definition) in [varied(), definition(2)].iter().enumerate() {
        let path = folder.path().join(format!("{number}.rrd"));
        created_by_rrdtool(&path, definition, CREATED_S + 1_234);
        let theirs = without_rows(definition, std::fs::read(&path).unwrap());
        let ours = without_rows(definition, definition.new_file(CREATED_S + 1_234));
        let first = theirs.iter().zip(&ours).position(|(a, b)| a != b);
        assert_eq!(first, None);
        assert_eq!(theirs.len(), ours.len());
        assert_eq!(
            Definition::read(&theirs, theirs.len() as u64).unwrap().offsets(),
            definition.offsets()
        );
    }
}

/// Files made by either, updated by either in turn, are at the end what rrdtool alone makes.
#[test]
fn updates_leave_what_rrdtool_leaves() {
    if seekwell_testing::tool("rrdtool").is_none() {
        return seekwell_testing::skip(
            "updates_leave_what_rrdtool_leaves",
            "rrdtool is not installed",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("theirs"), varied().new_file(CREATED_S)).unwrap();
    for name in ["mmap", "pread", "turns"] {
        std::fs::copy(path("theirs"), path(name)).unwrap();
    }
    for (number, (time, values)) in awkward_updates(CREATED_S).into_iter().enumerate() {
        updated_by_rrdtool(&path("theirs"), time, &values);
        update(CWD, path("mmap").to_str().unwrap(), RrdAccess::Mmap, time, &values).unwrap();
        update(CWD, path("pread").to_str().unwrap(), RrdAccess::Pread, time, &values).unwrap();
        if number % 2 == 0 {
            updated_by_rrdtool(&path("turns"), time, &values);
        } else {
            update(CWD, path("turns").to_str().unwrap(), RrdAccess::Mmap, time, &values).unwrap();
        }
        let theirs = std::fs::read(path("theirs")).unwrap();
        for name in ["mmap", "pread", "turns"] {
            let ours = std::fs::read(path(name)).unwrap();
            assert_same(&theirs, &ours, &format!("{name} after update {number}"));
        }
    }
}

/// Three hundred random updates by rrdtool in one command and by us one by one.
#[test]
fn random_updates_leave_what_rrdtool_leaves() {
    if seekwell_testing::tool("rrdtool").is_none() {
        return seekwell_testing::skip(
            "random_updates_leave_what_rrdtool_leaves",
            "rrdtool is not installed",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for seed in 0..4 {
        let mut rng = seekwell_stats::seeded(seed);
        std::fs::write(path("theirs"), varied().new_file(CREATED_S + 77 * seed)).unwrap();
        std::fs::copy(path("theirs"), path("ours")).unwrap();
        let mut command = Command::new("rrdtool");
        command.arg("update").arg(path("theirs"));
        let mut time = CREATED_S + 77 * seed;
        for _ in 0..300 {
            let longest = [30, 310, 700, 4_000][rng.index(4)];
            time += 1 + rng.index(longest) as u64;
            let values: Vec<String> = (0..2)
                .map(|source| match rng.index(8) {
                    0 => "U".to_owned(),
                    1 => "0".to_owned(),
                    // Beyond 2^53 rrdtool's own reader of floats rounds in its own way.
                    2 if source == 1 => (rng.next_u64() >> 2).to_string(),
                    _ => rng.index(100_000).to_string(),
                })
                .collect();
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            command.arg(format!("{time}:{}", values.join(":")));
            update(CWD, path("ours").to_str().unwrap(), RrdAccess::Mmap, time, &values).unwrap();
        }
        assert!(command.status().unwrap().success());
        let theirs = std::fs::read(path("theirs")).unwrap();
        let ours = std::fs::read(path("ours")).unwrap();
        assert_same(&theirs, &ours, &format!("seed {seed}"));
    }
}

#[test]
fn a_file_of_rrdtool_is_updated_and_read_back_by_it() {
    if seekwell_testing::tool("rrdtool").is_none() {
        return seekwell_testing::skip(
            "a_file_of_rrdtool_is_updated_and_read_back_by_it",
            "rrdtool is not installed",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("theirs.rrd");
    created_by_rrdtool(&path, &definition(1), CREATED_S);
    for (number, value) in ["1000", "4000", "7000"].iter().enumerate() {
        let time = CREATED_S + 300 * (number as u64 + 1);
        update(CWD, path.to_str().unwrap(), RrdAccess::Mmap, time, &[value]).unwrap();
    }
    let output = Command::new("rrdtool").arg("lastupdate").arg(&path).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("{}: 7000", CREATED_S + 900)), "{text}");
    let output = Command::new("rrdtool")
        .args(["fetch", path.to_str().unwrap(), "AVERAGE", "-s"])
        .args([(CREATED_S + 300).to_string(), "-e".to_owned(), (CREATED_S + 900).to_string()])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.matches("1.0000000000e+01").count(), 2, "{text}");
}

#[test]
fn hostile_files_are_refused() {
    use format::FormatError::{Foreign, Short};
    let good = definition(2).new_file(CREATED_S);
    let read = |bytes: &[u8]| Definition::read(bytes, bytes.len() as u64).unwrap_err();
    assert_eq!(read(b"RRD"), Short(128));
    assert_eq!(read(&[0; 4096]), Foreign);
    assert_eq!(read(&good[..5_000]), Short(94_816));
    let changed = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        read(&file)
    };
    assert_eq!(changed(4, b"0005"), Foreign);
    assert_eq!(changed(24, &u64::MAX.to_le_bytes()), Foreign);
    assert_eq!(changed(24, &1_000_000_u64.to_le_bytes()), Short(120_001_088));
    assert_eq!(changed(148, b"COMPUTE\0"), Foreign);
    assert_eq!(changed(128 + 240, b"HWPREDICT\0"), Foreign);
    assert_eq!(changed(128 + 240 + 24, &(u64::MAX / 2).to_le_bytes()), Short(u64::MAX));
}

#[test]
fn time_does_not_go_back() {
    let definition = definition(1);
    let mut file = definition.new_file(CREATED_S);
    let offsets = definition.offsets();
    let before = file.clone();
    let apply = |file: &mut Vec<u8>, time| {
        update::apply(&definition, &offsets, &mut file[..offsets.data], time, &["5"])
    };
    assert_eq!(apply(&mut file, CREATED_S), None);
    assert_eq!(file, before);
    assert_eq!(apply(&mut file, CREATED_S + 1), Some(vec![]));
}

#[test]
fn the_predicted_size_is_that_of_the_format() {
    for sources in [1, 2, 7] {
        let values = seekwell_model::field::Values::default();
        let params = seekwell_model::workloads::rrd::RRD.params(&values).unwrap();
        let seekwell_model::workloads::WorkloadParams::Rrd(mut params) = params else {
            panic!("not rrd")
        };
        params.sources = sources;
        assert_eq!(params.file_bytes().0, definition(sources).offsets().length);
    }
}

fn bench_params(
    pairs: &[(&'static str, seekwell_model::field::Value)],
) -> seekwell_model::workloads::WorkloadParams {
    let mut values = seekwell_model::field::Values::default();
    for (name, value) in pairs {
        values.set(name, value.clone());
    }
    seekwell_model::workloads::rrd::RRD.params(&values).unwrap()
}

#[test]
fn polls_update_every_file_in_processes_and_leave_nothing() {
    use seekwell_model::field::Value;
    let folder = tempfile::tempdir().unwrap();
    for access in ["mmap", "pread"] {
        let params = bench_params(&[
            ("files", Value::Integer(7)),
            ("polls", Value::Integer(3)),
            ("processes", Value::Integer(3)),
            ("access", Value::Text(access.to_owned())),
            ("cache", Value::Text("warm".to_owned())),
            ("tenant_every", Value::Duration(seekwell_model::units::Nanos(1_000_000))),
        ]);
        let target = crate::BenchTarget { path: folder.path(), writable: None, length: None };
        let result = crate::bench(&params, target, 1, None).unwrap();
        assert_eq!(result.steps[1].name, "poll");
        assert_eq!(result.steps[1].ops, 21);
        for metric in
            ["poll_durable", "poll_elapsed", "updates_per_s", "fsync_p99", "fsync_alone_p99"]
        {
            assert!(result.steps[1].metrics.contains_key(metric), "{access} {metric}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

/// Steps run twice when something runs beside them; and what a poll wrote is what it says.
#[test]
fn every_poll_is_of_a_later_time_and_writes_its_counters() {
    use crate::step::StepContext;
    let folder = tempfile::tempdir().unwrap();
    let seekwell_model::workloads::WorkloadParams::Rrd(mut params) = bench_params(&[]) else {
        panic!("not rrd")
    };
    params.files = 2;
    params.polls = 2;
    params.tenant_every = seekwell_model::units::Nanos(0);
    let mut steps = steps(&params, Place::Main);
    let context = StepContext {
        directory: Some(folder.path()),
        device: Path::new("/dev/null"),
        device_file: None,
        raw: false,
        seed: 1,
        stop: None,
        device_bytes: 1 << 30,
        sector_bytes: 512,
        scratch: None,
        acknowledged: None,
    };
    steps[0].run(&context).unwrap();
    steps[1].run(&context).unwrap();
    steps[1].run(&context).unwrap();
    let file = std::fs::read(folder.path().join("rra").join(file_name(1))).unwrap();
    let definition = Definition::read(&file, file.len() as u64).unwrap();
    let offsets = definition.offsets();
    assert_eq!(format::get_u64(&file, offsets.live), time_s(3));
    let last = format::get_text(&file[offsets.source(1)..]);
    assert_eq!(last, UpdateText::new(2).values(1, 3)[1].as_bytes());
    // The rate of the second source is in the row that the last poll completed.
    let row = format::get_u64(&file, offsets.rows);
    let value = format::get_f64(&file, (offsets.archive_data[0] + row * 16 + 8) as usize);
    let rate = 100.0 + f64::from((7_919_u32 + 104_729) % 100_000);
    assert!((value / rate - 1.0).abs() < 1e-12, "{value} {rate}");
    std::fs::write(folder.path().join("rra").join(file_name(0)), b"hello").unwrap();
    let error = steps[1].run(&context).unwrap_err().to_string();
    assert!(error.contains("cannot update ") && error.contains("0000000.rrd"), "{error}");
}

#[test]
fn files_are_made_in_the_order_of_their_polls_or_in_another() {
    use seekwell_model::field::Value;
    let made = |order: &str, seed| {
        let values = [("files", Value::Integer(100)), ("order", Value::Text(order.to_owned()))];
        match bench_params(&values) {
            seekwell_model::workloads::WorkloadParams::Rrd(params) => made_order(&params, seed),
            other => panic!("{other:?}"),
        }
    };
    let all: Vec<u64> = (0..100).collect();
    assert_eq!(made("polled", 1), all);
    let orders = [1, 2, 1].map(|seed| made("shuffled", seed));
    assert!(orders[0] != all && orders[0] != orders[1] && orders[0] == orders[2]);
    let mut sorted = orders[0].clone();
    sorted.sort_unstable();
    assert_eq!(sorted, all);
}
