use proptest::prelude::*;
use seekwell_device::{Geometry, Lba};

use super::*;
use crate::content::Keeping;

fn small_disk(seed: u64) -> Box<dyn Model> {
    let path = format!("{}/../../devices/ide-40gb-2005.toml", env!("CARGO_MANIFEST_DIR"));
    let file = seekwell_device::load(&std::fs::read_to_string(path).unwrap()).unwrap();
    seekwell_device::build(&file, seed)
}

fn content(geometry: &Geometry) -> Content {
    let keeping = Keeping { memory_bytes: 1 << 20, directory: std::env::temp_dir() };
    Content::new(geometry.sectors_512, keeping)
}

/// Gap before it, operation, first sector, sectors, byte written.
type Step = (u64, Operation, u64, u32, u8);

fn step() -> impl Strategy<Value = Step> {
    let operation = prop_oneof![8 => Just(Operation::Write), 1 => Just(Operation::Read), 1 => Just(Operation::Flush)];
    let gap = prop_oneof![Just(0_u64), 0..3_000_000_u64, 0..60_000_000_u64];
    (gap, operation, 0..60_u64, 1..20_u32, 0..4_u8)
}

/// Submits one after the other, as a disk of depth 1 wants it, and records.
fn record(steps: &[Step], seed: u64) -> Recording {
    let mut model = small_disk(seed);
    let mut recording = Recording::default();
    let (mut now_ns, mut done) = (0, Vec::new());
    for (id, (gap_ns, operation, lba, sectors, byte)) in (0..).zip(steps) {
        now_ns += gap_ns;
        let (lba, sectors) = if *operation == Operation::Flush { (0, 0) } else { (*lba, *sectors) };
        let request = Request { id, operation: *operation, lba: Lba(lba), sectors, fua: false };
        model.submit(now_ns, request).unwrap();
        let data = vec![*byte; sectors as usize * SECTOR_BYTES];
        recording.submitted(
            now_ns,
            &request,
            if *operation == Operation::Write { &data } else { &[] },
        );
        while done.is_empty() {
            now_ns = model.next_event_ns().unwrap();
            model.advance(now_ns, &mut done);
        }
        done.drain(..).for_each(|completion| recording.completed(completion));
    }
    recording
}

fn read(content: &Content) -> Vec<u8> {
    let mut bytes = vec![0; 100 * SECTOR_BYTES];
    content.read(0, &mut bytes).unwrap();
    bytes.chunks(SECTOR_BYTES).map(|sector| sector[0]).collect()
}

proptest! {
    #[test]
    fn a_cut_leaves_the_writes_in_order_less_what_was_lost(
        steps in prop::collection::vec(step(), 1..40), at in any::<prop::sample::Index>(),
    ) {
        let recording = record(&steps, 1);
        let after = at.index(steps.len()) as u64 + 1;
        let model = small_disk(1);
        let geometry = model.geometry();
        let cut = recording.cut(model, content(&geometry), after).unwrap();
        prop_assert_eq!(cut.at_ns, recording.completions()[after as usize - 1].at_ns);
        prop_assert_eq!(cut.submitted as u64, after, "one request at a time");
        let mut expected = vec![0; 100];
        for (id, (_, operation, lba, sectors, byte)) in (0..).zip(&steps[..after as usize]) {
            let lost = |sector: u64| cut.lost.lost.iter().any(|lost| {
                lost.id == id && (lost.range.lba.0..lost.range.lba.0 + lost.range.sectors).contains(&sector)
            });
            for sector in *lba..lba + u64::from(*sectors) {
                if *operation == Operation::Write && !lost(sector) {
                    expected[sector as usize] = *byte;
                }
            }
        }
        prop_assert_eq!(read(&cut.content), expected);
    }
}

#[test]
fn another_device_is_noticed() {
    let steps: Vec<Step> =
        (0..20).map(|number| (0, Operation::Read, number * 50_000 % 999, 1, 0)).collect();
    let recording = record(&steps, 1);
    let model = small_disk(2);
    let geometry = model.geometry();
    let error = recording.cut(model, content(&geometry), 20).unwrap_err();
    assert!(matches!(error, CutError::Otherwise { recorded: Some(_), .. }), "{error}");
}

#[test]
fn an_event_that_never_was_is_named() {
    let recording = record(&[(0, Operation::Write, 0, 1, 1)], 1);
    let model = small_disk(1);
    let geometry = model.geometry();
    let error = recording.cut(model, content(&geometry), 2).unwrap_err();
    assert_eq!(error.to_string(), "the power cannot fail after request 2: the recording has 1");
}
