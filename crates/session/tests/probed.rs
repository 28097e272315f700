//! The probe's reads of a real block device.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use seekwell_device::probe::{ProbeError, Span, Target, probe};
use seekwell_host::loop_device::attach;
use seekwell_model::units::Bytes;
use seekwell_session::{ProbedDevice, System};
use std::io::Read as _;

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
    assert!(disturbance.contains("made 0 writes"), "{disturbance}");

    let at_ns = device.now_ns() + 2_000_000;
    device.wait_until(at_ns);
    assert!(device.now_ns() >= at_ns);

    let beyond = device.read_all(&[Span { lba: SIZE / 512, sectors: 8 }], 1).unwrap_err();
    assert_eq!(beyond.span.lba, SIZE / 512);
    assert_eq!(probe(&mut device, 1, &mut |_| {}), Err(ProbeError::NoRotation));
}
