//! Rates that every disk of the catalogue must have, whatever its numbers: streams in and out, random writes.

use seekwell_device::file::Parameters;
use seekwell_device::{Completion, DeviceFile, Lba, Model, Operation, Request, build};

use crate::files::all;

fn disks() -> Vec<DeviceFile> {
    let is_disk = |file: &DeviceFile| matches!(file.parameters(), Parameters::Rotating(_));
    let disks: Vec<DeviceFile> = all().into_iter().filter(is_disk).collect();
    assert!(disks.len() >= 7, "{}", disks.len());
    disks
}

/// Keeps `depth` requests outstanding until `count` are done; `place` gives the address of each. When each was done.
fn run(
    model: &mut dyn Model,
    (operation, sectors): (Operation, u32),
    (depth, count): (u64, u64),
    mut place: impl FnMut(u64) -> u64,
) -> Vec<u64> {
    let (mut now_ns, mut sent) = (0, 0);
    let mut times = Vec::new();
    let mut done: Vec<Completion> = Vec::new();
    while (times.len() as u64) < count {
        while sent < count && sent - (times.len() as u64) < depth {
            let lba = Lba(place(sent));
            sent += 1;
            let request = Request { id: sent, operation, lba, sectors, fua: false };
            model.submit(now_ns, request).unwrap();
        }
        now_ns = model.next_event_ns().unwrap();
        model.advance(now_ns, &mut done);
        times.extend(done.drain(..).map(|completion| completion.at_ns));
    }
    times
}

/// Bytes a second of the second half of 192 MiB in a row.
fn stream(file: &DeviceFile, operation: Operation, from: u64) -> f64 {
    let mut model = build(file, 1);
    let geometry = model.geometry();
    // Without a write cache only a queue keeps the head busy.
    let depth = if geometry.write_cache { 1 } else { u64::from(geometry.queue_depth.min(8)) };
    let sectors = (geometry.max_request_bytes / 512).min(256);
    let count = (192 << 20) / 512 / u64::from(sectors);
    let lba = from / 8 * 8;
    let place = |index| lba + index * u64::from(sectors);
    let times = run(&mut *model, (operation, sectors), (depth, count), place);
    let half = times.len() / 2;
    let counted = (times.len() - half) as u64 * u64::from(sectors) * 512;
    counted as f64 / ((times[times.len() - 1] - times[half - 1]) as f64 / 1e9)
}

#[test]
fn every_disk_writes_in_a_row_as_fast_as_it_reads() {
    let mut wrong = Vec::new();
    for file in disks() {
        let sectors = build(&file, 1).geometry().sectors_512;
        for from in [0, sectors / 2, sectors - (256 << 20) / 512] {
            let read = stream(&file, Operation::Read, from);
            let written = stream(&file, Operation::Write, from);
            let ratio = written / read;
            if !(0.97..=1.03).contains(&ratio) {
                wrong.push(format!(
                    "{} at {from}: {written:.0} / {read:.0} = {ratio:.3}",
                    file.name()
                ));
            }
        }
    }
    assert_eq!(wrong, [] as [String; 0]);
}

/// Random 4 KiB writes a second, by successive thousands.
fn random_writes(file: &DeviceFile, depth: u64) -> Vec<f64> {
    let mut model = build(file, 1);
    let places = model.geometry().sectors_512 / 8;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let place = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((u128::from(state) * u128::from(places)) >> 64) as u64 * 8
    };
    let times = run(&mut *model, (Operation::Write, 8), (depth, 9000), place);
    let thousands: Vec<u64> = times.chunks(1000).map(|chunk| chunk[chunk.len() - 1]).collect();
    thousands.windows(2).map(|pair| 1000.0 / ((pair[1] - pair[0]) as f64 / 1e9)).collect()
}

#[test]
fn random_writes_through_a_cache_know_no_cliff_but_its_size() {
    // A shingled disk writes them to its log, in a row.
    let is_plain = |file: &&DeviceFile| match file.parameters() {
        Parameters::Rotating(parameters) => parameters.shingled.is_none(),
        _ => true,
    };
    let disks = disks();
    let cached = disks.iter().filter(|file| build(file, 1).geometry().write_cache);
    let plain: Vec<&DeviceFile> = cached.filter(is_plain).collect();
    let wanted = seekwell_testing::cases(plain.len().div_ceil(3), plain.len());
    for at in seekwell_testing::sample(plain.len(), wanted, seekwell_testing::seed()) {
        let file = plain[at];
        let deepest = u64::from(file.queue_depth()).min(32);
        // The largest buffer holds some 4,000 of them; the last four thousand meet a full one.
        let rates = [1, 4, 32].map(|depth| random_writes(file, depth.min(deepest)));
        let steady = rates.each_ref().map(|rates| rates[4..].iter().sum::<f64>() / 4.0);
        for (rates, mean) in rates.iter().zip(steady) {
            let name = file.name();
            assert!(
                rates[4..].iter().all(|rate| (rate / mean - 1.0).abs() < 0.1),
                "{name}: {rates:?}"
            );
            assert!((mean / steady[0] - 1.0).abs() < 0.03, "{name}: {steady:?} by depth");
            // A seek and half a turn each would be some 80; sorting eight, at most three times as many.
            assert!((60.0..280.0).contains(&mean), "{name}: {steady:?}");
        }
    }
}
