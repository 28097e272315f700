use super::*;
use crate::action::Action;
use crate::fixture::Script;
use crate::plan::Limits;
use crate::planner::Choice;
use proptest::prelude::*;
use seekwell_trace::calls::CallId;

fn operation(number: u64, others: u32) -> Operation {
    Operation {
        offset: number,
        start_ns: number * 1000,
        after: (0..others).map(|lane| (lane, number)).collect(),
        ..Operation::new(Action::ReadAt, CallId(0))
    }
}

fn read(lane: &Lane, file: Option<&File>) -> Vec<Operation> {
    let mut one = Operation::new(Action::Order, CallId(0));
    let mut all = Vec::new();
    let mut operations = Operations::of(lane, file);
    while operations.next(&mut one).unwrap() {
        all.push(one.clone());
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Lanes are read as they were written, wherever the bounds of memory and file are.
    #[test]
    fn operations_come_back_in_order(
        bytes in 1_u64..20_000,
        lanes in prop::collection::vec(prop::collection::vec(0_u32..512, 0..60), 1..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut spill = Spill::at(folder.path(), (bytes, 1 << 20));
        let mut written: Vec<Lane> = lanes.iter().map(|_| Lane::default()).collect();
        let most = lanes.iter().map(Vec::len).max().unwrap_or(0);
        for nth in 0..most {
            for (at, lane) in lanes.iter().enumerate() {
                let Some(others) = lane.get(nth) else { continue };
                let added = written[at].push(&operation(nth as u64, *others));
                spill.added(added, &mut written).unwrap();
            }
        }
        prop_assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
        let whole: u64 = written.iter().map(Lane::bytes).sum();
        let file = spill.into_file();
        let recent: usize = written.iter().map(|lane| lane.recent.len()).sum();
        prop_assert_eq!(file.is_some(), whole > bytes);
        prop_assert!(recent as u64 <= bytes);
        for (lane, written) in lanes.iter().zip(&written) {
            let all = (0..).zip(lane).map(|(nth, others)| operation(nth, *others));
            prop_assert_eq!(read(written, file.as_ref()), all.collect::<Vec<_>>());
        }
    }
}

#[test]
fn a_plan_is_the_same_with_its_operations_in_a_file() {
    let mut script = Script::default();
    for process in 1..4 {
        let path = format!("/w/{process}");
        script.open(process, &path, libc::O_CREAT | libc::O_EXCL | libc::O_RDWR, 3);
    }
    for nth in 0..3000_u64 {
        let process = u32::try_from(nth % 3).unwrap() + 1;
        let path = format!("/w/{process}");
        let write = script.on(process, "pwrite64", (3, &path), 512);
        (write.offset, write.length) = (Some(nth * 512), Some(512));
    }
    let memory = script.plan(&Choice::default()).unwrap();
    let limits = Limits { bytes: 1000, ..Limits::default() };
    let file = script.plan(&Choice { limits, ..Choice::default() }).unwrap();
    assert_eq!((memory.spilled.is_some(), file.spilled.is_some()), (false, true));
    assert_eq!((memory.lanes(), memory.bytes()), (3, file.bytes()));
    for lane in 0..3 {
        assert_eq!(memory.operations(lane).len(), 1002);
        assert_eq!(memory.operations(lane), file.operations(lane));
    }
}

#[test]
fn a_damaged_file_is_an_error_and_no_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut spill = Spill::at(folder.path(), (1, 1000));
    let mut lanes = [Lane::default()];
    let added = lanes[0].push(&operation(1, 0));
    spill.added(added, &mut lanes).unwrap();
    let file = spill.into_file().unwrap();
    let mut one = Operation::new(Action::Order, CallId(0));
    file.set_len(added - 1).unwrap();
    let short = Operations::of(&lanes[0], Some(&file)).next(&mut one).unwrap_err();
    assert_eq!(short.kind(), ErrorKind::UnexpectedEof);
    file.write_all_at(&[255; 64], 0).unwrap();
    let damaged = Operations::of(&lanes[0], Some(&file)).next(&mut one).unwrap_err();
    assert_eq!(damaged.kind(), ErrorKind::InvalidData);
}
