//! The probe on a host that adds to every time, as a served device or a real disk does.

use super::nearness::nearness;
use super::*;
use crate::flash::{FlashKind, flash_file, judge_flash, probe_flash};
use crate::{ClassAccuracy, Direction, WriteFailed, WriteTarget};
use seekwell_stats::{Rng, seeded};

/// A model whose requests take time on their way there and back, a few of them much.
pub(crate) struct Noisy {
    device: Simulated,
    random: Rng,
    /// Times the usual mean.
    times: f64,
}

impl Noisy {
    pub(crate) fn new(device: Simulated) -> Self {
        Self::times(device, 1.0)
    }

    /// The mean of what comes on top of the least time is so many times larger.
    fn times(device: Simulated, times: f64) -> Self {
        Self { device, random: seeded(5), times }
    }

    fn unit(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// At least `least_us`, on average so much more, and for one in two hundred up to a millisecond more.
    fn way_ns(&mut self, least_us: f64, mean_us: f64) -> u64 {
        let more_us = -mean_us * self.times * self.unit().ln();
        let much_us = if self.unit() < 0.005 { 1000.0 * self.unit() } else { 0.0 };
        ((least_us + more_us + much_us) * 1e3) as u64
    }
}

impl Noisy {
    /// A request with its way there and back.
    fn noisy<T, E>(
        &mut self,
        request: impl FnOnce(&mut Simulated) -> Result<T, E>,
    ) -> Result<Timed, E> {
        let start_ns = self.now_ns();
        let there_ns = start_ns + self.way_ns(25.0, 5.0);
        self.wait_until(there_ns);
        request(&mut self.device)?;
        let end_ns = self.now_ns() + self.way_ns(25.0, 8.0);
        self.wait_until(end_ns);
        Ok(Timed { start_ns, end_ns })
    }
}

impl Noisy {
    /// Requests at depth, each with its way there and back.
    fn later(&mut self, mut times: Vec<Timed>) -> Vec<Timed> {
        for time in &mut times {
            time.end_ns += self.way_ns(25.0, 5.0) + self.way_ns(25.0, 8.0);
        }
        let last_ns = times.iter().map(|time| time.end_ns).max().unwrap_or(0);
        self.wait_until(last_ns.max(self.now_ns()));
        times
    }
}

impl Target for Noisy {
    fn geometry(&self) -> Geometry {
        self.device.geometry()
    }

    fn now_ns(&self) -> u64 {
        self.device.now_ns()
    }

    fn wait_until(&mut self, at_ns: u64) {
        self.device.wait_until(at_ns);
    }

    fn read_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, ReadFailed> {
        if depth > 1 {
            let times = self.device.read_all(requests, depth)?;
            return Ok(self.later(times));
        }
        let read = |device: &mut Simulated, span| device.read_all(&[span], 1);
        requests.iter().map(|span| self.noisy(|device| read(device, *span))).collect()
    }
}

impl WriteTarget for Noisy {
    fn write_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, WriteFailed> {
        if depth > 1 {
            let times = self.device.write_all(requests, depth)?;
            return Ok(self.later(times));
        }
        let write = |device: &mut Simulated, span| device.write_all(&[span], 1);
        requests.iter().map(|span| self.noisy(|device| write(device, *span))).collect()
    }

    fn mix_all(
        &mut self,
        requests: &[(Direction, Span)],
        depth: u32,
    ) -> Result<Vec<Timed>, ProbeError> {
        let times = self.device.mix_all(requests, depth)?;
        Ok(self.later(times))
    }

    fn flush(&mut self) -> Result<Timed, WriteFailed> {
        self.noisy(Simulated::flush)
    }
}

/// The range has the truth and is no wider than a quarter; up to four it is the truth itself.
fn window_is_found(name: &str, [low, high]: [u32; 2], truth: u32) {
    println!("{name}: {low} to {high} waiting reads are sorted, truly {truth}");
    assert!((low..=high).contains(&truth), "{name}: {low} to {high}, not {truth}");
    assert!(f64::from(high) <= f64::from(low) * 1.25, "{name}: {low} to {high}");
    assert!(truth > 4 || low == high, "{name}: {low} to {high}, not {truth}");
}

/// Waiting reads that a shipped disk sorts, where its file says so many, as found through the noise.
fn window_through_noise(name: &str, truth: u32, seed: u64) -> [u32; 2] {
    let (file, _) = disk(name);
    let file = file.with("rotating.reorder_window", truth.into()).unwrap();
    let mut target = Noisy::new(Simulated::new(seekwell_device::build(&file, seed + 1)));
    let findings = probe(&mut target, &mut Tape::new(21), seed, &mut |_| {}).unwrap();
    findings.window.unwrap()
}

#[test]
fn the_range_of_sorted_reads_has_the_truth_through_the_noise_of_a_host() {
    let pairs = [11, 14, 16].map(|seed| [3, 8, 12].map(|truth| (seed, truth))).concat();
    let wanted = seekwell_testing::cases(3, pairs.len());
    for at in seekwell_testing::sample(pairs.len(), wanted, seekwell_testing::seed()) {
        let (seed, truth) = pairs[at];
        let [low, high] = window_through_noise("sata-500gb-7200", truth, seed);
        println!("seed {seed}: {low} to {high} waiting reads are sorted, truly {truth}");
        assert!((low..=high).contains(&truth), "seed {seed}: {low} to {high}, not {truth}");
        assert!(truth > 4 || low == high, "seed {seed}: {low} to {high}, not {truth}");
        // Chance decides how wide the range is; more than twice would tell nothing.
        assert!(high < 2 * low, "seed {seed}: {low} to {high}");
    }
}

/// Probes a shipped disk through the noise.
fn is_found_in_noise(name: &str) {
    let (file, target) = disk(name);
    let mut target = Noisy::new(target);
    let mut tape = Tape::new(21);
    let findings = probe(&mut target, &mut tape, 11, &mut |_| {}).unwrap();
    let mut spent = vec![target.now_ns()];
    let parameters = rotating(&file);
    let truth = file.mechanics().unwrap();

    let turn = findings.turn_ns.value / truth.layout.turn_ns as f64;
    assert!((turn - 1.0).abs() < 0.002, "{name}: rotation {turn}");
    assert_eq!(findings.tracks.heads, Some(parameters.heads), "{name}: {:?}", findings.tracks);
    let zones = truth.layout.zones();
    let found: Vec<(u64, f64)> =
        findings.zones.iter().map(|z| (z.first_lba, z.sectors_per_track.value)).collect();
    assert_eq!(found.len(), zones.len(), "{name}: {found:?}");
    for ((first_lba, sectors), zone) in found.iter().zip(zones) {
        let off = *first_lba as f64 - zone.first_lba as f64;
        assert!(off.abs() < file.presented().sectors as f64 * 0.05, "{name}: zone off by {off}");
        let off = sectors / f64::from(zone.sectors_per_track) - 1.0;
        assert!(off.abs() < 0.005, "{name}: track of {sectors}, off by {off}");
    }
    let rms_us = seek_rms_us(&file, &findings);
    // The help says so.
    assert!(rms_us < 20.0, "{name}: seek curve {rms_us} us rms");
    let read_ahead = f64::from(parameters.buffer.read_ahead_kib) * 2.0;
    let off = findings.buffer.read_ahead_sectors.value / read_ahead - 1.0;
    assert!(off.abs() < 0.15, "{name}: read-ahead off by {off}");
    let segments = findings.buffer.segments;
    let true_segments = f64::from(parameters.buffer.read_segments);
    assert!(
        segments.low <= true_segments * 1.1 && true_segments <= segments.high * 1.1,
        "{name}: {segments:?} segments, not {true_segments}"
    );
    if let Some(window) = parameters.reorder_window {
        window_is_found(name, findings.window.unwrap(), window);
    }
    let mut findings = findings;
    probe_writes(&mut target, &mut tape, &mut findings, 12, &mut |_| {}).unwrap();
    spent.push(target.now_ns());
    let cache = findings.writes.as_ref().unwrap().cache.as_ref().unwrap();
    let size = cache.sectors.value / f64::from(parameters.buffer.write_kib) / 2.0;
    assert!((size - 1.0).abs() < 0.005, "{name}: write cache off by {size}, {cache:?}");
    let accuracy = judge_writes(&mut target, &tape, &findings, 99).unwrap();
    spent.push(target.now_ns());
    // Noise asks for some tries more.
    takes_minutes_at_most(name, &spent, 10.5);
    accuracy.classes.iter().for_each(|class| println!("{name}: {class:?}"));
    let label = Label { name: "mine", title: "Mine", source: "probe" };
    let mine = load(&device_file(label, &findings, Some(&accuracy))).unwrap();
    let rows = nearness(&file, &mine);
    rows.iter().for_each(|row| println!("{name}: {row:?}"));
    let off = |name: &str| rows.iter().find(|row| row.name == name).unwrap().off.unwrap();
    assert!(off("rotation (rpm)").abs() < 0.2 && off("seek curve, rms") < 0.3, "{rows:?}");
    assert!(off("zones, farthest end") < 5.0 && off("write cache (KiB)").abs() < 15.0, "{rows:?}");
    println!(
        "{name}: cache {size:.4}, seek {rms_us:.1} us rms, window {:?}, {:?}",
        findings.window, findings.buffer
    );
}

#[test]
fn a_disk_is_found_through_the_noise_of_a_host() {
    is_found_in_noise("sata-500gb-7200");
}

#[test]
fn a_disk_that_takes_one_command_is_found_through_the_noise_of_a_host() {
    is_found_in_noise("wd-raptor-wd740gd");
}

#[test]
fn the_erase_unit_of_a_stick_is_found_through_the_noise_of_a_host() {
    let (file, device) = disk("usb2-stick-128mb");
    let mut target = Noisy::new(device);
    let findings = probe_flash(&mut target, &mut Tape::new(21), 11, 1 << 30, &mut |_| {}).unwrap();
    let FlashKind::Card(card) = &findings.kind else { panic!("{findings:?}") };
    let Parameters::Flash(truth) = file.parameters() else { panic!("{}", file.name()) };
    assert_eq!(card.unit_bytes.value, f64::from(truth.unit_kib) * 1024.0, "{card:?}");
    assert_eq!(card.open_units, [truth.open_units; 2], "{card:?}");
}

/// Noise that is as long as a read of the cells hides dies, and must not show others.
#[test]
fn noise_of_a_host_shows_no_dies_that_are_not_there() {
    let mut told = 0;
    for (name, dies) in [("ssd-sata-250gb", 16), ("ssd-nvme-512gb", 64)] {
        let file = catalogue().unwrap().remove(name).unwrap();
        for (seed, times) in [(11, 1.0), (12, 10.0), (13, 30.0)] {
            let mut target = Noisy::times(Simulated::new(seekwell_device::build(&file, 7)), times);
            let mut tape = Tape::new(21);
            let findings = probe_flash(&mut target, &mut tape, seed, 1 << 30, &mut |_| ()).unwrap();
            let FlashKind::Solid(found) = &findings.kind else { panic!("{name}: {findings:?}") };
            assert!(found.dies.is_none_or(|found| found == [dies, dies]), "{name}: {found:?}");
            let label = Label { name: "mine", title: "Mine", source: "probe" };
            let mine = load(&flash_file(label, &findings, None)).unwrap();
            assert_eq!(mine.ranges().contains_key("ssd.channels"), found.dies.is_none());
            for (key, ends) in mine.ranges() {
                for end in ends {
                    assert!(mine.with(key, *end).is_ok(), "{key}: {:?}", mine.with(key, *end));
                }
            }
            told += u32::from(found.dies.is_some());
            let accuracy = judge_flash(&mut target, &tape, &findings, 99).unwrap();
            let is_deep = |class: &&ClassAccuracy| class.name == "random reads" && class.depth > 1;
            let deep = accuracy.classes.iter().find(is_deep).unwrap();
            // Noise on the way adds to times at depth and not to their rate, as on no real host.
            let most = if times > 1.0 { 0.5 } else { 0.25 };
            assert!((deep.model_ns / deep.device_ns - 1.0).abs() < most, "{name}: {deep:?}");
        }
    }
    // With and without dies.
    assert!((1..6).contains(&told), "{told}");
}
