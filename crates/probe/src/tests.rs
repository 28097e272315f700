use super::{
    Findings, Interval, Label, News, ProbeError, ReadFailed, Recorder, Simulated, Span, Stage,
    Tape, Target, Timed, WriteCache, device_file, judge_writes, probe, probe_writes,
};
use seekwell_device::catalogue;
use seekwell_device::file::{DeviceFile, Parameters};
use seekwell_device::load;
use seekwell_device::model::{Geometry, Operation};
use seekwell_device::rotating::RotatingParameters;
use seekwell_device::trial::{Load, Places, Trial};

mod late;
pub(super) mod nearness;
pub(super) mod noisy;

/// A modelled disk by its name, at an angle of its own that the probe does not know.
fn disk(name: &str) -> (DeviceFile, Simulated) {
    let file = catalogue().unwrap().remove(name).unwrap();
    let target = Simulated::new(seekwell_device::build(&file, 7));
    (file, target)
}

fn rotating(file: &DeviceFile) -> &RotatingParameters {
    match file.parameters() {
        Parameters::Rotating(parameters) => parameters,
        _ => panic!("{} does not rotate", file.name()),
    }
}

/// Root mean square error of the seek curve in microseconds, the next cylinder left out: its skew hides it.
fn seek_rms_us(file: &DeviceFile, findings: &Findings) -> f64 {
    let truth = file.mechanics().unwrap();
    let points = findings.seeks.iter().filter(|point| point.cylinders > 1);
    let squares: Vec<f64> = points
        .map(|point| {
            let true_ns = truth.seek.ns(point.cylinders) + truth.read_settle_ns;
            ((point.ns.value - true_ns as f64) / 1e3).powi(2)
        })
        .collect();
    assert!(squares.len() > 15, "{} distances", squares.len());
    (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

/// Probes a shipped disk and holds what was found to the figures that issue and help promise.
fn is_found(name: &str) {
    let (file, mut target) = disk(name);
    let mut told = Vec::new();
    let mut tape = Tape::new(21);
    let findings = probe(&mut target, &mut tape, 11, &mut |news| told.push(news)).unwrap();
    let mut spent = vec![target.now_ns()];
    tells_what_it_finds(&told);
    can_be_run_at_both_ends(&findings);
    let parameters = rotating(&file);
    let truth = file.mechanics().unwrap();

    let turn = findings.turn_ns.value / truth.layout.turn_ns as f64;
    assert!((turn - 1.0).abs() < 0.001, "{name}: rotation {turn}");
    assert_eq!(findings.tracks.heads, Some(parameters.heads), "{name}: heads");

    let zones = truth.layout.zones();
    let lengths = |of: Vec<f64>| of.into_iter().map(|length| length as u64).collect::<Vec<_>>();
    assert_eq!(
        lengths(findings.zones.iter().map(|zone| zone.sectors_per_track.value).collect()),
        lengths(zones.iter().map(|zone| f64::from(zone.sectors_per_track)).collect()),
        "{name}: sectors of a track"
    );
    for (found, zone) in findings.zones.iter().zip(zones) {
        let off = found.first_lba as f64 - zone.first_lba as f64;
        assert!(off.abs() < file.presented().sectors as f64 * 0.05, "{name}: zone off by {off}");
    }

    let rms_us = seek_rms_us(&file, &findings);
    assert!(rms_us < 100.0, "{name}: seek curve {rms_us} us rms");

    let read_ahead = f64::from(parameters.buffer.read_ahead_kib) * 2.0;
    let off = findings.buffer.read_ahead_sectors.value / read_ahead - 1.0;
    assert!(off.abs() < 0.1, "{name}: read-ahead off by {off}");

    let segment = f64::from(parameters.buffer.segment_kib) * 2.0;
    let off = findings.buffer.segment_sectors.value / segment - 1.0;
    assert!(off.abs() < 0.1, "{name}: segment off by {off}");
    assert_eq!(findings.buffer.keeps_delivered, parameters.buffer.keeps_delivered, "{name}");
    assert_eq!(findings.buffer.resumes_read_ahead, parameters.buffer.resumes_read_ahead, "{name}");

    if let Some(window) = parameters.reorder_window {
        let [low, high] = findings.window.unwrap();
        assert!((low..=high).contains(&window), "{name}: window {low} to {high}, not {window}");
        assert!(f64::from(high) <= f64::from(low) * 1.25, "{name}: window {low} to {high}");
    }
    let mut findings = findings;
    probe_writes(&mut target, &mut tape, &mut findings, 12, &mut |_| {}).unwrap();
    spent.push(target.now_ns());
    writes_are_found(name, &file, &findings);
    can_be_run_at_both_ends(&findings);
    predicts(name, &mut target, &tape, &findings);
    spent.push(target.now_ns());
    takes_minutes_at_most(name, &spent, 10.0);
    println!("{name}: seek curve {rms_us:.1} us rms, window {:?}", findings.window);
}

/// The disk's own time after reading, after writing, and after judging the file.
fn takes_minutes_at_most(name: &str, spent_ns: &[u64], most: f64) {
    let [read, written, judged] = spent_ns else { panic!("{spent_ns:?}") };
    let [only_reading, all] = [read + (judged - written), *judged].map(|ns| ns as f64 / 60e9);
    println!("{name}: {only_reading:.2} minutes without writes, {all:.2} with them");
    assert!((2.0..8.0).contains(&only_reading), "{name}: {only_reading} minutes of reading");
    assert!((2.0..most).contains(&all), "{name}: {all} minutes");
}

/// What was not found, or not exactly, is a range of the file, and the model can be built at both of its ends.
fn can_be_run_at_both_ends(findings: &Findings) {
    let label = Label { name: "mine", title: "Mine", source: "probe" };
    let file = load(&device_file(label, findings, None)).unwrap();
    let mut expected = vec!["buffer.age_limit_ms"];
    let segments = findings.buffer.segments;
    expected.extend((segments.low < segments.high).then_some("buffer.read_segments"));
    if findings.writes.is_none() {
        expected.extend(["overhead.flush_us", "overhead.write_us", "write_settle_us"]);
        expected.extend(["buffer.destage_window", "buffer.write_kib"]);
    }
    for key in expected {
        let key = format!("rotating.{key}");
        assert!(file.ranges().contains_key(&key), "{key}: {:?}", file.ranges());
    }
    for (key, ends) in file.ranges() {
        for end in ends {
            assert!(file.with(key, *end).is_ok(), "{key} = {end}: {:?}", file.with(key, *end));
        }
    }
}

/// Every stage is announced, and what it found is told before the next one begins.
fn tells_what_it_finds(told: &[News]) {
    let of = |stage: Stage| told.iter().position(|news| *news == News::Begins(stage)).unwrap();
    let found = |name: &str| {
        let is_named = |news: &News| matches!(news, News::Found(found, _) if found == name);
        told.iter().position(is_named).unwrap()
    };
    for (stage, name, next) in [
        (Stage::Rotation, "rotation", Stage::Buffer),
        (Stage::Buffer, "read-ahead", Stage::Zones),
        (Stage::Zones, "zones", Stage::Tracks),
        (Stage::Tracks, "heads", Stage::Seeks),
        (Stage::Seeks, "read without seek", Stage::Depth),
    ] {
        assert!(of(stage) < found(name) && found(name) < of(next), "{name}: {told:?}");
    }
}

/// What writes told, against the file of the shipped disk.
fn writes_are_found(name: &str, file: &DeviceFile, findings: &Findings) {
    let parameters = rotating(file);
    let truth = file.mechanics().unwrap();
    let writes = findings.writes.as_ref().unwrap();
    let buffer = &parameters.buffer;
    println!("{name}: {writes:?}");
    assert_eq!(writes.cache.is_some(), buffer.write_back, "{name}");
    let settle_us = writes.settle_ns.value / 1e3;
    let true_us = parameters.write_settle_us - truth.read_settle_ns as f64 / 1e3;
    assert!((settle_us - true_us).abs() < 500.0, "{name}: settle {settle_us}, not {true_us}");
    let Some(cache) = &writes.cache else { return };
    let size = cache.sectors.value / f64::from(buffer.write_kib) / 2.0;
    assert!((size - 1.0).abs() < 0.1, "{name}: cache off by {size}");
    let flush_us = cache.empty_flush_ns.value / 1e3;
    assert!((flush_us - parameters.overhead.flush_us).abs() < 100.0, "{name}: flush {flush_us}");
    let [low, high] = cache.window;
    assert!((low..=high).contains(&buffer.destage_window), "{name}: {low} to {high} candidates");
    assert!(cache.serves_written && cache.clears_read_ahead == Some(false), "{name}: {cache:?}");
    assert_eq!(cache.runs, None, "{name}");
    let run = cache.run_sectors.unwrap().value / f64::from(buffer.destage_run_kib) / 2.0;
    assert!((run - 1.0).abs() < 0.1, "{name}: written at once off by {run}");
    drains_and_flushes_are_found(name, file, cache);
    let delay_us = cache.delay_ns.value / 1e3;
    assert!(delay_us <= buffer.destage_delay_us, "{name}: writes after {delay_us} us");
}

/// Rates of random writes with the cache full, and the line of flushes, against the same on the shipped disk itself.
fn drains_and_flushes_are_found(name: &str, file: &DeviceFile, cache: &WriteCache) {
    let trial = || {
        let trial = Trial::new(seekwell_device::build(file, 3));
        let places = Places::Random { sectors: trial.geometry().sectors_512 };
        (trial, places)
    };
    let write = |depth, count| Load { operation: Operation::Write, bytes: 4096, depth, count };
    let flush = Load { operation: Operation::Flush, bytes: 0, depth: 1, count: 1 };
    let depths: Vec<u32> = cache.drains.iter().map(|drain| drain.depth).collect();
    assert_eq!(depths, [1, 2], "{name}");
    for drain in &cache.drains {
        let (mut trial, places) = trial();
        let depth = drain.depth.min(file.queue_depth());
        trial.run(write(depth, 7000), places).unwrap();
        let truth = trial.run(write(depth, 1000), places).unwrap().per_second();
        let off = drain.per_second.value / truth - 1.0;
        println!("{name}: drain at depth {} off by {:.1} %", drain.depth, off * 100.0);
        assert!(off.abs() < 0.1, "{name}: {drain:?}, not {truth}");
        let Interval { value, low, high } = drain.per_second;
        assert!(low <= value && value <= high && high < 1.5 * low, "{name}: {drain:?}");
    }
    let mean_ms = |dirty| {
        const TIMES: u32 = 20;
        let (mut trial, places) = trial();
        let flushes = (0..TIMES).map(|_| {
            trial.run(write(1, dirty), places).unwrap();
            trial.run(flush, places).unwrap().mean_ms()
        });
        flushes.sum::<f64>() / f64::from(TIMES)
    };
    let slope_ns = (mean_ms(200) - mean_ms(50)) / 150.0 * 1e6;
    let off = cache.flush.slope_ns.value / slope_ns - 1.0;
    println!("{name}: slope of flushes off by {:.1} %", off * 100.0);
    assert!(off.abs() < 0.1, "{name}: {:?}, not {slope_ns}", cache.flush);
}

/// The file made of the findings loads, and its model does what the device does with reads it was not made from.
fn predicts(name: &str, target: &mut Simulated, tape: &Tape, findings: &Findings) {
    let accuracy = judge_writes(target, tape, findings, 99).unwrap();
    for class in &accuracy.classes {
        let off = class.model_ns / class.device_ns - 1.0;
        println!(
            "{name}: {} {} at {}: {:.1} %, demerit {:.1} %",
            class.count,
            class.name,
            class.depth,
            off * 100.0,
            class.demerit * 100.0
        );
        assert!(class.is_believed(), "{name}: {class:?}");
        // The mean of few requests has chances of its own.
        assert!(class.count < 300 || off.abs() < 0.1, "{name}: {class:?}");
    }
    let label = Label { name: "mine", title: "My \"disk\"", source: "probe" };
    let text = device_file(label, findings, Some(&accuracy));
    let file = load(&text).unwrap();
    assert_eq!(file.title(), "My \"disk\"");
    assert!(!file.published().is_empty(), "{text}");
    assert_eq!(file.withheld().len(), accuracy.classes.len());
    assert!(
        seekwell_device::catalogue::origins(&file).contains("Requests that the probe withheld")
    );
    let share = accuracy.withheld as f64 / accuracy.measured as f64;
    println!("{name}: {share:.3} of {} measurements withheld", accuracy.measured);
    assert!((0.3..0.34).contains(&share), "{name}: {accuracy:?}");
    let kept = file.measurements().unwrap();
    assert_eq!((kept.made, kept.withheld), (accuracy.measured, accuracy.withheld));
}

#[test]
fn a_disk_that_takes_one_command_at_a_time_is_found() {
    is_found("wd-raptor-wd740gd");
}

#[test]
fn a_disk_that_sorts_waiting_reads_is_found() {
    is_found("sata-500gb-7200");
}

#[test]
fn a_disk_with_eight_heads_is_found() {
    is_found("sata-2tb-5400");
}

#[test]
fn a_disk_that_remembers_256_places_rotates_all_the_same() {
    let (file, _) = disk("sata-2tb-7200");
    let file = file.with("rotating.buffer.read_segments", 256.0).unwrap();
    assert!(rotating(&file).buffer.keeps_delivered);
    let mut target = Simulated::new(seekwell_device::build(&file, 7));
    let mut tape = Tape::new(21);
    let mut recorder = Recorder::new(&mut target, &mut tape);
    let mut head = super::Head::new(&mut recorder, 11);
    let turn_ns = super::rotation::find(&mut head).unwrap().value;
    assert!((turn_ns / (60e9 / 7200.0) - 1.0).abs() < 1e-4, "{turn_ns}");
    assert!(head.evicting > 256, "{}", head.evicting);
}

#[test]
fn a_device_without_rotation_is_refused() {
    let (_, mut target) = disk("ssd-sata-250gb");
    let probed = probe(&mut target, &mut Tape::new(21), 11, &mut |_| {});
    assert_eq!(probed, Err(ProbeError::NoRotation));
}

/// A device of a size whose reads fail.
struct Broken(u64);

impl Target for Broken {
    fn geometry(&self) -> Geometry {
        Geometry { sectors_512: self.0, ..disk("wd-raptor-wd740gd").1.geometry() }
    }

    fn now_ns(&self) -> u64 {
        0
    }

    fn wait_until(&mut self, _: u64) {}

    fn read_all(&mut self, requests: &[Span], _: u32) -> Result<Vec<Timed>, ReadFailed> {
        Err(ReadFailed { span: requests[0], reason: "input/output error".to_owned() })
    }
}

#[test]
fn a_read_that_fails_and_a_device_too_small_end_the_probe_with_the_reason() {
    let failed = probe(&mut Broken(1 << 30), &mut Tape::new(21), 11, &mut |_| {}).unwrap_err();
    assert!(matches!(failed, ProbeError::Read(_)), "{failed}");
    assert_eq!(
        probe(&mut Broken(1 << 10), &mut Tape::new(21), 11, &mut |_| {}).unwrap_err().to_string(),
        "the device has 1024 sectors; probing needs at least 524288; name the whole disk, not a small partition"
    );
}
