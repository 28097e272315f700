//! The order in which the buffer goes to the medium, against a naive account of it.

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use crate::model::Operation;
use crate::rotating::mechanics::{Arm, Cursor};
use crate::rotating::tests::{BUS_COMMAND, BUS_SECTOR, disk, mechanics, request, wait_for};

const WINDOW: usize = 4;
const LONGEST: u64 = 40;
const FLUSH_NS: u64 = 20_000;

/// A buffer that keeps data until it must go.
const PATIENT: &str = "read_segments = 0\nsegment_kib = 1\nread_ahead_kib = 0\nwrite_back = true\nwrite_kib = 4096\n\
                       destage_run_kib = 20\ndestage_delay_us = 100000000\ndestage_window = 4";

/// The same that writes whenever the arm is free, with room for so many KiB.
fn eager(write_kib: u32) -> String {
    let text = PATIENT.replace("destage_delay_us = 100000000", "destage_delay_us = 0");
    text.replace("write_kib = 4096", &format!("write_kib = {write_kib}"))
}

/// Faults planted in the account: the comparison must notice each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    FirstInFirstOut,
    ByAddress,
    AllAreCandidates,
    RunsAreNotJoined,
    FlushTimeIsHidden,
}

/// When a flush at `at_ns` of `writes` is done, and how many runs that took. Keeps a list of single sectors.
fn account(writes: &[(u64, u32)], at_ns: u64, planted: Planted) -> (u64, u64) {
    let mechanics = mechanics();
    // (sector, first arrival): a sector written again keeps its age.
    let mut dirty: Vec<(u64, usize)> = Vec::new();
    for (age, (lba, sectors)) in writes.iter().enumerate() {
        for sector in *lba..lba + u64::from(*sectors) {
            if !dirty.iter().any(|(known, _)| *known == sector) {
                dirty.push((sector, age));
            }
        }
    }
    let (mut now, mut arm, mut errands) = (at_ns, Arm::default(), 0);
    while !dirty.is_empty() {
        dirty.sort_unstable();
        let mut runs: Vec<(usize, u64, u64)> = Vec::new();
        for (sector, age) in &dirty {
            match runs.last_mut() {
                Some(run) if run.2 == *sector && planted != Planted::RunsAreNotJoined => {
                    *run = (run.0.min(*age), run.1, sector + 1);
                }
                _ => runs.push((*age, *sector, sector + 1)),
            }
        }
        if planted != Planted::ByAddress {
            runs.sort_unstable();
        }
        let candidates = match planted {
            Planted::FirstInFirstOut | Planted::ByAddress => 1,
            Planted::AllAreCandidates => runs.len(),
            _ => WINDOW,
        };
        runs.truncate(candidates);
        let reach = |run: &(usize, u64, u64)| mechanics.approach(arm, now, run.1, true).at_ns;
        let (_, start, end) = runs.iter().copied().min_by_key(reach).unwrap();
        let end = end.min(start + LONGEST);
        let cursor = Cursor { lba: start, at_ns: reach(&(0, start, end)) };
        now = mechanics.end_ns(cursor, end, true);
        arm = mechanics.arm_at(end - 1);
        errands += 1;
        dirty.retain(|(sector, _)| !(start..end).contains(sector));
    }
    (now + if planted == Planted::FlushTimeIsHidden { 0 } else { FLUSH_NS }, errands)
}

/// What the model does.
fn flushed(writes: &[(u64, u32)]) -> (u64, u64, u64) {
    let mut model = disk(PATIENT, 1);
    let mut now = 0;
    for (id, (lba, sectors)) in (1..).zip(writes) {
        model.submit(now, request(id, Operation::Write, *lba, *sectors)).unwrap();
        now = wait_for(&mut *model, 1)[0].at_ns;
    }
    model.submit(now, request(1000, Operation::Flush, 0, 0)).unwrap();
    let done_ns = wait_for(&mut *model, 1)[0].at_ns;
    (now + BUS_COMMAND, done_ns, model.evidence().rotating.unwrap().destages)
}

fn writes() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let anywhere = (0_u64..19_900, 1_u32..20);
    let near = (1000_u64..1100, 1_u32..20);
    prop::collection::vec(prop_oneof![3 => anywhere, 1 => near], 1..24)
}

proptest! {
    #[test]
    fn a_flush_writes_runs_in_the_order_of_the_account(writes in writes()) {
        let (at_ns, done_ns, destages) = flushed(&writes);
        prop_assert_eq!((done_ns, destages), account(&writes, at_ns, Planted::Nothing));
    }
}

#[test]
fn faults_planted_in_the_account_are_noticed() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let scripts: Vec<_> =
        (0..60).map(|_| writes().new_tree(&mut runner).unwrap().current()).collect();
    for planted in [
        Planted::FirstInFirstOut,
        Planted::ByAddress,
        Planted::AllAreCandidates,
        Planted::RunsAreNotJoined,
        Planted::FlushTimeIsHidden,
    ] {
        let noticed = scripts.iter().any(|writes| {
            let (at_ns, done_ns, destages) = flushed(writes);
            (done_ns, destages) != account(writes, at_ns, planted)
        });
        assert!(noticed, "{planted:?}");
    }
}

#[test]
fn a_flush_of_nothing_takes_its_own_time_alone() {
    let mut model = disk(PATIENT, 1);
    model.submit(0, request(1, Operation::Flush, 0, 0)).unwrap();
    assert_eq!(wait_for(&mut *model, 1)[0].at_ns, BUS_COMMAND + FLUSH_NS);
}

/// Random single-sector addresses, the same every time.
struct Random(u64);

impl Random {
    fn lba(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * 4990) >> 64) as u64 * 4
    }
}

/// Writes a second in steady state, so many outstanding: of 4,000, the second half is counted.
fn random_writes(write_kib: u32, depth: usize) -> f64 {
    let mut model = disk(&eager(write_kib), 32);
    let mut random = Random(88_172_645_463_325_252);
    let (mut now, mut id, mut outstanding, mut done, mut from_ns) = (0, 0, 0, 0, 0);
    let mut completions = Vec::new();
    while done < 4000 {
        while outstanding < depth {
            id += 1;
            outstanding += 1;
            model.submit(now, request(id, Operation::Write, random.lba(), 1)).unwrap();
        }
        now = model.next_event_ns().unwrap();
        model.advance(now, &mut completions);
        for _ in completions.drain(..) {
            (outstanding, done) = (outstanding - 1, done + 1);
            if done == 2000 {
                from_ns = now;
            }
        }
    }
    2000.0 / ((now - from_ns) as f64 / 1e9)
}

/// The rate of an arm that always has so many random candidates, the oldest first, and goes where it is first.
fn sorted_rate(candidates: usize) -> f64 {
    let mechanics = mechanics();
    let mut random = Random(1_234_567);
    let mut waiting: Vec<u64> = (0..candidates).map(|_| random.lba()).collect();
    let (mut now, mut arm) = (0, Arm::default());
    for _ in 0..4000 {
        let reach = |lba: u64| mechanics.approach(arm, now, lba, true).at_ns;
        let best = (0..waiting.len()).min_by_key(|index| reach(waiting[*index])).unwrap();
        let lba = waiting.remove(best);
        waiting.push(random.lba());
        now = mechanics.end_ns(Cursor { lba, at_ns: reach(lba) }, lba + 1, true);
        arm = mechanics.arm_at(lba);
    }
    4000.0 / (now as f64 / 1e9)
}

#[test]
fn random_writes_are_as_fast_as_the_candidates_allow_at_every_depth() {
    let expected = sorted_rate(WINDOW);
    for (write_kib, depth) in [(16, 1), (32, 1), (64, 1), (64, 2), (64, 8), (64, 32)] {
        let found = random_writes(write_kib, depth);
        let ratio = found / expected;
        // Up to 128 of 4,990 places are in the buffer; a write to one of them is absorbed.
        assert!(
            (0.97..1.06).contains(&ratio),
            "{write_kib} KiB, depth {depth}: {found:.1}/{expected:.1}"
        );
    }
}

#[test]
fn reads_and_a_full_buffer_take_turns() {
    let mut model = disk(&eager(16), 4);
    let mut random = Random(99);
    let (mut now, mut id, mut writes, mut reads, mut read) = (0, 0, 0, 0, 0);
    let mut completions = Vec::new();
    let mut slowest = (0, 0);
    for _ in 0..4000 {
        while writes < 3 {
            id += 1;
            writes += 1;
            model.submit(now, request(id, Operation::Write, random.lba(), 1)).unwrap();
        }
        if read == 0 {
            id += 1;
            (read, slowest.0) = (id, now);
            model.submit(now, request(id, Operation::Read, random.lba() + 1, 1)).unwrap();
        }
        now = model.next_event_ns().unwrap();
        model.advance(now, &mut completions);
        for completion in completions.drain(..) {
            if completion.id == read {
                (read, reads) = (0, reads + 1);
                slowest.1 = slowest.1.max(now - slowest.0);
            } else {
                writes -= 1;
            }
        }
    }
    let destages = model.evidence().rotating.unwrap().destages;
    assert!((0.8..1.25).contains(&(f64::from(reads) / destages as f64)), "{reads} {destages}");
    // No read waits for more than an errand under way, one more, and its own: each a seek and a turn.
    assert!(slowest.1 < 3 * (6_000_000 + 8_333_333) + BUS_SECTOR, "{} ns", slowest.1);
}

/// End of a read of one sector that the arm sets out for at `now`, and of a write of one.
fn end_ns(arm: Arm, now: u64, lba: u64, write: bool) -> u64 {
    let mechanics = mechanics();
    let at_ns = mechanics.approach(arm, now, lba, write).at_ns;
    mechanics.end_ns(Cursor { lba, at_ns }, lba + 1, write)
}

const UNDERSTOOD: u64 = BUS_COMMAND + 150_000;

#[test]
fn data_takes_turns_with_waiting_reads_from_its_age_limit_on() {
    let [near, far, dirty] = [3000, 12_000, 7000];
    let stored = BUS_COMMAND + 70_000 + BUS_SECTOR;
    let first = end_ns(Arm::default(), stored + UNDERSTOOD, near, false);
    // Times of the two reads.
    let run = |age_limit_ns: u64| {
        let ms = age_limit_ns as f64 / 1e6;
        let mut model = disk(&format!("{PATIENT}\nage_limit_ms = {ms:.6}"), 4);
        model.submit(0, request(1, Operation::Write, dirty, 1)).unwrap();
        assert_eq!(wait_for(&mut *model, 1)[0].at_ns, stored);
        for (id, lba) in [(2, near), (3, far)] {
            model.submit(stored, request(id, Operation::Read, lba, 1)).unwrap();
        }
        let done = wait_for(&mut *model, 2);
        [done[0].at_ns, done[1].at_ns]
    };
    let mechanics = mechanics();
    let (at_near, at_dirty) = (mechanics.arm_at(near), mechanics.arm_at(dirty));
    // Younger by a nanosecond when the arm is free: the waiting read goes first.
    let young = run(first - stored + 1);
    assert_eq!(young, [first, end_ns(at_near, first, far, false)].map(|ns| ns + BUS_SECTOR));
    let old = run(first - stored);
    let written = end_ns(at_near, first, dirty, true);
    let last = end_ns(at_dirty, written, far, false);
    assert_eq!(old, [first, last].map(|ns| ns + BUS_SECTOR));
    assert_ne!(young, old);
}

#[test]
fn a_read_is_passed_over_for_so_long_and_no_longer() {
    let [begin, far] = [3000, 17_000];
    let first = end_ns(Arm::default(), UNDERSTOOD, begin, false);
    let from = mechanics().arm_at(begin);
    let far_ns = end_ns(from, first, far, false);
    // A read that came later and that the arm reaches earlier.
    let near = (0..3000).map(|lba| (end_ns(from, first, lba, false), lba)).min().unwrap().1;
    assert!(end_ns(from, first, near, false) < far_ns);
    let run = |passed_over_ns: u64| {
        let ms = passed_over_ns as f64 / 1e6;
        let text = crate::rotating::tests::text(PATIENT, 4);
        let text = text.replace("rpm = 7200", &format!("rpm = 7200\npassed_over_ms = {ms:.6}"));
        let mut model = crate::build(&crate::load(&text).unwrap(), 7);
        for (id, lba) in [(1, begin), (2, far), (3, near)] {
            model.submit(0, request(id, Operation::Read, lba, 1)).unwrap();
        }
        wait_for(&mut *model, 3).iter().map(|done| (done.id, done.at_ns)).collect::<Vec<_>>()
    };
    // The second command is understood after the first.
    let waited = first - 2 * UNDERSTOOD;
    let mechanics = mechanics();
    let near_ns = end_ns(from, first, near, false);
    let last_ns = end_ns(mechanics.arm_at(near), near_ns, far, false);
    let nearest_first = [(1, first), (3, near_ns), (2, last_ns)];
    assert_eq!(run(waited), nearest_first.map(|(id, ns)| (id, ns + BUS_SECTOR)));
    let last_ns = end_ns(mechanics.arm_at(far), far_ns, near, false);
    let oldest_first = [(1, first), (2, far_ns), (3, last_ns)];
    assert_eq!(run(waited - 1), oldest_first.map(|(id, ns)| (id, ns + BUS_SECTOR)));
}
