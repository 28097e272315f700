//! Every law of every device can be switched off: alone it takes time, and without any no request does.

use seekwell_device::{DeviceFile, Lba, Model, Operation, Request, build, catalogue};
use seekwell_model::laws::{LAWS, Law, LawSet, ModelKind};

use crate::harness::{Run, Step};

/// Laws without a time of their own, which change how often others act; a disk that has to be hot; the machine.
const ELSEWHERE: [Law; 4] = [Law::FastCells, Law::Shingling, Law::Heat, Law::Cpu];

/// Reads, writes and flushes here and there, in a row, and again at the same places.
fn script() -> Vec<Step> {
    let step =
        |gap_ns, operation, place, length| Step { gap_ns, operation, place, length, fua: false };
    let mut steps = Vec::new();
    for round in 0..12_u64 {
        let far = round * 7_919 * 977;
        steps.push(step(0, Operation::Write, far, 63));
        steps.push(step(1_000, Operation::Write, far + 4_096, 7));
        steps.push(step(0, Operation::Flush, 0, 0));
        steps.extend((0..4).map(|piece| step(50_000, Operation::Read, far * 3 + piece * 8, 7)));
        steps.push(step(0, Operation::Read, far, 63));
    }
    steps
}

/// Latencies of the script in nanoseconds, each request alone or several at once.
fn latencies(model: &mut dyn Model) -> Vec<u64> {
    let mut run = Run::new(model);
    run.play(&script(), &[]).unwrap();
    run.finish().unwrap();
    let submitted = run.history.submitted.iter();
    submitted.map(|(id, (_, at_ns))| run.history.completed[id] - at_ns).collect()
}

fn without(file: &DeviceFile, off: LawSet) -> Box<dyn Model> {
    let mut model = build(file, 1);
    model.switch_off(off);
    model
}

fn only(file: &DeviceFile, law: Law) -> Box<dyn Model> {
    let laws = build(file, 1).laws();
    without(file, laws.iter().filter(|one| *one != law).collect())
}

#[test]
fn with_every_law_off_no_request_takes_time() {
    for (name, file) in catalogue().unwrap() {
        let laws = build(&file, 1).laws();
        let mut model = without(&file, laws);
        assert!(latencies(&mut *model).iter().all(|ns| *ns == 0), "{name}");
        let evidence = model.evidence();
        assert_eq!(evidence.busy_ns, 0, "{name}");
        if let Some(seen) = evidence.rotating {
            assert_eq!((seen.seek_ns, seen.rotation_ns, seen.transfer_ns), (0, 0, 0), "{name}");
        }
    }
}

/// On some device: the buffer of another may hide it.
#[test]
fn each_law_takes_time_alone_and_none_without_it() {
    let mut seen = LawSet::NONE;
    for (_, file) in catalogue().unwrap() {
        for law in build(&file, 1).laws().iter() {
            let takes_time = latencies(&mut *only(&file, law)).iter().any(|ns| *ns > 0);
            seen = seen.with(law, takes_time);
        }
    }
    let expected = LAWS.iter().map(|one| one.law).filter(|law| !ELSEWHERE.contains(law));
    let names = |set: LawSet| set.iter().map(Law::name).collect::<Vec<_>>();
    assert_eq!(names(seen), names(expected.collect()));
}

#[test]
fn laws_of_a_device_are_those_of_its_kind() {
    let kinds = [
        ("maxtor-6y080l0", vec![ModelKind::Rotating]),
        ("hdd-8tb-5900-smr", vec![ModelKind::Rotating, ModelKind::Shingled]),
        ("cf-transcend-133x", vec![ModelKind::Card]),
        ("ssd-sata-250gb", vec![ModelKind::Ssd]),
        ("cloud-gp3-100gb", vec![ModelKind::Fixed]),
        ("ram", vec![ModelKind::Fixed]),
    ];
    let all = catalogue().unwrap();
    for (name, kinds) in kinds {
        for law in build(&all[name], 1).laws().iter() {
            let models = law.definition().models;
            assert!(kinds.iter().any(|kind| models.contains(kind)), "{name}: {}", law.name());
        }
    }
    let gp3 = build(&all["cloud-gp3-100gb"], 1).laws();
    assert!(gp3.contains(Law::RequestLimit) && gp3.contains(Law::ByteLimit));
    assert_eq!(build(&all["ram"], 1).laws(), LawSet::NONE.with(Law::Bus, true));
}

/// Submits reads in a row, each so long after the one before is done; the latency of each.
fn in_a_row(model: &mut dyn Model, count: u64, sectors: u32, gap_ns: u64) -> Vec<u64> {
    let (mut now_ns, mut done, mut all) = (0, Vec::new(), Vec::new());
    for id in 1..=count {
        let lba = Lba((id - 1) * u64::from(sectors));
        let request = Request { id, operation: Operation::Read, lba, sectors, fua: false };
        model.submit(now_ns, request).unwrap();
        while done.is_empty() {
            let at_ns = model.next_event_ns().unwrap();
            model.advance(at_ns, &mut done);
        }
        let at_ns = done.pop().unwrap().at_ns;
        all.push(at_ns - now_ns);
        now_ns = at_ns + gap_ns;
    }
    all
}

/// The platters turn past the data if transfer takes no time, so the next sector is there at once.
#[test]
fn without_transfer_a_run_does_not_wait_for_the_turn_instead() {
    let file = &catalogue().unwrap()["maxtor-6y080l0"];
    let file = file.with("rotating.buffer.read_ahead_kib", 0.0).unwrap();
    let laws = build(&file, 1).laws();
    let rest: LawSet =
        laws.iter().filter(|law| !matches!(law, Law::Rotation | Law::Transfer)).collect();
    let (mut whole, mut none) =
        (without(&file, rest), without(&file, rest.with(Law::Transfer, true)));
    let (passing, waiting) = (in_a_row(&mut *whole, 16, 16, 0), in_a_row(&mut *none, 16, 16, 0));
    // 256 sectors of one track of 1,040: only the first has to be waited for.
    assert_eq!(waiting[1..], [0; 15]);
    assert!(passing[1..].iter().all(|ns| *ns > 0));
    // Nor after a pause, in which a disk that takes its time would have read on.
    let mut paused = without(&file, rest.with(Law::Transfer, true));
    assert_eq!(in_a_row(&mut *paused, 16, 16, 1_234_567)[1..], [0; 15]);
}

/// A random read takes the time of the arm alone if it does not wait for the sector.
#[test]
fn without_rotation_every_seek_takes_as_long_wherever_the_platters_are() {
    let file = &catalogue().unwrap()["maxtor-6y080l0"];
    let seek = |gap_ns| {
        let mut model = without(file, LawSet::NONE.with(Law::Rotation, true));
        let step = |gap_ns, place| Step {
            gap_ns,
            operation: Operation::Read,
            place,
            length: 7,
            fua: false,
        };
        let mut run = Run::new(&mut *model);
        run.play(&[step(0, 0), step(gap_ns, 40_000_000)], &[]).unwrap();
        run.finish().unwrap();
        run.history.completed[&2] - run.history.submitted[&2].1
    };
    assert_eq!(seek(60_000_000), seek(61_234_567));
}
