//! The probe's reads of a real block device.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use rustix::fs::{Mode, OFlags, open};
use seekwell_device::model::Geometry;
use seekwell_device::{build, load};
use seekwell_host::claim::{confirm, describe};
use seekwell_host::guard::Context;
use seekwell_host::loop_device::attach;
use seekwell_host::refusal::RefusalKind;
use seekwell_model::units::Bytes;
use seekwell_probe::{
    Direction, FlashKind, Label, News, ProbeError, ReadFailed, Span, Tape, Target, Timed,
    WriteFailed, WriteTarget, flash_file, judge_flash, probe, probe_flash,
};
use seekwell_session::{ProbedDevice, ProbedError, ProbedWrites, System};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const SIZE: u64 = 300 << 20;

#[test]
fn a_block_device_is_read_at_depth_and_found_not_to_rotate() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("probed", "needs root to attach a loop device");
    }
    let system = System::host();
    let image = tempfile::tempfile().unwrap();
    image.set_len(SIZE).unwrap();
    let attached = match attach(&system, &image, Bytes(512), None) {
        Ok(attached) => attached,
        Err(error) => return seekwell_testing::skip("probed", &error.to_string()),
    };
    let mut device = ProbedDevice::open(&system, attached.path()).unwrap();
    let geometry = device.geometry();
    assert_eq!((geometry.sectors_512, geometry.logical_block), (SIZE / 512, 512));

    let spans: Vec<Span> = (0..100).map(|nth| Span { lba: nth * 4096, sectors: 8 }).collect();
    for depth in [1, 4] {
        let before_ns = device.now_ns();
        let times = device.read_all(&spans, depth).unwrap();
        let after_ns = device.now_ns();
        assert_eq!(times.len(), spans.len());
        for time in &times {
            assert!(before_ns <= time.start_ns && time.start_ns < time.end_ns, "{time:?}");
            assert!(time.end_ns <= after_ns, "{time:?}");
        }
    }
    assert_eq!(device.disturbance(), None);
    let mut other = std::fs::File::open(attached.path()).unwrap();
    other.read_exact(&mut [0; 512]).unwrap();
    let disturbance = device.disturbance().unwrap();
    assert!(disturbance.starts_with("other programs read "), "{disturbance}");
    assert!(disturbance.contains("wrote 0 KiB"), "{disturbance}");

    let at_ns = device.now_ns() + 2_000_000;
    device.wait_until(at_ns);
    assert!(device.now_ns() >= at_ns);

    let beyond = device.read_all(&[Span { lba: SIZE / 512, sectors: 8 }], 1).unwrap_err();
    assert_eq!(beyond.span.lba, SIZE / 512);
    let probed = probe(&mut device, &mut Tape::new(2), 1, &mut |_| {});
    assert_eq!(probed, Err(ProbeError::NoRotation));
}

/// A loop device over a file, detached when dropped.
struct Attached(PathBuf);

impl Attached {
    fn to(image: &Path) -> Option<Self> {
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output().ok()?;
        let path = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| Self(path.trim().into()))
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

#[test]
fn a_device_is_written_only_when_it_is_claimed_and_by_nobody_else_meanwhile() {
    let test = "a_device_is_written_only_when_it_is_claimed_and_by_nobody_else_meanwhile";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to attach a loop device");
    }
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("disk.img");
    std::fs::File::create(&image).unwrap().set_len(SIZE).unwrap();
    let Some(disk) = Attached::to(&image) else {
        return seekwell_testing::skip(test, "losetup attaches no loop device here");
    };
    let system = System::host();
    let context = Context { claims: directory.path().join("claims"), run_file: None };
    let refused = ProbedWrites::open(&system, &disk.0, &context).unwrap_err();
    let ProbedError::Refused(refusal) = refused else { panic!("{refused}") };
    assert_eq!(refusal.kind, RefusalKind::NotClaimed, "{refusal}");

    let card = describe(&system, &disk.0, None).unwrap();
    confirm(&system, &context.claims, &card, &(SIZE / 512).to_string()).unwrap();
    // Other tests look at all disks of the machine, which a probe notices.
    let is_alone = || {
        let mut device = ProbedWrites::open(&system, &disk.0, &context).unwrap();
        let alone = open(&disk.0, OFlags::RDONLY | OFlags::EXCL, Mode::empty());
        assert_eq!(alone.unwrap_err(), rustix::io::Errno::BUSY);
        write_and_mix(&mut device);
        device.disturbance().is_none()
    };
    assert!(seekwell_testing::soon(is_alone));
    let mut device = ProbedWrites::open(&system, &disk.0, &context).unwrap();
    let beyond = device.write_all(&[Span { lba: SIZE / 512, sectors: 8 }], 1).unwrap_err();
    assert!(
        beyond.to_string().starts_with("cannot write 8 sectors at sector 614400: "),
        "{beyond}"
    );
}

/// Writes and reads of a few spans, one and several at a time.
fn write_and_mix(device: &mut ProbedWrites) {
    let spans: Vec<Span> = (0..20).map(|nth| Span { lba: nth * 4096, sectors: 8 }).collect();
    for depth in [1, 4] {
        let before_ns = device.now_ns();
        let times = device.write_all(&spans, depth).unwrap();
        let flushed = device.flush().unwrap();
        assert_eq!(times.len(), spans.len());
        assert!(times.iter().all(|time| before_ns <= time.start_ns && time.start_ns < time.end_ns));
        assert!(times.iter().all(|time| time.end_ns <= flushed.start_ns), "{flushed:?}");
    }
    let mixed: Vec<(Direction, Span)> = spans
        .iter()
        .enumerate()
        .map(|(nth, span)| (if nth % 3 == 0 { Direction::Write } else { Direction::Read }, *span))
        .collect();
    for depth in [1, 4] {
        let times = device.mix_all(&mixed, depth).unwrap();
        assert_eq!(times.len(), mixed.len());
        assert!(times.iter().all(|time| time.start_ns < time.end_ns), "{times:?}");
    }
}

/// A claimed device in memory, which needs no rest between experiments.
struct Restless(ProbedWrites);

impl Target for Restless {
    fn geometry(&self) -> Geometry {
        self.0.geometry()
    }

    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    fn wait_until(&mut self, _: u64) {}

    fn read_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, ReadFailed> {
        self.0.read_all(requests, depth)
    }
}

impl WriteTarget for Restless {
    fn write_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, WriteFailed> {
        self.0.write_all(requests, depth)
    }

    fn mix_all(
        &mut self,
        requests: &[(Direction, Span)],
        depth: u32,
    ) -> Result<Vec<Timed>, ProbeError> {
        self.0.mix_all(requests, depth)
    }

    fn flush(&mut self) -> Result<Timed, WriteFailed> {
        self.0.flush()
    }
}

/// Probes a claimed device with writes, to the file made of it.
fn becomes_a_file(path: &Path, claims: &Path, sectors: u64) {
    let system = System::host();
    let context = Context { claims: claims.to_owned(), run_file: None };
    let card = describe(&system, path, None).unwrap();
    confirm(&system, &context.claims, &card, &sectors.to_string()).unwrap();
    // A busy machine may disturb every write of a quantity, and other tests look at all disks.
    let (findings, accuracy) = (0..5)
        .find_map(|_| {
            let mut device = Restless(ProbedWrites::open(&system, path, &context).unwrap());
            let (mut tape, mut told) = (Tape::new(2), Vec::new());
            let tell = &mut |news| told.push(news);
            let findings = match probe_flash(&mut device, &mut tape, 1, 96 << 20, tell) {
                Err(ProbeError::Unclear { .. }) => return None,
                found => found.unwrap(),
            };
            // Findings of a disturbed device may be of another kind, or such that no model has them.
            let found = News::Found("kind".into(), "solid-state disk".into());
            if !told.contains(&found) {
                assert!(device.0.disturbance().is_some(), "{told:?}");
                return None;
            }
            let accuracy = match judge_flash(&mut device, &tape, &findings, 3) {
                Err(ProbeError::Unclear { .. }) => return None,
                found => found.unwrap(),
            };
            device.0.disturbance().is_none().then_some((findings, accuracy))
        })
        .expect("five probes were disturbed");
    let FlashKind::Solid(solid) = &findings.kind else { panic!("{findings:?}") };
    assert!((16 << 20..98 << 20).contains(&solid.written_bytes), "{solid:?}");
    assert!(solid.write_ns.low > 0.0 && solid.read_ns.low > 0.0, "{solid:?}");
    assert!(accuracy.withheld > 20 && accuracy.classes.len() >= 4, "{accuracy:?}");
    assert!(accuracy.classes.iter().all(|class| class.device_ns > 0.0), "{accuracy:?}");
    let label = Label { name: "mine", title: "Mine", source: "probe" };
    let file = load(&flash_file(label, &findings, Some(&accuracy))).unwrap();
    assert_eq!(build(&file, 1).geometry().sectors_512, sectors);
    assert_eq!(file.withheld().len(), accuracy.classes.len());
}

#[test]
fn a_claimed_loop_device_is_probed_with_writes() {
    let test = "a_claimed_loop_device_is_probed_with_writes";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to attach a loop device");
    }
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("disk.img");
    std::fs::File::create(&image).unwrap().set_len(SIZE).unwrap();
    let Some(disk) = Attached::to(&image) else {
        return seekwell_testing::skip(test, "losetup attaches no loop device here");
    };
    becomes_a_file(&disk.0, &directory.path().join("claims"), SIZE / 512);
}

/// A compressed disk in memory of its own, removed when dropped.
struct Compressed(String);

impl Compressed {
    /// `None` where the kernel adds none.
    fn of(bytes: u64) -> Option<Self> {
        let number = std::fs::read_to_string("/sys/class/zram-control/hot_add").ok()?;
        let disk = Self(number.trim().to_owned());
        let size = format!("/sys/block/zram{}/disksize", disk.0);
        std::fs::write(size, bytes.to_string()).ok().map(|()| disk)
    }
}

impl Drop for Compressed {
    fn drop(&mut self) {
        let _ = std::fs::write(format!("/sys/block/zram{}/reset", self.0), "1");
        let _ = std::fs::write("/sys/class/zram-control/hot_remove", &self.0);
    }
}

#[test]
fn a_claimed_compressed_disk_in_memory_is_probed_with_writes() {
    let test = "a_claimed_compressed_disk_in_memory_is_probed_with_writes";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to add a zram device");
    }
    let Some(disk) = Compressed::of(SIZE) else {
        return seekwell_testing::skip(test, "the kernel adds no zram device");
    };
    let directory = tempfile::tempdir().unwrap();
    let path = PathBuf::from(format!("/dev/zram{}", disk.0));
    becomes_a_file(&path, &directory.path().join("claims"), SIZE / 512);
    assert_eq!(compressed(&disk.0), None);
}

/// Complaint about a disk in memory that could compress what was written to it.
fn compressed(number: &str) -> Option<String> {
    let text = std::fs::read_to_string(format!("/sys/block/zram{number}/mm_stat")).unwrap();
    let fields: Vec<u64> = text.split_whitespace().map(|field| field.parse().unwrap()).collect();
    let (given, kept) = (fields[0], fields[1]);
    (given == 0 || kept * 20 < given * 19).then_some(text)
}
