//! The findings of flash as a device file: each value with its source, what was not told apart with its range.

use std::fmt::Write as _;

use super::super::believed::Accuracy;
use super::super::describe::{figure, head, limits, presented, quoted};
use super::super::draft::Draft;
use super::super::{Interval, Label};
use super::{Card, Faster, FlashFindings, FlashKind, READS, SYNCED, Solid};

/// Cells beyond the capacity where writes did not tell: of most consumer disks.
const OVER_PROVISIONING: f64 = 0.073;

/// Most channels of a model.
const MOST_CHANNELS: u32 = 64;

/// Pages of a block where writes did not tell.
const PAGES_PER_BLOCK: u32 = 256;

/// Blocks of a die where writes did not tell: at least so many.
const LEAST_BLOCKS: f64 = 200.0;

/// Blocks that the model keeps erased on each die.
const RESERVE: u32 = 2;

/// The text of a device file.
///
/// The measured rates of `accuracy` and the steady state become published figures, so that `device show` compares them
/// with the model.
#[must_use]
pub fn flash_file(label: Label, findings: &FlashFindings, accuracy: Option<&Accuracy>) -> String {
    let source = label.source;
    let (kind, sector_ns) = match &findings.kind {
        FlashKind::Card(card) => ("flash", card.sector_ns),
        FlashKind::Solid(solid) => ("ssd", solid.sector_ns),
    };
    let mut text = head(label, kind, "wrote", "", accuracy);
    presented(&mut text, &findings.geometry);
    limits(&mut text, &findings.geometry);
    let mut draft = Draft::new(kind, source);
    bus(&mut text, &findings.kind, sector_ns);
    match &findings.kind {
        FlashKind::Card(card) => of_card(&mut draft, card),
        FlashKind::Solid(solid) => of_solid(&mut draft, solid),
    }
    let _ = writeln!(text, "[{kind}]\n{}", draft.values);
    published(&mut text, findings, accuracy, source);
    text.push_str(&accuracy.map(Accuracy::tables).unwrap_or_default());
    let of_bus = draft.by("from requests of two lengths; commands from the rate at depth");
    text + &draft.tail(&format!("\"bus\" = {}\n", quoted(&of_bus)))
}

fn bus(text: &mut String, kind: &FlashKind, sector_ns: Interval) {
    let mb_per_s = if sector_ns.value > 0.0 { 512e3 / sector_ns.value } else { 1e5 };
    let _ = writeln!(text, "[[bus]]\nname = \"probed\"\nmb_per_s = {mb_per_s:.2}");
    match kind {
        FlashKind::Card(_) => text.push_str("command_us = 0\n\n"),
        FlashKind::Solid(solid) => {
            let (read, write) = commands_us(solid);
            let _ = writeln!(text, "command_us = {read:.3}\nwrite_command_us = {write:.3}\n");
        }
    }
}

/// Commands of a read and of a write, which the controller takes one after the other, in microseconds: no more than the
/// rates at depth allow, nor than a single request leaves for it.
fn commands_us(solid: &Solid) -> (f64, f64) {
    let of = |per_second: f64, least_ns: f64| (1e6 / per_second.max(1.0)).min(least_ns / 1e3);
    let by_bus_ns = solid.sector_ns.value * 8.0;
    let write = of(solid.deep_writes.per_second.value, solid.write_ns.value - by_bus_ns);
    // Where the dies limit the rate of reads, it says nothing about their commands.
    let cells_ns = (solid.read_ns.value - solid.buffered_ns.value).max(1.0);
    let of_dies = solid.dies.map_or(f64::INFINITY, |[low, _]| f64::from(low) * 1e9 / cells_ns);
    let by_rate = solid.deep_reads.per_second.value < 0.6 * of_dies;
    let most = if by_rate { 1e6 / solid.deep_reads.per_second.value.max(1.0) } else { write };
    let read = most.min((solid.buffered_ns.value - by_bus_ns) / 1e3);
    (read.max(0.0), write.max(0.0))
}

fn of_card(draft: &mut Draft<'_>, card: &Card) {
    let kib =
        |found: Interval| format!("{:.0} to {:.0} KiB", found.low / 1024.0, found.high / 1024.0);
    let page = card.page_bytes;
    draft.found("page_bytes", page.value, &format!("{}, by reads of one page", kib(page)));
    draft.range("page_bytes", page.low, page.high);
    let unit = card.unit_bytes;
    let how = format!("{}, by writes in a row", kib(unit));
    draft.found("unit_kib", unit.value / 1024.0, &how);
    draft.range("unit_kib", unit.low / 1024.0, unit.high / 1024.0);
    let [low, high] = card.planes;
    let how = format!("{low} to {high}, by writes of a growing number of pages");
    draft.found("planes", low, &how);
    draft.range("planes", low.into(), high.into());
    let [low, high] = card.open_units;
    let how = format!("writes to units in turn, {low} without closing one");
    draft.found("open_units", low, &how);
    draft.range("open_units", low.into(), high.min(1024).into());
    if let Some(first) = card.linear_from_unit {
        let how = "writes to the middle of a unit copy what is before it";
        draft.found("linear_from_unit", first, how);
    }
    draft.put("spare_blocks", 20, "assumed");
    draft.put("wear_leveling", "\"dynamic\"", "assumed");
    draft.put("prefilled", true, "the probe wrote it");
    draft.time("read_page_us", card.read_page_ns, "by reads of the same and of another page");
    draft.time("program_page_us", card.program_page_ns, "by writes of one page more");
    match card.copy_page_ns {
        Some(found) => draft.time("copy_page_us", found, "by writes that close a unit"),
        None => {
            let assumed = card.read_page_ns.value + card.program_page_ns.value;
            draft.put("copy_page_us", assumed / 1e3, "assumed: a read and a program");
        }
    }
    draft.time("erase_us", card.erase_ns, "by the first write to each unit");
    draft.time("read_command_us", card.read_command_ns, "with the bus");
    draft.time("write_command_us", card.write_command_ns, "with the bus");
    draft.time("unit_change_us", card.unit_change_ns, "by reads in two units in turn");
}

fn of_solid(draft: &mut Draft<'_>, solid: &Solid) {
    let stripe_kib = shape(draft, solid);
    let [dies, most] = dies(solid);
    // Blocks and spare cells have to do for every number of dies in the range.
    let most = if solid.dies.is_some() { dies } else { most };
    let row_kib = stripe_kib * f64::from(if solid.erases.is_some() { dies } else { most });
    let pages = pages_per_block(draft, solid, row_kib);
    over_provisioning(draft, solid, f64::from(pages) * stripe_kib * f64::from(most));
    draft.put("unit_kib", 4, "assumed: the usual mapping unit");
    draft.put("reserve_blocks", RESERVE, "assumed: the least the model works with");
    let cells = super::minus(solid.read_ns, solid.buffered_ns);
    let page = super::minus(cells, super::scaled(solid.channel_sector_ns, 8.0));
    draft.time("read_page_us", page, "by reads of cells and of the buffer");
    program(draft, solid, stripe_kib * f64::from(dies));
    let sector_ns = solid.channel_sector_ns.value;
    let rate = if sector_ns > 0.0 { 512e3 / sector_ns } else { 1e5 };
    draft.found("channel_mb_per_s", format!("{rate:.1}"), "by a second block of a page");
    commands(draft, solid);
    buffer(draft, solid, stripe_kib);
    // Times alone would take a slow controller for capacitors, and its file would send no flushes.
    let how = if solid.is_volatile { "sends flushes" } else { "sends no flushes" };
    draft.found("power_loss_protection", !solid.is_volatile, &format!("the kernel {how}"));
    let how = "by flushes after a write and without one";
    draft.found("flush_waits", !solid.flushes_at_once(), how);
    draft.assume("drain_delay_us", 10_000, [1000.0, 100_000.0]);
    draft.assume("suspend_us", 100, [20.0, 1000.0]);
    if let Some(found) = &solid.faster {
        faster(draft, solid, found);
    }
}

/// Fewest and most dies; where reads told none apart, as many as the rate of reads at depth needs, and four times these.
fn dies(solid: &Solid) -> [u32; 2] {
    const MORE: u32 = 4;
    solid.dies.unwrap_or_else(|| {
        let cells_ns = super::minus(solid.read_ns, solid.buffered_ns).value;
        let busy = solid.deep_reads.per_second.value * cells_ns / 1e9;
        let least = (busy.ceil() as u32).clamp(1, MOST_CHANNELS).next_power_of_two();
        [least, (least * MORE).min(MOST_CHANNELS)]
    })
}

/// Times of the controller.
fn commands(draft: &mut Draft<'_>, solid: &Solid) {
    const HOW: &str = "without bus and command";
    let (read_us, write_us) = commands_us(solid);
    let bus_ns = solid.sector_ns.value * 8.0;
    let rest = |found: Interval, us: f64| super::minus(found, Interval::exact(bus_ns + us * 1e3));
    draft.time("read_command_us", rest(solid.buffered_ns, read_us), HOW);
    draft.time("write_command_us", rest(solid.write_ns, write_us), HOW);
    let flush = super::minus(solid.flush_ns, Interval::exact(read_us * 1e3));
    draft.time("flush_us", flush, "for a flush of nothing");
}

fn buffer(draft: &mut Draft<'_>, solid: &Solid, stripe_kib: f64) {
    let Some(found) = solid.buffer_bytes else {
        let kib = (stripe_kib as u32).max(32_768);
        draft.put("buffer_kib", kib, "assumed: the usual buffer");
        draft.range("buffer_kib", stripe_kib.max(1024.0), 262_144.0);
        return;
    };
    let Interval { value, low, high } = super::scaled(found, 1.0 / 1024.0);
    let how = format!("{low:.0} to {high:.0} KiB, by writes in a row that fill it");
    draft.found("buffer_kib", value.max(stripe_kib).round(), &how);
    draft.range("buffer_kib", low.max(stripe_kib).floor(), high.ceil());
}

/// The cache of faster cells, a table of its own behind all other values.
fn faster(draft: &mut Draft<'_>, solid: &Solid, found: &Faster) {
    draft.begin("ssd.slc");
    let Interval { value, low, high } = super::scaled(found.bytes, 1.0 / f64::from(1 << 20));
    let how = format!("{low:.0} to {high:.0} MiB, by the rate of writes in a row and by flushes");
    draft.found("mib", value.round().max(1.0), &how);
    draft.range("mib", low.floor().max(1.0), high.ceil());
    let before = super::minus(found.synced_before_ns, solid.flush_ns);
    let before = super::minus(before, solid.stripe_over_channel_ns());
    draft.time("program_us", before, "by flushes after a write");
    draft.assume("idle_ms", 500, [50.0, 5000.0]);
    let (fold, how) = match found.refill_mb_per_s {
        Some(fold) => (fold, draft.by("by what a pause of 20 s empties")),
        None => (Interval { value: 200.0, low: 100.0, high: 500.0 }, "assumed".to_owned()),
    };
    // In steps of a tenth, which the range must hold.
    const LEAST: f64 = 0.1;
    draft.put("fold_mb_per_s", format!("{:.1}", fold.value.max(LEAST)), &how);
    let low = ((fold.low * 10.0).floor() / 10.0).max(LEAST);
    draft.range("fold_mb_per_s", low, fold.high.ceil());
}

/// Dies, planes and page; the stripe in KiB.
fn shape(draft: &mut Draft<'_>, solid: &Solid) -> f64 {
    let [low, high] = dies(solid);
    let channels = low.min(MOST_CHANNELS);
    let how = match solid.dies {
        Some(_) => draft.by(&format!(
            "{low} to {high} dies, by reads that need the same one; taken for channels"
        )),
        None => "assumed: the least for the rate of reads at depth, as reads told no dies apart"
            .to_owned(),
    };
    draft.put("channels", channels, &how);
    if solid.dies.is_none() {
        draft.range("channels", channels.into(), high.into());
    }
    draft.put("dies_per_channel", low.div_ceil(channels), "as ssd.channels");
    let stripe_kib = solid.stripe_sectors.map_or(64.0, |stripe| stripe.value / 2.0);
    let page_kib = solid.page_sectors.map_or(stripe_kib.min(16.0), |page| page.value / 2.0);
    let planes = (stripe_kib / page_kib).round().max(1.0) as u32;
    let how = match solid.stripe_sectors {
        Some(_) => {
            draft.by(&format!("stripes of {stripe_kib} KiB on a die, by reads of two blocks"))
        }
        None => "assumed: reads told no dies apart".to_owned(),
    };
    draft.put("planes", planes, &how);
    draft.put("page_kib", page_kib, &how);
    stripe_kib
}

fn pages_per_block(draft: &mut Draft<'_>, solid: &Solid, row_kib: f64) -> u32 {
    let Some(erases) = &solid.erases else {
        // A die of fewer blocks would have too few to collect.
        let fits = solid.capacity_bytes as f64 / 1024.0 / row_kib / LEAST_BLOCKS;
        let pages = PAGES_PER_BLOCK.min(fits as u32).max(2);
        let how = "assumed: no erase was seen, or too little was written to see one";
        draft.put("pages_per_block", pages, how);
        draft.range("pages_per_block", f64::from(pages / 2).max(2.0), f64::from(pages) * 4.0);
        draft.assume("erase_us", 5000, [1000.0, 20_000.0]);
        return pages;
    };
    let Interval { low, high, .. } = erases.superblock_bytes;
    let how = format!(
        "{:.2} to {:.2} MiB are erased at once on all dies, by writes in a row over old data",
        low / 1048576.0,
        high / 1048576.0
    );
    let pages = |bytes: f64| (bytes / 1024.0 / row_kib).round().max(2.0);
    let Interval { value, low, high } = erases.superblock_bytes.map(pages);
    draft.found("pages_per_block", value as u32, &how);
    draft.range("pages_per_block", low, high);
    draft.time("erase_us", erases.erase_ns, "by the longest programs");
    value as u32
}

/// Cells beyond the capacity, from the random writes that the full device takes before it collects.
fn over_provisioning(draft: &mut Draft<'_>, solid: &Solid, superblock_kib: f64) {
    const KEY: &str = "over_provisioning";
    let capacity = solid.capacity_bytes as f64;
    let block = superblock_kib * 1024.0 / capacity;
    // The model needs some blocks to collect at all.
    let least = f64::from(RESERVE + 5) * block;
    let Some(at) = solid.cliff.as_ref().and_then(|cliff| cliff.after_bytes) else {
        let assumed = OVER_PROVISIONING.max(least);
        draft.assume(KEY, format!("{assumed:.4}"), [least.max(0.05), assumed.max(0.28)]);
        return;
    };
    let part = |bytes: f64| (bytes / capacity + f64::from(RESERVE + 1) * block).max(least);
    let how = format!(
        "{:.0} to {:.0} MiB of random writes to the full device before the rate falls, and {} erased blocks a die",
        at.low / 1048576.0,
        at.high / 1048576.0,
        RESERVE + 1
    );
    draft.found(KEY, format!("{:.4}", part(at.value)), &how);
    draft.range(KEY, part(at.low), part(at.high));
}

/// A program: from flushes, or from the rate of writes in a row where they do not wait for one.
fn program(draft: &mut Draft<'_>, solid: &Solid, row_kib: f64) {
    const KEY: &str = "program_us";
    if let Some(found) = solid.program_ns() {
        return draft.time(KEY, found, "by flushes after a write");
    }
    if solid.row_mb_per_s.value <= 0.0 {
        draft.put(KEY, 1000, "assumed: too little was written to see its rate");
        draft.range(KEY, 100.0, 5000.0);
        return;
    }
    let us = |mb_per_s: f64| row_kib * 1024.0 / mb_per_s.max(0.001);
    let Interval { value, low, high } = solid.row_mb_per_s;
    let how = "at most, by the rate of writes in a row, which the bus may limit";
    draft.found(KEY, format!("{:.1}", us(value)), how);
    draft.range(KEY, us(high).floor() / 2.0, us(low).ceil());
}

/// Measured rates as published figures.
fn published(
    text: &mut String,
    findings: &FlashFindings,
    accuracy: Option<&Accuracy>,
    source: &str,
) {
    let mut row = |name: &str, depth: u32, value: f64, from: &str| {
        figure(text, name, &format!("depth = {depth}\n"), value, &format!("{source}: {from}"));
    };
    for class in accuracy.iter().flat_map(|accuracy| &accuracy.classes) {
        match class.name {
            READS => row("random-reads", class.depth, class.per_second, "withheld reads"),
            SYNCED => row("synced-writes", 1, class.per_second, "withheld writes"),
            _ => {}
        }
    }
    let FlashKind::Solid(solid) = &findings.kind else { return };
    if let Some(faster) = solid.faster.as_ref().filter(|_| solid.faster_shows_in_rate()) {
        let depth = findings.geometry.queue_depth.min(32);
        row("write-after-cache", depth, faster.after_mb_per_s.value, "writes in a row");
    }
    if let Some(cliff) = solid.cliff.as_ref().filter(|cliff| cliff.is_steady) {
        row("random-writes", cliff.depth, cliff.steady_per_second.value, "steady state");
    }
}
