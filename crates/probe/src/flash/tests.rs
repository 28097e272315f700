use super::{
    Card, FLUSHED, Faster, FlashFindings, FlashKind, Solid, flash_file, flash_summary, judge_flash,
    probe_flash,
};
use crate::tests::noisy::Noisy;
use crate::{Accuracy, ClassAccuracy, Label, News, Simulated, Stage, Tape};
use seekwell_device::file::{DeviceFile, Parameters};
use seekwell_device::flash::FlashParameters;
use seekwell_device::withheld::Withheld;
use seekwell_device::{build, catalogue, load};

const GIB: u64 = 1 << 30;

fn label() -> Label<'static> {
    Label { name: "mine", title: "Mine", source: "probe" }
}

fn probed(file: &DeviceFile, budget_bytes: u64) -> (Simulated, Tape, FlashFindings) {
    let mut target = Simulated::new(build(file, 7));
    let mut tape = Tape::new(21);
    let mut told = Vec::new();
    let tell = &mut |news| told.push(news);
    let findings = probe_flash(&mut target, &mut tape, 11, budget_bytes, tell).unwrap();
    tells_what_it_finds(&told, &findings);
    (target, tape, findings)
}

/// Each finding is told in its stage, before the next one begins, and the summary has all of them.
fn tells_what_it_finds(told: &[News], findings: &FlashFindings) {
    let mut stages = Vec::new();
    let mut found: Vec<(Stage, &str)> = Vec::new();
    for news in told {
        match news {
            News::Begins(stage) => stages.push(*stage),
            News::Found(name, _) => found.push((*stages.last().unwrap(), name.as_str())),
        }
    }
    let mut expected = vec![(Stage::Kind, "kind")];
    match &findings.kind {
        FlashKind::Card(_) => expected.extend([
            (Stage::Pages, "page"),
            (Stage::EraseUnits, "erase unit"),
            (Stage::EraseUnits, "program of a page"),
            (Stage::OpenUnits, "open units"),
            (Stage::OpenUnits, "copy of a page"),
            (Stage::OpenUnits, "order in a unit"),
        ]),
        FlashKind::Solid(solid) => {
            expected.extend([
                (Stage::Commands, "write"),
                (Stage::Parallelism, "dies"),
                (Stage::FasterCells, "faster cells"),
            ]);
            let cliff = [(Stage::Cliff, "write cliff"), (Stage::EraseUnits, "erase block")];
            expected.extend(cliff.into_iter().filter(|_| solid.cliff.is_some()));
        }
    }
    for one in expected {
        assert!(found.contains(&one), "{one:?} is not told in time: {told:?}");
    }
    let accuracy = Accuracy { measured: 0, withheld: 0, classes: Vec::new(), is_cut: false };
    let summary = flash_summary(findings, &accuracy);
    for news in told {
        let News::Found(name, value) = news else { continue };
        let line = format!("{name:<22}{value}\n");
        assert!(name == "kind" || summary.contains(&line), "{line}{summary}");
    }
}

fn parameters(file: &DeviceFile) -> &FlashParameters {
    match file.parameters() {
        Parameters::Flash(parameters) => parameters,
        _ => panic!("{} is no card", file.name()),
    }
}

/// Probes a shipped card and holds what was found to its file.
fn card_is_found(name: &str) {
    let file = catalogue().unwrap().remove(name).unwrap();
    let (mut target, tape, findings) = probed(&file, GIB);
    let FlashKind::Card(card) = &findings.kind else { panic!("{name}: {findings:?}") };
    let truth = parameters(&file);
    assert_eq!(card.unit_bytes.value, f64::from(truth.unit_kib) * 1024.0, "{name}: {card:?}");
    assert_eq!(card.unit_bytes.low, card.unit_bytes.high, "{name}");
    assert_eq!(card.page_bytes.value, f64::from(truth.page_bytes), "{name}");
    assert_eq!(card.open_units, [truth.open_units; 2], "{name}");
    assert_eq!(card.linear_from_unit, truth.linear_from_unit, "{name}");
    let [low, high] = card.planes;
    assert!((low..=high).contains(&truth.planes), "{name}: {low} to {high} planes");
    times_are_found(name, card, truth);
    let accuracy = judge_flash(&mut target, &tape, &findings, 99).unwrap();
    for class in &accuracy.classes {
        assert!(class.is_believed(), "{name}: {class:?}");
    }
    assert!(accuracy.classes.len() >= 4, "{name}: {accuracy:?}");
    let text = flash_file(label(), &findings, Some(&accuracy));
    assert_eq!(load(&text).unwrap().title(), "Mine", "{text}");
}

fn times_are_found(name: &str, card: &Card, truth: &FlashParameters) {
    let times = [
        ("read", card.read_page_ns, truth.read_page_us),
        ("program", card.program_page_ns, truth.program_page_us),
        ("copy", card.copy_page_ns.unwrap(), truth.copy_page_us),
        ("erase", card.erase_ns, truth.erase_us),
    ];
    for (what, found, us) in times {
        let off = found.value / 1e3 / us - 1.0;
        assert!(off.abs() < 0.1, "{name}: {what} {found:?}, not {us} us");
    }
}

#[test]
fn a_card_with_units_of_4_mib_in_rising_order_is_found() {
    card_is_found("sd-card-4mib");
}

#[test]
fn cards_and_sticks_with_units_of_every_size_are_found() {
    for name in ["usb2-stick-512mb", "usb2-stick-128mb", "cf-kingston-24x", "cf-lexar-233x"] {
        card_is_found(name);
    }
}

/// 256 MiB on four dies with stripes of 32 KiB and blocks of 512 KiB.
fn small(more: &str, slc: &str) -> DeviceFile {
    load(&format!(
        r#"
name = "small"
title = "small"
kind = "ssd"
[presented]
sectors = 524288
physical_block = 4096
queue_depth = 32
max_request_kib = 512
[[bus]]
name = "bus"
command_us = 8
mb_per_s = 500
[ssd]
channels = 2
dies_per_channel = 2
planes = 2
page_kib = 16
pages_per_block = 16
unit_kib = 4
over_provisioning = 0.15
reserve_blocks = 2
read_page_us = 60
program_us = 600
erase_us = 4000
channel_mb_per_s = 800
read_command_us = 10
write_command_us = 12
flush_us = 300
buffer_kib = 1024
drain_delay_us = 10000
suspend_us = 50
{more}
{slc}
[sources]
presented = "test"
bus = "test"
ssd = "test"
"#
    ))
    .unwrap()
}

const SLC: &str = "[ssd.slc]\nmib = 48\nprogram_us = 200\nidle_ms = 500\nfold_mb_per_s = 1";

fn solid(findings: &FlashFindings) -> &Solid {
    match &findings.kind {
        FlashKind::Solid(solid) => solid,
        FlashKind::Card(card) => panic!("{card:?}"),
    }
}

#[test]
fn a_solid_state_disk_is_found_with_its_dies_faster_cells_cliff_and_erase_block() {
    let file = small("power_loss_protection = false", SLC);
    let (mut target, tape, findings) = probed(&file, 2 * GIB);
    let found = solid(&findings);
    assert_eq!(found.stripe_sectors.unwrap().value, 64.0);
    assert_eq!(found.page_sectors.unwrap().value, 32.0);
    assert_eq!(found.dies, Some([4, 4]));
    let erases = found.erases.as_ref().unwrap();
    assert_eq!(erases.superblock_bytes.value, f64::from(4 * 16 * 32 * 1024), "{erases:?}");
    assert!((erases.erase_ns.value / 4e6 - 1.0).abs() < 0.1, "{erases:?}");
    let faster = found.faster.as_ref().unwrap();
    let mib = faster.bytes.value / f64::from(1 << 20);
    assert!((mib / 48.0 - 1.0).abs() < 0.1, "{faster:?}");
    rates_are_found(faster);
    println!("{findings:?}");
    load(&flash_file(label(), &findings, None)).unwrap();
    let accuracy = judge_flash(&mut target, &tape, &findings, 99).unwrap();
    println!("{}", flash_summary(&findings, &accuracy));
    let text = flash_file(label(), &findings, Some(&accuracy));
    let mine = load(&text).unwrap();
    let kept: Vec<bool> = mine.withheld().iter().map(Withheld::is_believed).collect();
    let found_so: Vec<bool> = accuracy.classes.iter().map(ClassAccuracy::is_believed).collect();
    assert_eq!(kept, found_so);
    let Parameters::Ssd(parameters) = mine.parameters() else { panic!("{text}") };
    assert_eq!((parameters.pages_per_block, parameters.planes, parameters.page_kib), (16, 2, 16));
    let buffer = found.buffer_bytes.unwrap().value / f64::from(1 << 20);
    assert!((buffer - 1.0).abs() < 0.1, "{buffer} MiB");
    // Which writes meet an erase is chance; how many do is not.
    for class in &accuracy.classes {
        let off = class.model_ns / class.device_ns - 1.0;
        assert!(off.abs() < 0.15, "{class:?}");
        assert!(class.is_believed() || !class.name.contains("read"), "{class:?}");
    }
    steady_state_is_found(found, &mine);
}

/// Rates of a window of 1 MiB with a flush behind it. Each of its two requests comes over the bus at 500 MB/s, and then
/// goes onto each of four dies in four stripes of 32 KiB: over the channel at 800 MB/s, and a program of 200 or 600 us.
fn rates_are_found(faster: &Faster) {
    let (half, stripe) = (f64::from(512 << 10), f64::from(32 << 10));
    for (found, program_us) in [(faster.before_mb_per_s, 200.0), (faster.after_mb_per_s, 600.0)] {
        let (bus_us, cells_us) = (half / 500.0, 4.0 * (stripe / 800.0 + program_us));
        let took_us = (bus_us + cells_us).max(2.0 * bus_us) + cells_us + 300.0;
        let expected = 2.0 * half / took_us;
        println!("{found:?}, expected {expected:.1} MB/s");
        assert!((found.value / expected - 1.0).abs() < 0.05, "{found:?}, not {expected} MB/s");
        assert!(found.low <= found.value && found.value <= found.high, "{found:?}");
    }
}

/// The steady state of the found file is that of the device.
fn steady_state_is_found(found: &Solid, mine: &DeviceFile) {
    let cliff = found.cliff.as_ref().unwrap();
    assert!(cliff.is_steady, "{cliff:?}");
    let mut model = Simulated::new(build(mine, 3));
    let again = probe_flash(&mut model, &mut Tape::new(4), 5, 2 * GIB, &mut |_| {}).unwrap();
    let modelled = solid(&again).cliff.as_ref().unwrap();
    let off = modelled.steady_per_second.value / cliff.steady_per_second.value - 1.0;
    println!("steady state off by {:.1} %", off * 100.0);
    assert!(off.abs() < 0.1, "{cliff:?}, {modelled:?}");
}

#[test]
fn what_needs_more_bytes_than_may_be_written_is_not_probed() {
    let file = small("power_loss_protection = true", "");
    let (_, _, findings) = probed(&file, GIB / 4);
    let found = solid(&findings);
    assert_eq!((&found.cliff, &found.erases, &found.faster), (&None, &None, &None));
    assert!(found.flushes_at_once() && !found.is_volatile);
    assert!(found.written_bytes <= GIB / 4 + (1 << 20), "{}", found.written_bytes);
    load(&flash_file(label(), &findings, None)).unwrap();
}

/// A controller whose flush takes 5 ms hides a program of 0.15 ms. Taken for capacitors, its file would
/// send no flushes at all.
#[test]
fn a_slow_flush_is_not_taken_for_capacitors() {
    let text = include_str!("../../../../devices/ssd-sata-250gb.toml");
    let text = text.replace("\nflush_us = 3200", "\nflush_us = 5000");
    let text = text.replace("\nprogram_us = 200", "\nprogram_us = 150");
    assert!(text.contains("flush_us = 5000") && text.contains("program_us = 150"));
    let (mut target, tape, findings) = probed(&load(&text).unwrap(), GIB / 4);
    let found = solid(&findings);
    assert!(found.flushes_at_once() && found.is_volatile, "{found:?}");
    let accuracy = judge_flash(&mut target, &tape, &findings, 99).unwrap();
    let mine = load(&flash_file(label(), &findings, Some(&accuracy))).unwrap();
    let Parameters::Ssd(parameters) = mine.parameters() else { panic!("{}", mine.name()) };
    assert!(!parameters.power_loss_protection && !parameters.flush_waits);
    assert!(build(&mine, 7).geometry().write_cache);
    let synced = accuracy.classes.iter().find(|class| class.name == FLUSHED.name).unwrap();
    assert!((synced.model_ns / synced.device_ns - 1.0).abs() < 0.1, "{synced:?}");
}

#[test]
fn a_flash_device_too_small_is_refused() {
    let file = catalogue().unwrap().remove("usb2-stick-128mb").unwrap();
    let file = file.with("presented.sectors", 2048.0).unwrap();
    let mut target = Simulated::new(build(&file, 7));
    let refused = probe_flash(&mut target, &mut Tape::new(21), 11, GIB, &mut |_| {}).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the device has 2048 sectors; probing needs at least 65536; name the whole disk, not a small partition"
    );
}

/// Probes the small disk through the noise of a host.
fn noisy(more: &str) -> FlashFindings {
    let mut target = Noisy::new(Simulated::new(build(&small(more, ""), 7)));
    probe_flash(&mut target, &mut Tape::new(21), 11, 2 * GIB, &mut |_| {}).unwrap()
}

#[test]
fn a_solid_state_disk_is_found_through_the_noise_of_a_host() {
    let findings = noisy("power_loss_protection = false");
    let found = solid(&findings);
    assert_eq!(found.stripe_sectors.unwrap().value, 64.0);
    assert_eq!(found.page_sectors.unwrap().value, 32.0);
    assert_eq!(found.dies, Some([4, 4]));
    let superblock = found.erases.as_ref().unwrap().superblock_bytes;
    assert_eq!(superblock.value, f64::from(4 * 16 * 32 * 1024), "{superblock:?}");
    let buffer = found.buffer_bytes.unwrap().value / f64::from(1 << 20);
    assert!((buffer - 1.0).abs() < 0.1, "{buffer} MiB");
    let program_us = found.program_ns().unwrap().value / 1e3;
    let program_us = program_us - found.stripe_over_channel_ns().value / 1e3;
    assert!((program_us / 600.0 - 1.0).abs() < 0.05, "{program_us} us");
}

#[test]
fn an_erase_block_that_noise_hides_is_a_range() {
    let findings = noisy("power_loss_protection = true");
    let found = solid(&findings);
    assert_eq!((found.dies, found.stripe_sectors.unwrap().value), (Some([4, 4]), 64.0));
    let mine = load(&flash_file(label(), &findings, None)).unwrap();
    let Parameters::Ssd(parameters) = mine.parameters() else { panic!("{}", mine.name()) };
    let exact = [f64::from(parameters.pages_per_block); 2];
    let [low, high] = mine.ranges().get("ssd.pages_per_block").copied().unwrap_or(exact);
    println!("{low} to {high} pages, {:?}", found.erases);
    assert!((low..=high).contains(&16.0), "{low} to {high} pages, {:?}", found.erases);
    // Half as many to four times as many, where no erase was seen at all.
    assert!(high <= 8.0 * low, "{low} to {high} pages, {:?}", found.erases);
}

#[test]
fn a_probed_file_knows_discards_as_its_device_does() {
    let file = catalogue().unwrap().remove("ssd-sata-250gb").unwrap();
    let (_, _, findings) = probed(&file, GIB);
    let mine = load(&flash_file(label(), &findings, None)).unwrap();
    assert_eq!(mine.presented().max_discard_kib, file.presented().max_discard_kib);
    assert_eq!(mine.presented().max_write_zeroes_kib, file.presented().max_write_zeroes_kib);
}

/// Where all windows of the writes in a row are sealed, their rate is not known, and the file was refused after minutes.
#[test]
fn every_seed_makes_a_file_from_few_writes() {
    let text = include_str!("../../../../devices/ssd-sata-250gb.toml");
    let slow = text.replace("\nflush_us = 3200", "\nflush_us = 5000");
    let slow = load(&slow.replace("\nprogram_us = 200", "\nprogram_us = 150")).unwrap();
    let mut unseen = 0;
    for seed in 1..8 {
        let mut target = Simulated::new(build(&slow, 7));
        let mut tape = Tape::new(21 + seed);
        let findings = probe_flash(&mut target, &mut tape, seed, GIB / 4, &mut |_| ()).unwrap();
        unseen += u32::from(solid(&findings).row_mb_per_s.value <= 0.0);
        load(&flash_file(label(), &findings, None)).unwrap();
        judge_flash(&mut target, &tape, &findings, 99).unwrap();
    }
    assert!(unseen > 0);
}
