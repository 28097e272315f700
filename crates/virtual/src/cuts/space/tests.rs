use std::fs;

use super::*;
use seekwell_model::workloads::{CallsParams, WorkloadParams};

/// The names of a text exchanged: the directories, the files of `A`, the files of `B`.
fn exchanged(text: &str, [directories, in_a, in_b]: [bool; 3]) -> String {
    let swap = |text: &str, one: &str, other: &str| {
        text.replace(one, "\0").replace(other, one).replace('\0', other)
    };
    // The file in a directory is always called foo.
    let mut text = text.replace("/C/foo", "/C/inner");
    for (directory, _) in [("A", in_a), ("B", in_b)].into_iter().filter(|(_, is)| *is) {
        text = swap(&text, &format!("{directory}/foo"), &format!("{directory}/bar"));
    }
    if directories { swap(&text, "A/", "B/") } else { text }
}

fn sequence(operations: &[Operation]) -> Sequence {
    let mut steps: Vec<_> = operations.iter().map(|one| (*one, None)).collect();
    steps.last_mut().unwrap().1 = Some(Call::new(CallKind::Sync, ""));
    Sequence { steps }
}

#[test]
fn each_class_of_possible_operations_is_there_once() {
    let all = operations();
    let mut classes = BTreeSet::new();
    let mut count = |operations: &[Operation]| {
        let Some(_) = sequence(operations).calls() else { return };
        let text: String = operations
            .iter()
            .map(|one| {
                format!("{:?} {} {:?}; ", one.kind, PATHS[one.path], one.to.map(|to| PATHS[to]))
            })
            .collect();
        let images = (0..8).map(|bits| exchanged(&text, [1, 2, 4].map(|bit| bits & bit > 0)));
        classes.insert(images.min().unwrap());
    };
    for one in &all {
        count(&[*one]);
        all.iter().for_each(|other| count(&[*one, *other]));
    }
    let space = Space::new(2);
    assert_eq!(space.parts.len(), classes.len());
    assert!((300..3000).contains(&classes.len()), "{}", classes.len());
    assert_eq!(Space::new(1).parts[..], space.parts[..Space::new(1).parts.len()]);
}

#[test]
fn every_number_is_another_possible_sequence_that_ends_with_a_sync() {
    let space = Space::new(2);
    let mut seen = BTreeSet::new();
    for number in 0..space.count() {
        let calls = space.get(number).unwrap().calls().unwrap();
        assert!(calls.last().unwrap().kind.is_sync());
        assert!(seen.insert(calls), "{number} is there twice");
    }
    assert_eq!(space.get(space.count()), None);
    assert!((5_000..50_000).contains(&space.count()), "{}", space.count());
}

#[test]
fn a_draw_is_all_or_as_many_others_by_seed() {
    let space = Space::new(1);
    assert_eq!(space.draw(u64::MAX, 1).len() as u64, space.count());
    let [one, same, other] = [1, 1, 2].map(|seed| space.draw(20, seed));
    assert_eq!((one.len(), &one), (20, &same));
    assert_ne!(one, other);
}

/// The calls without syncs, which would be those of the whole machine.
fn on_this_machine(calls: Vec<Call>) -> Vec<Call> {
    calls.into_iter().filter(|call| !call.kind.is_sync()).collect()
}

#[test]
fn a_real_filesystem_makes_every_call() {
    let folder = tempfile::tempdir().unwrap();
    let space = Space::new(2);
    let ends: Vec<u64> = space.parts.iter().map(|(_, end)| end - 1).collect();
    let run = ends.iter().map(|number| space.get(*number).unwrap().calls().unwrap());
    // Few filesystems in memory zero a range.
    let run = run.filter(|calls| calls.iter().all(|call| call.kind != CallKind::Zero));
    let run: Vec<Vec<Call>> = run.map(on_this_machine).collect();
    assert!(run.len() > 300);
    let params = WorkloadParams::Calls(CallsParams { run });
    let context = seekwell_workload::StepContext {
        directory: Some(folder.path()),
        device: std::path::Path::new(""),
        device_file: None,
        raw: false,
        seed: 1,
        stop: None,
        device_bytes: 0,
        sector_bytes: 512,
        scratch: None,
        acknowledged: None,
    };
    seekwell_workload::steps(&params)[0].run(&context).unwrap();
    assert!(fs::read_dir(folder.path()).unwrap().count() > 300);
}

#[test]
fn a_case_is_minimised_to_what_it_needs() {
    // Lost is what renames a file after a sync of everything.
    let is_lost = |one: &Sequence| {
        let calls = one.calls().unwrap();
        let from = calls.iter().position(|call| call.kind == CallKind::Sync).unwrap();
        calls[from..].iter().any(|call| call.kind == CallKind::Rename)
    };
    let rename = Operation { kind: Kind::Rename, path: 0, to: Some(3) };
    let append = Operation { kind: Kind::Append, path: 1, to: None };
    let fsync = |path| Some(Call::new(CallKind::Fsync, path));
    let sync = Some(Call::new(CallKind::Sync, ""));
    let steps = vec![(append, fsync("A/bar")), (rename, sync), (append, fsync("A"))];
    let mut asked = 0;
    let least = Sequence { steps }.minimise(&mut |all: &[Sequence]| {
        asked += 1;
        Ok::<_, ()>(all.iter().map(is_lost).collect())
    });
    assert_eq!(least, Ok(Sequence { steps: vec![(rename, fsync("A"))] }));
    assert!((2..6).contains(&asked), "{asked}");
}
