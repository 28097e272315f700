//! Options of a disk file that few drives need: the exact time that each makes of a request.

use super::{BUS_COMMAND, BUS_SECTOR, PLAIN, mechanics, request, text, wait_for};
use crate::model::{Model, Operation};
use crate::rotating::mechanics::{Arm, Cursor};
use crate::{build, load};

/// A buffer that keeps what was read and written until it must go, and reads nothing ahead.
const PATIENT: &str = "read_segments = 4\nsegment_kib = 64\nread_ahead_kib = 0\nwrite_back = true\n\
                       write_kib = 4096\ndestage_run_kib = 64\ndestage_delay_us = 100000000";

const HIT: u64 = 50_000;
const MISS: u64 = 150_000;
const WRITE: u64 = 70_000;
/// Long enough for reading ahead to end.
const IDLE: u64 = 50_000_000;

/// A disk with these lines in its table of the buffer, and these in that of the electronics.
fn disk(buffer: &str, overhead: &str) -> Box<dyn Model> {
    let text = text(buffer, 4).replace("flush_us = 20", &format!("flush_us = 20\n{overhead}"));
    build(&load(&text).unwrap(), 7)
}

/// Makes a request alone at `now`; when it is done.
fn one(model: &mut dyn Model, now: u64, operation: Operation, lba: u64, sectors: u32) -> u64 {
    model.submit(now, request(now + 1, operation, lba, sectors)).unwrap();
    wait_for(model, 1)[0].at_ns
}

fn read(model: &mut dyn Model, now: u64, lba: u64) -> u64 {
    one(model, now, Operation::Read, lba, 1)
}

fn write(model: &mut dyn Model, now: u64, lba: u64) -> u64 {
    one(model, now, Operation::Write, lba, 8)
}

/// Time of a request that the buffer serves or takes.
fn buffered(overhead_ns: u64, sectors: u64) -> u64 {
    BUS_COMMAND + overhead_ns + sectors * BUS_SECTOR
}

/// End of a read of one sector by an arm at `from` that is free at `now`, its cost included.
fn sought(from: Arm, now: u64, miss_ns: u64, lba: u64) -> u64 {
    let mechanics = mechanics();
    let at_ns = mechanics.approach(from, now + BUS_COMMAND + miss_ns, lba, false).at_ns;
    mechanics.end_ns(Cursor { lba, at_ns }, lba + 1, false) + BUS_SECTOR
}

/// End of a write of eight sectors by an arm at `from` that has the data at `now`.
fn written(from: Arm, now: u64, lba: u64) -> u64 {
    let mechanics = mechanics();
    let at_ns = mechanics.approach(from, now, lba, true).at_ns;
    mechanics.end_ns(Cursor { lba, at_ns }, lba + 8, true)
}

#[test]
fn the_cost_of_a_command_follows_from_the_one_before() {
    let after_write =
        "read_hit_after_write_us = 33\nread_miss_after_write_us = 190\nwrite_after_write_us = 44";
    let mut model = disk(PATIENT, after_write);
    let model = &mut *model;
    // Two writes that the cache takes, two reads of them from it, and another write.
    let steps = [
        (Operation::Write, 1000, 8, WRITE),
        (Operation::Write, 3000, 8, 44_000),
        (Operation::Read, 1002, 4, 33_000),
        (Operation::Read, 3002, 4, HIT),
        (Operation::Write, 5000, 8, WRITE),
    ];
    let mut now = 0;
    for (operation, lba, sectors, cost_ns) in steps {
        let done = one(model, now, operation, lba, sectors);
        assert_eq!(done - now, buffered(cost_ns, sectors.into()), "{operation:?} at {lba}");
        now = done;
    }
    // The arm has not moved so far.
    let after_write = sought(Arm::default(), now, 190_000, 9000);
    assert_eq!(read(model, now, 9000), after_write);
    let after_read = sought(mechanics().arm_at(9000), after_write, MISS, 15_000);
    assert_eq!(read(model, after_write, 15_000), after_read);
}

#[test]
fn a_write_through_has_a_cost_of_its_own_by_the_command_before() {
    let mut model = disk(PLAIN, "write_through_us = 91\nwrite_through_after_write_us = 105");
    let model = &mut *model;
    let mechanics = mechanics();
    let (mut now, mut arm) = (0, Arm::default());
    for (lba, cost_ns) in [(1000, 91_000), (5000, 105_000), (9000, 105_000)] {
        let expected = written(arm, now + buffered(cost_ns, 8), lba);
        assert_eq!(write(model, now, lba), expected, "{lba}");
        (now, arm) = (expected, mechanics.arm_at(lba + 7));
    }
    let expected = sought(arm, now, MISS, 15_000);
    assert_eq!(read(model, now, 15_000), expected);
    let after_read = written(mechanics.arm_at(15_000), expected + buffered(91_000, 8), 1000);
    assert_eq!(write(model, expected, 1000), after_read);
}

#[test]
fn reading_ahead_by_track_stops_at_its_end_and_goes_on_where_the_run_began_before_it() {
    let by_track =
        PATIENT.replace("read_ahead_kib = 0", "read_ahead_kib = 1\nread_ahead_by_track = true");
    let mut model = disk(&by_track, "");
    let model = &mut *model;
    // From sector 10 to the end of the first track of 64.
    let first = read(model, 0, 10);
    assert_eq!(first, sought(Arm::default(), 0, MISS, 10));
    let at = first + IDLE;
    assert_eq!(read(model, at, 63), at + buffered(HIT, 1));
    let at = at + IDLE;
    let second = read(model, at, 64);
    assert_eq!(second, sought(mechanics().arm_at(63), at, MISS, 64));
    // The second track was read to its end; as the run began on the first, the third follows.
    let at = second + IDLE;
    assert_eq!(read(model, at, 65), at + buffered(HIT, 1));
    let at = at + IDLE;
    let beyond = read(&mut *model.duplicate(), at, 192);
    assert_eq!(beyond, sought(mechanics().arm_at(191), at, MISS, 192));
    assert_eq!(read(model, at, 191), at + buffered(HIT, 1));
}

#[test]
fn what_passes_before_the_requested_sector_is_kept_where_the_drive_reads_it() {
    let before = format!("{PATIENT}\nreads_before = true");
    let mechanics = mechanics();
    let settled = BUS_COMMAND + MISS;
    let passes = |lba: u64| mechanics.approach(Arm::default(), settled, lba, false).at_ns;
    // Sectors of the track that pass whole between the end of the settling and the requested one, one by one.
    let kept =
        |lba: u64| (1..=lba).take_while(|back| passes(lba - back) < passes(lba)).count() as u64;
    let lba = (0..64).find(|lba| (5..*lba).contains(&kept(*lba))).unwrap();
    let asked = |buffer: &str, back: u64| {
        let mut model = disk(buffer, "");
        let first = read(&mut *model, 0, lba);
        assert_eq!(first, sought(Arm::default(), 0, MISS, lba));
        let at = first + 1_000_000;
        let done = read(&mut *model, at, lba - back);
        let miss = sought(mechanics.arm_at(lba), at, MISS, lba - back);
        assert!(done == at + buffered(HIT, 1) || done == miss, "{done} at {back}");
        done == at + buffered(HIT, 1)
    };
    assert!(asked(&before, 1) && asked(&before, kept(lba)), "sector {lba}, {} before", kept(lba));
    assert!(!asked(&before, kept(lba) + 1), "sector {lba}, {} before", kept(lba));
    assert!(!asked(PATIENT, 1));
}

#[test]
fn a_run_of_writes_waits_for_a_segment_of_its_own() {
    let two = format!("{PATIENT}\nwrite_segments = 2");
    let full = || {
        let mut model = disk(&two, "");
        let first = write(&mut *model, 0, 1000);
        let second = write(&mut *model, first, 5000);
        assert_eq!(second, 2 * buffered(WRITE, 8));
        (model, second)
    };
    // One that goes on where another ended needs none.
    let (mut model, now) = full();
    assert_eq!(write(&mut *model, now, 1008), now + buffered(WRITE, 8));
    assert_eq!(model.evidence().rotating.unwrap().destages, 0);
    // The third run waits until the one that the arm reaches first is on the medium.
    let (mut model, now) = full();
    let understood = now + BUS_COMMAND + WRITE;
    let freed = [1000, 5000]
        .map(|lba| (mechanics().approach(Arm::default(), understood, lba, true).at_ns, lba));
    let (_, nearest) = freed.into_iter().min().unwrap();
    let expected = written(Arm::default(), understood, nearest) + 8 * BUS_SECTOR;
    assert_eq!(write(&mut *model, now, 9000), expected);
    assert_eq!(model.evidence().rotating.unwrap().destages, 1);
    // Without the limit it is taken at once.
    let mut model = disk(PATIENT, "");
    let mut now = 0;
    for lba in [1000, 5000, 9000] {
        let done = write(&mut *model, now, lba);
        assert_eq!(done, now + buffered(WRITE, 8));
        now = done;
    }
}

#[test]
fn written_data_takes_a_segment_of_the_read_buffer_where_they_are_shared() {
    let through = PATIENT
        .replace("write_back = true", "write_back = false")
        .replace("read_segments = 4", "read_segments = 1");
    let shared = format!("{through}\nshares_segments = true");
    let mechanics = mechanics();
    let run = |buffer: &str| {
        let mut model = disk(buffer, "");
        let first = read(&mut *model, 0, 500);
        let stored = first + buffered(WRITE, 8);
        let second = write(&mut *model, first, 1000);
        assert_eq!(second, written(mechanics.arm_at(500), stored, 1000));
        (model, second)
    };
    // Shared: what was written is there, and what was read before has made room for it.
    let (mut model, now) = run(&shared);
    assert_eq!(read(&mut *model, now, 1003), now + buffered(HIT, 1));
    let now = now + buffered(HIT, 1);
    assert_eq!(read(&mut *model, now, 500), sought(mechanics.arm_at(1007), now, MISS, 500));
    // Apart: the other way round.
    let (mut model, now) = run(&through);
    assert_eq!(read(&mut *model, now, 500), now + buffered(HIT, 1));
    let now = now + buffered(HIT, 1);
    assert_eq!(read(&mut *model, now, 1003), sought(mechanics.arm_at(1007), now, MISS, 1003));
}

#[test]
fn a_write_waits_for_the_medium_where_only_an_idle_disk_completes_from_its_buffer() {
    let idle = format!("{PATIENT}\nwrite_back_when_idle = true");
    let mut model = disk(&idle, "");
    let model = &mut *model;
    let first = write(model, 0, 1000);
    assert_eq!(first, buffered(WRITE, 8));
    // One that goes on where the data in the buffer ends joins it.
    let second = write(model, first, 1008);
    assert_eq!(second, first + buffered(WRITE, 8));
    let third = write(model, second, 5000);
    assert_eq!(third, written(Arm::default(), second + buffered(WRITE, 8), 5000));
    // The first run is still in the buffer, so the next one waits as well.
    let fourth = write(model, third, 9000);
    assert_eq!(fourth, written(mechanics().arm_at(5007), third + buffered(WRITE, 8), 9000));
    let seen = model.evidence().rotating.unwrap();
    assert_eq!((seen.writes_cached, seen.destages), (2, 2));
}
