use crate::evidence::FlashEvidence;
use crate::model::{Completion, Lba, Model, Operation, Request};
use crate::{build, load};

/// Two planes of 2 KiB pages in units of 64 KiB, one unit open, on two buses.
fn text() -> &'static str {
    r#"
name = "card"
title = "card"
kind = "flash"
[presented]
sectors = 4096
queue_depth = 1
max_request_kib = 128
[[bus]]
name = "dma"
command_us = 20
mb_per_s = 25.6
[[bus]]
name = "pio"
command_us = 20
sector_us = 30
mb_per_s = 25.6
max_request_kib = 16
[flash]
page_bytes = 2048
unit_kib = 64
planes = 2
open_units = 1
spare_blocks = 1
wear_leveling = "dynamic"
prefilled = true
read_page_us = 25
program_page_us = 200
copy_page_us = 300
erase_us = 1500
read_command_us = 100
write_command_us = 150
unit_change_us = 40
rated_erases = 10
[sources]
presented = "test"
bus = "test"
flash = "test"
"#
}

fn request(id: u64, operation: Operation, lba: u64, sectors: u32) -> Request {
    Request { id, operation, lba: Lba(lba), sectors, fua: false }
}

/// How long each request takes, one after the other, in microseconds.
fn times(model: &mut dyn Model, requests: &[(Operation, u64, u32)]) -> Vec<u64> {
    let mut now = model.next_event_ns().unwrap_or(0);
    let mut times = Vec::new();
    for (id, &(operation, lba, sectors)) in (1..).zip(requests) {
        model.submit(now, request(id, operation, lba, sectors)).unwrap();
        let mut done: Vec<Completion> = Vec::new();
        let at_ns = model.next_event_ns().unwrap();
        model.advance(at_ns, &mut done);
        assert_eq!(done, [Completion { id, at_ns }]);
        times.push((at_ns - now) / 1000);
        now = at_ns;
    }
    times
}

use Operation::{Read, Write};

#[test]
fn reads_take_command_cells_and_bus() {
    let mut model = build(&load(text()).unwrap(), 1);
    let found = times(
        &mut *model,
        // 20 us a sector on the bus. A page; the same again from the register; one that crosses into another batch of
        // two pages; another unit.
        &[(Read, 0, 1), (Read, 1, 1), (Read, 4, 8), (Read, 1280, 8)],
    );
    assert_eq!(found[0], 20 + 100 + 40 + 25 + 20);
    assert_eq!(found[1], 20 + 100 + 20);
    // The bus takes longer than the cells of the next batch: they hide behind it.
    assert_eq!(found[2], 20 + 100 + 25 + 8 * 20);
    assert_eq!(found[3], 20 + 100 + 40 + 25 + 8 * 20);
}

#[test]
fn programmed_io_pays_for_every_sector() {
    let file = load(text()).unwrap().on_bus("pio").unwrap();
    assert_eq!(file.max_request_bytes(), 16 * 1024);
    let found = times(&mut *build(&file, 1), &[(Read, 0, 8)]);
    assert_eq!(found[0], 20 + 100 + 40 + 25 + 8 * (20 + 30));
}

#[test]
fn writes_in_order_are_programmed_as_the_bus_brings_them() {
    let mut model = build(&load(text()).unwrap(), 1);
    // 32 KiB: eight batches of two pages; the bus brings 8 sectors in 160 us, the cells take 200 us for them.
    let found = times(&mut *model, &[(Write, 0, 64), (Write, 64, 64)]);
    assert_eq!(found[0], 20 + 150 + 40 + 160 + 8 * 200);
    assert_eq!(found[1], 20 + 150 + 160 + 8 * 200);
    let flash = model.evidence().flash.unwrap();
    assert_eq!((flash.pages_programmed, flash.erases, flash.full_merges), (32, 0, 0));
}

#[test]
fn small_writes_that_change_units_pay_for_a_merge_each() {
    let mut model = build(&load(text()).unwrap(), 1);
    let found = times(&mut *model, &[(Write, 4, 4), (Write, 132, 4), (Write, 260, 4)]);
    // Page 1 of its unit first: out of order, so closing it copies all 32 pages and erases two blocks.
    let merge = 16 * 300 + 2 * 1500;
    assert_eq!(found[0], 20 + 150 + 40 + 80 + 200);
    assert_eq!(found[1..], [20 + 150 + 40 + merge + 200; 2]);
    let flash = model.evidence().flash.unwrap();
    assert_eq!((flash.full_merges, flash.erases, flash.pages_copied), (2, 4, 64));
    assert_eq!(flash.write_amplification, Some((64.0 + 3.0) / 3.0));
    assert_eq!(flash.rated_erases, Some(10));
    let years = flash.years_to_rating(&FlashEvidence::default(), found.iter().sum::<u64>() * 1000);
    assert!(years.is_some_and(|years| years < 1e-6));
}

#[test]
fn a_whole_unit_in_order_only_swaps_blocks() {
    let mut model = build(&load(text()).unwrap(), 1);
    let found = times(&mut *model, &[(Write, 0, 128), (Write, 128, 4)]);
    assert_eq!(found[1], 20 + 150 + 40 + 1500 + 200);
    let flash = model.evidence().flash.unwrap();
    assert_eq!((flash.switch_merges, flash.pages_copied), (1, 0));
}

#[test]
fn a_cut_keeps_the_pages_programmed_so_far() {
    let mut model = build(&load(text()).unwrap(), 1);
    model.submit(0, request(1, Write, 0, 64)).unwrap();
    // Three batches of eight sectors are programmed at 210 + 160 + 600 us.
    let lost = model.power_cut(1_000_000);
    assert_eq!(lost.lost.len(), 1);
    assert_eq!((lost.lost[0].range.lba.0, lost.lost[0].range.sectors), (24, 40));
    assert_eq!(lost.damaged, []);
}

#[test]
fn a_cut_in_a_merge_takes_the_unit_along_where_the_card_is_that_careless() {
    for (careless, units) in [("false", 0), ("true", 1)] {
        let text =
            text().replace("rated_erases", &format!("tears_units = {careless}\nrated_erases"));
        let mut model = build(&load(&text).unwrap(), 1);
        let first = times(&mut *model, &[(Write, 4, 4)])[0] * 1000;
        model.submit(first, request(2, Write, 132, 4)).unwrap();
        let lost = model.power_cut(first + 1_000_000);
        let damaged: Vec<(u64, u64)> = lost.damaged.iter().map(|d| (d.lba.0, d.sectors)).collect();
        assert_eq!(damaged, vec![(0, 128); units]);
        assert_eq!(lost.lost[0].id, 2);
    }
}
