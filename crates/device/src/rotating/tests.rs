use super::mechanics::{Arm, Cursor, Mechanics};
use crate::model::{Completion, Lba, Model, Operation, Request};
use crate::{build, load};
use proptest::prelude::*;

mod options;

/// A disk whose buffer does as little as possible, or as the rest of the table says.
pub(super) fn disk(buffer: &str, depth: u32) -> Box<dyn Model> {
    build(&load(&text(buffer, depth)).unwrap(), 7)
}

pub(super) fn text(buffer: &str, depth: u32) -> String {
    format!(
        r#"
name = "disk"
title = "disk"
kind = "rotating"
[presented]
sectors = 20000
queue_depth = {depth}
max_request_kib = 64
[[bus]]
name = "bus"
command_us = 10
mb_per_s = 20
[rotating]
rpm = 7200
heads = 3
head_switch_us = 400
write_settle_us = 250
write_track_settle_us = 5
[rotating.layout]
zones = [[60, 64], [60, 50]]
track_skew_us = 500
cylinder_skew_us = 1000
[rotating.seek]
a_us = 700
b_us = 3000
c_us = 2000
[rotating.overhead]
read_hit_us = 50
read_miss_us = 150
write_us = 70
flush_us = 20
[rotating.buffer]
{buffer}
[sources]
presented = "test"
bus = "test"
rotating = "test"
"#
    )
}

const PLAIN: &str = "read_segments = 0\nsegment_kib = 1\nread_ahead_kib = 0\nwrite_back = false\nwrite_kib = 64\n\
                     destage_run_kib = 64";

pub(super) const BUS_COMMAND: u64 = 10_000;
/// 512 bytes at 20 MB/s.
pub(super) const BUS_SECTOR: u64 = 25_600;

pub(super) fn mechanics() -> Mechanics {
    let file = load(&text(PLAIN, 1)).unwrap();
    let crate::file::Parameters::Rotating(parameters) = file.parameters() else {
        panic!("no disk")
    };
    // The same first random number as the disk's own.
    use rand_core::{Rng as _, SeedableRng as _};
    let mut random = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(7);
    let link = crate::bus::Link::new(file.bus());
    parameters.mechanics(20000, random.next_u64() % parameters.turn_ns(), link).unwrap()
}

pub(super) fn request(id: u64, operation: Operation, lba: u64, sectors: u32) -> Request {
    Request { id, operation, lba: Lba(lba), sectors, fua: false }
}

/// Advances until `count` requests are done.
pub(super) fn wait_for(model: &mut dyn Model, count: usize) -> Vec<Completion> {
    let mut done = Vec::new();
    while done.len() < count {
        let at_ns = model.next_event_ns().unwrap();
        model.advance(at_ns, &mut done);
    }
    done
}

/// A disk without any buffering, one request at a time, in a few lines.
struct Naive {
    mechanics: Mechanics,
    arm: Arm,
}

impl Naive {
    fn serve(&mut self, now: u64, request: &Request) -> u64 {
        let (start, end) = (request.lba.0, request.end());
        let sectors = end - start;
        let write = request.operation == Operation::Write;
        let overhead = if write { 70_000 } else { 150_000 };
        let understood = now + BUS_COMMAND + overhead;
        let begin = understood + if write { sectors * BUS_SECTOR } else { 0 };
        let first = self.mechanics.approach(self.arm, begin, start, write).at_ns;
        let cursor = Cursor { lba: start, at_ns: first };
        let passed = self.mechanics.end_ns(cursor, end, write);
        self.arm = self.mechanics.arm_at(end - 1);
        if write {
            return passed;
        }
        // The bus keeps up with the head or the head with the bus, whichever is slower; the last sector crosses last.
        let one = self.mechanics.end_ns(cursor, start + 1, false);
        (one + sectors * BUS_SECTOR).max(passed + BUS_SECTOR)
    }
}

proptest! {
    #[test]
    fn unbuffered_requests_equal_the_naive_disk(
        steps in prop::collection::vec((any::<bool>(), 0_u64..19_900, 1_u32..100, 0_u64..20_000_000), 1..20),
    ) {
        let mut model = disk(PLAIN, 1);
        let mut naive = Naive { mechanics: mechanics(), arm: Arm::default() };
        let mut now = 0;
        for (id, (write, lba, sectors, gap)) in (1..).zip(steps) {
            now += gap;
            let operation = if write { Operation::Write } else { Operation::Read };
            let request = request(id, operation, lba, sectors);
            model.submit(now, request).unwrap();
            let done = wait_for(&mut *model, 1)[0];
            prop_assert_eq!(done, Completion { id, at_ns: naive.serve(now, &request) });
            now = done.at_ns;
        }
    }

    #[test]
    fn the_nearest_waiting_read_is_served_next(places in prop::collection::vec(0_u64..19_000, 2..8)) {
        let mut model = disk(PLAIN, 32);
        let mechanics = mechanics();
        for (id, lba) in (1..).zip(&places) {
            model.submit(0, request(id, Operation::Read, *lba, 1)).unwrap();
        }
        // The first to be understood is alone and is taken; the others wait for it.
        let mut waiting: Vec<(u64, u64)> = (1..).zip(places.iter().copied()).collect();
        let mut now = BUS_COMMAND + 150_000;
        let mut arm = Arm::default();
        let mut expected = Vec::new();
        let mut next = waiting.remove(0);
        loop {
            let cursor = Cursor { lba: next.1, at_ns: mechanics.approach(arm, now, next.1, false).at_ns };
            now = mechanics.end_ns(cursor, next.1 + 1, false);
            arm = mechanics.arm_at(next.1);
            expected.push((next.0, now + BUS_SECTOR));
            let ready = |id: u64| id * (BUS_COMMAND + 150_000) <= now;
            let reach = |lba: u64| mechanics.approach(arm, now, lba, false).at_ns;
            let candidates = (0..waiting.len()).filter(|index| ready(waiting[*index].0));
            let Some(index) = candidates.min_by_key(|index| reach(waiting[*index].1)) else { break };
            next = waiting.remove(index);
        }
        prop_assume!(waiting.is_empty());
        let served: Vec<(u64, u64)> =
            wait_for(&mut *model, places.len()).iter().map(|done| (done.id, done.at_ns)).collect();
        // Two reads of neighbouring sectors may be handed over by the bus in one go; times are exact otherwise.
        prop_assert_eq!(served.iter().map(|s| s.0).collect::<Vec<_>>(), expected.iter().map(|e| e.0).collect::<Vec<_>>());
        prop_assert_eq!(served[0], expected[0]);
    }
}

const BUFFERED: &str = "read_segments = 4\nsegment_kib = 64\nread_ahead_kib = 64\nwrite_back = true\n\
                        write_kib = 128\ndestage_run_kib = 64\ndestage_delay_us = 5000";

/// Rate in bytes a second at which `count` requests of `sectors` pass, one at a time.
fn stream(buffer: &str, operation: Operation, sectors: u32, count: u64) -> f64 {
    let mut model = disk(buffer, 1);
    let mut now = 0;
    for id in 1..=count {
        let lba = (id - 1) * u64::from(sectors);
        model.submit(now, request(id, operation, lba, sectors)).unwrap();
        now = wait_for(&mut *model, 1)[0].at_ns;
    }
    (count * u64::from(sectors) * 512) as f64 / (now as f64 / 1e9)
}

#[test]
fn reading_ahead_makes_a_stream_as_fast_as_the_medium() {
    // 64 sectors a turn, less what the skews take: 2 tracks of 0.5 ms and one of 1 ms in 3 turns.
    let turn_s = 60.0 / 7200.0;
    let medium = 3.0 * 64.0 * 512.0 / (3.0 * turn_s + 0.0005 * 2.0 + 0.001);
    let found = stream(BUFFERED, Operation::Read, 16, 600);
    assert!((found / medium - 1.0).abs() < 0.03, "{found:.0} of {medium:.0} bytes a second");
    // Without it each request just misses its sector: a turn for 16 sectors and what little it takes to pass them.
    let lost = stream(PLAIN, Operation::Read, 16, 200);
    assert!(lost < 16.0 * 512.0 / turn_s, "{lost:.0}");
}

#[test]
fn writing_in_a_row_is_as_fast_as_reading_unless_the_skews_are_too_small() {
    let eager = BUFFERED.replace("destage_delay_us = 5000", "destage_delay_us = 0");
    let read = stream(&eager, Operation::Read, 16, 900);
    let written = stream(&eager, Operation::Write, 16, 900);
    assert!((written / read - 1.0).abs() < 0.03, "{written:.0} of {read:.0} bytes a second");
    // The settling does not fit into the skew of 500 us beside the head switch of 400 us.
    let lossy = text(&eager, 1)
        .replace("write_track_settle_us = 5", "write_track_settle_us = 250")
        .replace("track_skew_us = 500", "loses_turns = true\ntrack_skew_us = 500");
    let mut model = build(&load(&lossy).unwrap(), 7);
    let mut now = 0;
    for id in 1..=900 {
        model.submit(now, request(id, Operation::Write, (id - 1) * 16, 16)).unwrap();
        now = wait_for(&mut *model, 1)[0].at_ns;
    }
    let lost = (900 * 16 * 512) as f64 / (now as f64 / 1e9);
    assert!((0.45..0.6).contains(&(lost / read)), "{lost:.0} of {read:.0} bytes a second");
}

#[test]
fn skews_too_small_for_a_track_change_are_refused_with_the_number_to_use() {
    let settle =
        |us: u32| text(PLAIN, 1).replace("track_settle_us = 5", &format!("track_settle_us = {us}"));
    let message = load(&settle(250)).unwrap_err().to_string();
    assert_eq!(
        message,
        "line 21: rotating.layout.track_skew_us = 500: a turn would be lost at every track: changing heads takes \
         400 us and settling for a write 250 us; use at least 650, leave it out, or set loses_turns = true if the \
         drive is known to lose turns"
    );
    let wider = settle(250).replace("track_skew_us = 500", "track_skew_us = 650");
    let error = load(&wider).unwrap_err();
    assert_eq!(error.key(), Some("rotating.layout.cylinder_skew_us"));
    let least: u32 = error.to_string().split("use at least ").nth(1).unwrap()[..4].parse().unwrap();
    let fits = wider.replace("cylinder_skew_us = 1000", &format!("cylinder_skew_us = {least}"));
    assert_eq!(load(&fits).err(), None);
    let below = fits.replace(&format!("= {least}"), &format!("= {}", least - 1));
    assert!(load(&below).is_err());
    let absent = settle(250).replace("track_skew_us = 500\ncylinder_skew_us = 1000\n", "");
    assert_eq!(load(&absent).err(), None);
}

#[test]
fn cached_writes_complete_when_the_buffer_has_them() {
    let mut model = disk(BUFFERED, 1);
    model.submit(0, request(1, Operation::Write, 1000, 8)).unwrap();
    let done = wait_for(&mut *model, 1)[0];
    assert_eq!(done.at_ns, BUS_COMMAND + 70_000 + 8 * BUS_SECTOR);
    // Read back before it is on the medium.
    model.submit(done.at_ns, request(2, Operation::Read, 1002, 4)).unwrap();
    let read = wait_for(&mut *model, 1)[0];
    assert_eq!(read.at_ns, done.at_ns + BUS_COMMAND + 50_000 + 4 * BUS_SECTOR);
    let seen = model.evidence().rotating.unwrap();
    assert_eq!((seen.read_hits, seen.writes_cached, seen.destages), (1, 1, 0));
}

#[test]
fn idle_disk_writes_its_buffer_to_the_medium_after_the_delay() {
    let mut model = disk(BUFFERED, 1);
    model.submit(0, request(1, Operation::Write, 1000, 8)).unwrap();
    let stored_ns = wait_for(&mut *model, 1)[0].at_ns;
    assert_eq!(model.next_event_ns(), None, "nobody waits for destaging");
    model.advance(stored_ns + 4_999_999, &mut Vec::new());
    assert_eq!(model.evidence().rotating.unwrap().destages, 0);
    model.advance(stored_ns + 5_000_000 + 30_000_000, &mut Vec::new());
    assert_eq!(model.evidence().rotating.unwrap().destages, 1);
    assert_eq!(model.power_cut(stored_ns + 40_000_000), crate::LostWrites::default());
}

#[test]
fn a_full_buffer_makes_writes_wait_for_the_medium() {
    let mut model = disk(BUFFERED, 1);
    let mut now = 0;
    let mut times = Vec::new();
    for id in 1..=40 {
        // Far apart, so that no two are written at once; 64 sectors each, four of them fill the buffer.
        model.submit(now, request(id, Operation::Write, id * 400, 64)).unwrap();
        let done_ns = wait_for(&mut *model, 1)[0].at_ns;
        times.push(done_ns - now);
        now = done_ns;
    }
    let transfer_ns = BUS_COMMAND + 70_000 + 64 * BUS_SECTOR;
    assert!(times[..4].iter().all(|ns| *ns == transfer_ns), "{times:?}");
    assert!(times[8..].iter().any(|ns| *ns > 2 * transfer_ns), "{times:?}");
}

#[test]
fn partial_physical_blocks_cost_a_turn() {
    let with_blocks = |bytes: u32| {
        text(PLAIN, 1).replace("queue_depth", &format!("physical_block = {bytes}\nqueue_depth"))
    };
    let time = |bytes: u32, lba: u64| {
        let mut model = build(&load(&with_blocks(bytes)).unwrap(), 7);
        model.submit(0, request(1, Operation::Write, lba, 8)).unwrap();
        let ns = wait_for(&mut *model, 1)[0].at_ns;
        (ns, model.evidence().rotating.unwrap().read_modify_writes)
    };
    assert_eq!(time(4096, 160), time(512, 160));
    let (aligned, unaligned) = (time(512, 163), time(4096, 163));
    assert_eq!(unaligned, (aligned.0 + 8_333_333, 1));
}

#[test]
fn a_cut_tears_the_sector_under_the_head() {
    let mut model = disk(PLAIN, 1);
    model.submit(0, request(1, Operation::Write, 100, 20)).unwrap();
    let end_ns = {
        let mut copy = disk(PLAIN, 1);
        copy.submit(0, request(1, Operation::Write, 100, 20)).unwrap();
        wait_for(&mut *copy, 1)[0].at_ns
    };
    // Six and a half sectors before the end: 64 sectors a turn.
    let sector_ns = 8_333_333 / 64;
    let lost = model.power_cut(end_ns - 6 * sector_ns - sector_ns / 2);
    assert_eq!(lost.lost.len(), 1);
    let range = lost.lost[0].range;
    assert_eq!((lost.lost[0].id, range.lba.0, range.sectors), (1, 113, 7));
    let torn: Vec<(u64, u64)> = lost.damaged.iter().map(|d| (d.lba.0, d.sectors)).collect();
    assert_eq!(torn, [(113, 1)]);
}

#[test]
fn the_seed_turns_the_platters() {
    let first = |seed: u64| {
        let mut model = build(&load(&text(PLAIN, 1)).unwrap(), seed);
        model.submit(0, request(1, Operation::Read, 9000, 1)).unwrap();
        wait_for(&mut *model, 1)[0].at_ns
    };
    assert_eq!(first(1), first(1));
    assert_ne!(first(1), first(2));
}

#[test]
fn a_cached_write_is_lost_until_its_last_sector_is_on_the_medium() {
    let eager = BUFFERED.replace("destage_delay_us = 5000", "destage_delay_us = 0");
    let written = |after_ns: u64| {
        let mut model = disk(&eager, 1);
        model.submit(0, request(1, Operation::Write, 1000, 8)).unwrap();
        let stored_ns = wait_for(&mut *model, 1)[0].at_ns;
        let lost = model.power_cut(stored_ns + after_ns).lost;
        8 - lost.iter().map(|lost| lost.range.sectors).sum::<u64>()
    };
    assert_eq!(written(0), 0);
    // Some seek and up to a turn later they come one by one, each taking a 64th of a turn.
    let sector_ns = 8_333_333 / 64;
    let kept: Vec<u64> = (0..400).map(|step| written(step * sector_ns / 2)).collect();
    assert!(kept.is_sorted() && kept.last() == Some(&8), "{kept:?}");
    for count in 1..8 {
        assert_eq!(kept.iter().filter(|kept| **kept == count).count(), 2, "{kept:?}");
    }
}

#[test]
fn a_read_that_stops_reading_ahead_starts_from_the_track_under_the_head() {
    // One sector of track 0, then reading ahead: the rest of it and the first 17 sectors of track 1.
    let ahead = "read_segments = 4\nsegment_kib = 64\nread_ahead_kib = 40\nwrite_back = false\nwrite_kib = 64\n\
                 destage_run_kib = 64";
    let mechanics = mechanics();
    let (mut from_first, mut from_second) = (0, 0);
    // A target on the second track, where it matters which head reads, and one five cylinders away.
    for target in [127_u64, 5 * 192 + 7] {
        for later_ns in (0..10_000_000).step_by(130_000) {
            let mut model = disk(ahead, 2);
            model.submit(0, request(1, Operation::Read, 0, 1)).unwrap();
            let first = wait_for(&mut *model, 1)[0];
            let begun_ns =
                mechanics.approach(Arm::default(), BUS_COMMAND + 150_000, 0, false).at_ns;
            let cursor = Cursor { lba: 0, at_ns: begun_ns };
            let (track_end_ns, end_ns) =
                (mechanics.end_ns(cursor, 64, false), mechanics.end_ns(cursor, 81, false));
            model.submit(first.at_ns + later_ns, request(2, Operation::Read, target, 1)).unwrap();
            let done_ns = wait_for(&mut *model, 1)[0].at_ns;

            let stopped_ns = first.at_ns + later_ns + BUS_COMMAND + 150_000;
            let head = u32::from(stopped_ns >= track_end_ns);
            (from_first, from_second) = (from_first + (1 - head), from_second + head);
            let arm = Arm { cylinder: 0, head };
            let arrived_ns = mechanics.approach(arm, stopped_ns, target, false).at_ns;
            let passed_ns =
                mechanics.end_ns(Cursor { lba: target, at_ns: arrived_ns }, target + 1, false);
            assert_eq!(
                done_ns,
                passed_ns + BUS_SECTOR,
                "{target}, {later_ns} ns later; reading ahead ends at {end_ns}"
            );
        }
    }
    assert!(from_first > 20 && from_second > 20, "{from_first} {from_second}");
}
