use crate::file::Parameters;
use crate::model::{Completion, Lba, LostWrites, Model, Operation, Request};
use crate::trial::{Load, Places, Trial};
use crate::{build, catalogue, load};

/// One channel, one die, one plane; pages of one unit; a buffer of four units. All costs differ.
fn text(more: &str) -> String {
    format!(
        r#"
name = "ssd"
title = "ssd"
kind = "ssd"
[presented]
sectors = 8000
physical_block = 4096
queue_depth = 16
max_request_kib = 64
max_discard_kib = 64
[[bus]]
name = "bus"
command_us = 2
mb_per_s = 409.6
[ssd]
channels = 1
dies_per_channel = 1
planes = 1
page_kib = 4
pages_per_block = 16
unit_kib = 4
over_provisioning = 0.5
reserve_blocks = 2
read_page_us = 50
program_us = 400
erase_us = 3000
channel_mb_per_s = 204.8
read_command_us = 5
write_command_us = 7
flush_us = 100
buffer_kib = 16
drain_delay_us = 2000
{more}
[sources]
presented = "test"
bus = "test"
ssd = "test"
"#
    )
}

const VOLATILE: &str = "power_loss_protection = false";

fn ssd(more: &str) -> Box<dyn Model> {
    build(&load(&text(more)).unwrap(), 1)
}

fn request(id: u64, operation: Operation, lba: u64, sectors: u32) -> Request {
    Request { id, operation, lba: Lba(lba), sectors, fua: false }
}

fn wait_for(model: &mut dyn Model, count: usize) -> Vec<Completion> {
    let mut done = Vec::new();
    while done.len() < count {
        let at_ns = model.next_event_ns().unwrap();
        model.advance(at_ns, &mut done);
    }
    done
}

/// 4 KiB over the link and over the channel, in nanoseconds.
const LINK: u64 = 10_000;
const CHANNEL: u64 = 20_000;

#[test]
fn a_read_takes_command_cells_channel_and_link() {
    let mut model = ssd(&format!("{VOLATILE}\nprefilled = true"));
    model.submit(1000, request(1, Operation::Read, 80, 8)).unwrap();
    let expected = 1000 + 2_000 + 5_000 + 50_000 + CHANNEL + LINK;
    assert_eq!(wait_for(&mut *model, 1), [Completion { id: 1, at_ns: expected }]);
}

#[test]
fn what_was_never_written_needs_no_cells() {
    let mut model = ssd(VOLATILE);
    model.submit(0, request(1, Operation::Read, 80, 8)).unwrap();
    assert_eq!(wait_for(&mut *model, 1)[0].at_ns, 2_000 + 5_000 + LINK);
    assert_eq!(model.evidence().flash.unwrap().pages_read, 0);
}

#[test]
fn a_write_completes_in_the_buffer_and_a_flush_when_it_is_in_the_cells() {
    let mut model = ssd(VOLATILE);
    model.submit(0, request(1, Operation::Write, 80, 8)).unwrap();
    let stored_ns = 2_000 + 7_000 + LINK;
    assert_eq!(wait_for(&mut *model, 1)[0].at_ns, stored_ns);
    // One unit is a whole stripe here, so its program starts at once.
    model.submit(stored_ns, request(2, Operation::Flush, 0, 0)).unwrap();
    let programmed_ns = stored_ns + CHANNEL + 400_000;
    assert_eq!(wait_for(&mut *model, 1)[0].at_ns, programmed_ns + 100_000);
    assert_eq!(model.power_cut(programmed_ns + 200_000), LostWrites::default());
}

#[test]
fn a_protected_flush_waits_for_nothing_and_loses_nothing() {
    let mut model = ssd("power_loss_protection = true");
    assert!(!model.geometry().write_cache);
    model.submit(0, request(1, Operation::Write, 80, 8)).unwrap();
    let stored_ns = wait_for(&mut *model, 1)[0].at_ns;
    model.submit(stored_ns, request(2, Operation::Flush, 0, 0)).unwrap();
    assert_eq!(wait_for(&mut *model, 1)[0].at_ns, stored_ns + 2_000 + 100_000);
    assert_eq!(model.power_cut(stored_ns + 110_000), LostWrites::default());
}

#[test]
fn a_flush_that_does_not_wait_keeps_what_came_before_it() {
    let mut model = ssd(&format!("{VOLATILE}\nflush_waits = false"));
    assert!(model.geometry().write_cache);
    model.submit(0, request(1, Operation::Write, 80, 8)).unwrap();
    let stored_ns = wait_for(&mut *model, 1)[0].at_ns;
    model.submit(stored_ns, request(2, Operation::Flush, 0, 0)).unwrap();
    let flushed_ns = wait_for(&mut *model, 1)[0].at_ns;
    assert_eq!(flushed_ns, stored_ns + 2_000 + 100_000);
    model.submit(flushed_ns, request(3, Operation::Write, 800, 8)).unwrap();
    let stored_ns = wait_for(&mut *model, 1)[0].at_ns;
    let lost = model.power_cut(stored_ns + 1_000).lost;
    assert_eq!(lost.iter().map(|lost| lost.id).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_write_in_the_buffer_is_lost_with_the_power_and_read_before_it() {
    let mut model = ssd(VOLATILE);
    model.submit(0, request(1, Operation::Write, 82, 3)).unwrap();
    let stored_ns = wait_for(&mut *model, 1)[0].at_ns;
    model.submit(stored_ns, request(2, Operation::Read, 82, 3)).unwrap();
    assert_eq!(wait_for(&mut *model, 1)[0].at_ns, stored_ns + 2_000 + 5_000 + 3 * LINK / 8);
    assert_eq!(model.evidence().flash.unwrap().buffer_hits, 1);
    let lost = model.power_cut(stored_ns + 50_000);
    assert_eq!(lost.lost.len(), 1);
    assert_eq!((lost.lost[0].id, lost.lost[0].range.lba.0, lost.lost[0].range.sectors), (1, 82, 3));
}

/// Of three-bit cells a third of the pages each is read fast, slower and slowest, whenever it is read.
#[test]
fn pages_of_each_kind_take_their_own_time() {
    let mut model = ssd(&format!("{VOLATILE}\nprefilled = true\nread_more_us = [0, 26, 78]"));
    let mut read = |lba: u64, now: u64| {
        model.submit(now, request(now + 1, Operation::Read, lba, 8)).unwrap();
        wait_for(&mut *model, 1)[0].at_ns - now
    };
    let mut read_all = |from: u64| -> Vec<u64> {
        (0..96).map(|page| read(page * 8, from + page * 1_000_000)).collect()
    };
    let took = read_all(0);
    assert_eq!(read_all(200_000_000), took);
    // Commands, channel and link besides the cells.
    let kinds = [0, 26, 78].map(|more| 1000 * (2 + 5 + 50 + more) + CHANNEL + LINK);
    let of = |kind: u64| took.iter().filter(|took| **took == kind).count();
    // Sixteen pages to a block, which begins with the first kind.
    assert_eq!(kinds.map(of), [36, 30, 30], "{took:?}");
}

#[test]
fn a_read_suspends_a_program() {
    let time = |suspend: &str| {
        let mut model = ssd(&format!("{VOLATILE}\nprefilled = true\n{suspend}"));
        model.submit(0, request(1, Operation::Write, 80, 8)).unwrap();
        let stored_ns = wait_for(&mut *model, 1)[0].at_ns;
        model.submit(stored_ns + 100_000, request(2, Operation::Read, 800, 8)).unwrap();
        let done_ns = wait_for(&mut *model, 1)[0].at_ns;
        let read_ns = done_ns - stored_ns - 100_000;
        model.submit(done_ns, request(3, Operation::Flush, 0, 0)).unwrap();
        let flushed_ns = wait_for(&mut *model, 1)[0].at_ns - stored_ns;
        (read_ns, flushed_ns, model.evidence().flash.unwrap().suspensions)
    };
    let alone = 7_000 + 50_000 + CHANNEL + LINK;
    let program = CHANNEL + 400_000;
    // Suspended 107 us after it began, for 30 us and the read's 50.
    assert_eq!(time("suspend_us = 30"), (alone + 30_000, program + 80_000 + 100_000, 1));
    // Without that the read waits for the program, and the flush finds nothing left to do.
    let waited = alone + program - 107_000;
    assert_eq!(time(""), (waited, 100_000 + waited + 2_000 + 100_000, 0));
}

#[test]
fn the_buffer_holds_writes_back_when_the_cells_cannot_follow() {
    let mut model = ssd(VOLATILE);
    for id in 1..=16 {
        model.submit(0, request(id, Operation::Write, id * 8, 8)).unwrap();
    }
    let done = wait_for(&mut *model, 16);
    // Four fit; from then on each needs a program to end: some 420 us apart.
    let gaps: Vec<u64> = done.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns).collect();
    assert!(gaps[..3].iter().all(|gap| *gap == LINK), "{gaps:?}");
    assert!(gaps[5..].iter().all(|gap| (400_000..=440_000).contains(gap)), "{gaps:?}");
}

#[test]
fn the_cache_of_single_bits_is_fast_until_it_is_full_and_again_after_a_rest() {
    let mut model = ssd(&format!(
        "{VOLATILE}\n[ssd.slc]\nmib = 1\nprogram_us = 100\nidle_ms = 10\nfold_mb_per_s = 100"
    ));
    let mut next = 1;
    let mut burst = |model: &mut dyn Model, from_ns: u64, count: u64| {
        let mut now = from_ns;
        for _ in 0..count {
            model.submit(now, request(next, Operation::Write, next % 900 * 8, 8)).unwrap();
            now = wait_for(model, 1)[0].at_ns;
            next += 1;
        }
        (now, (now - from_ns) / count)
    };
    let (now, fast) = burst(&mut *model, 0, 200);
    let (now, _) = burst(&mut *model, now, 100);
    let (now, slow) = burst(&mut *model, now, 100);
    let (_, rested) = burst(&mut *model, now + 100_000_000, 200);
    assert!((115_000..130_000).contains(&fast), "{fast}");
    assert!((410_000..430_000).contains(&slow), "{slow}");
    assert!((115_000..130_000).contains(&rested), "{rested}");
}

/// A copy of a large file slows down where the cache ends. A disk whose cells were as fast as its bus would not need
/// one.
#[test]
fn streams_to_each_shipped_disk_slow_down_at_the_end_of_its_cache() {
    const CACHE_MIB: u64 = 1024;
    const WINDOW_MIB: u64 = 64;
    let mut seen = Vec::new();
    for (name, file) in catalogue().unwrap() {
        let Parameters::Ssd(parameters) = file.parameters() else { continue };
        if parameters.slc.is_none() {
            continue;
        }
        let buffer_mib = u64::from(parameters.buffer_kib / 1024);
        let file = file.with("ssd.slc.mib", CACHE_MIB as f64).unwrap();
        let mut trial = Trial::new(build(&file, 1));
        let bytes = 1 << 20;
        let load = Load { operation: Operation::Write, bytes, depth: 16, count: WINDOW_MIB as u32 };
        let places = Places::InTurn { count: 1, apart: WINDOW_MIB << 11 };
        let windows = 2 * CACHE_MIB / WINDOW_MIB;
        let rates: Vec<f64> =
            (0..windows).map(|_| trial.run(load, places).unwrap().mb_per_s()).collect();
        let (first, last) = (rates[0], rates[rates.len() - 1]);
        assert!(last < 0.7 * first, "{name}: {rates:?}");
        let slow = rates.iter().position(|rate| *rate < f64::midpoint(first, last)).unwrap();
        let cliff_mib = slow as u64 * WINDOW_MIB;
        // The buffer hides the slower cells for as long as it takes to fill.
        let hidden_mib = 3 * buffer_mib + WINDOW_MIB;
        assert!((CACHE_MIB..=CACHE_MIB + hidden_mib).contains(&cliff_mib), "{name}: {rates:?}");
        seen.push(name);
    }
    assert_eq!(seen, ["ssd-sata-250gb", "ssd-sata-4tb-qlc"]);
}

#[test]
fn discarded_units_are_forgotten() {
    let mut model = ssd(&format!("{VOLATILE}\nprefilled = true"));
    model.submit(0, request(1, Operation::Discard, 80, 16)).unwrap();
    wait_for(&mut *model, 1);
    model.submit(1_000_000, request(2, Operation::Read, 80, 16)).unwrap();
    assert_eq!(wait_for(&mut *model, 1)[0].at_ns, 1_000_000 + 7_000 + 2 * LINK);
    assert_eq!(model.evidence().discards, 1);
}

#[test]
fn too_little_over_provisioning_is_refused_with_a_figure_that_works() {
    let with = |part: &str| load(&text(VOLATILE).replace("over_provisioning = 0.5", part));
    let error = with("over_provisioning = 0.01").unwrap_err();
    assert_eq!(error.key(), Some("ssd.over_provisioning"));
    let text = error.to_string();
    let start = text.find("at least ").unwrap() + 9;
    let advice: f64 = text[start..start + 5].parse().unwrap();
    assert!(with(&format!("over_provisioning = {}", advice + 0.001)).is_ok(), "{text}");
}

/// Random writes to a full disk, each with a flush, by which the end of its program is known; the sums of what they
/// collected and erased.
fn collecting(erase_us: u64) -> (u64, u64) {
    let filled = format!("{VOLATILE}\nprefilled = true\npreconditioned = 2.0");
    let text = text(&filled).replace("erase_us = 3000", &format!("erase_us = {erase_us}"));
    let mut model = build(&load(&text).unwrap(), 1);
    let (mut now, mut unit) = (0, 1);
    let seen = |model: &dyn Model| {
        let flash = model.evidence().flash.unwrap();
        (flash.pages_copied, flash.pages_read, flash.erases)
    };
    let begun = seen(&*model);
    for id in 0..400 {
        let before = seen(&*model);
        unit = (unit * 7_921 + 13) % 1000;
        model.submit(now, request(2 * id + 1, Operation::Write, unit * 8, 8)).unwrap();
        let stored_ns = wait_for(&mut *model, 1)[0].at_ns;
        model.submit(stored_ns, request(2 * id + 2, Operation::Flush, 0, 0)).unwrap();
        now = wait_for(&mut *model, 1)[0].at_ns;
        let after = seen(&*model);
        let (copied, read, erased) = (after.0 - before.0, after.1 - before.1, after.2 - before.2);
        // A page is a unit, so that each copy reads and programs a page.
        assert_eq!(copied, read);
        let cells_ns = 400_000 + copied * (50_000 + 400_000) + erased * erase_us * 1000;
        assert_eq!(
            now,
            stored_ns + CHANNEL + cells_ns + 100_000,
            "{copied} copies, {erased} erases"
        );
    }
    let ended = seen(&*model);
    (ended.0 - begun.0, ended.2 - begun.2)
}

#[test]
fn a_program_takes_the_time_of_what_it_collects() {
    let (copied, erased) = collecting(3000);
    // Each erase frees the 16 units of a block, of which so many were copied.
    assert!(erased > 20 && copied > 100, "{copied} copies, {erased} erases");
    assert!((16 * erased).abs_diff(400 + copied) <= 4 * 16, "{copied} copies, {erased} erases");
    // The time of an erase changes no choice.
    assert_eq!(collecting(7000), (copied, erased));
}
