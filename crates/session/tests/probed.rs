//! The probe's reads of a real block device.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use rustix::fs::{Mode, OFlags, open};
use seekwell_device::probe::{Direction, ProbeError, Span, Tape, Target, WriteTarget, probe};
use seekwell_host::claim::{confirm, describe};
use seekwell_host::guard::Context;
use seekwell_host::loop_device::attach;
use seekwell_host::refusal::RefusalKind;
use seekwell_model::units::Bytes;
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
    let mut device = ProbedWrites::open(&system, &disk.0, &context).unwrap();
    let alone = open(&disk.0, OFlags::RDONLY | OFlags::EXCL, Mode::empty());
    assert_eq!(alone.unwrap_err(), rustix::io::Errno::BUSY);
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
    assert_eq!(device.disturbance(), None);
    let beyond = device.write_all(&[Span { lba: SIZE / 512, sectors: 8 }], 1).unwrap_err();
    assert!(
        beyond.to_string().starts_with("cannot write 8 sectors at sector 614400: "),
        "{beyond}"
    );
}
