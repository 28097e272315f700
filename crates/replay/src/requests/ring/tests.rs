use super::*;
use crate::engine::Speed;
use crate::requests::fixture::{request, trace_of};
use crate::requests::plan::{RequestChoice, plan_requests};
use seekwell_trace::Request;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::Command;

const BYTES: u64 = 16 << 20;

/// A loop device on an image, until it is dropped.
struct LoopDevice {
    path: PathBuf,
    _image: tempfile::NamedTempFile,
}

impl LoopDevice {
    fn new() -> Option<Self> {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(BYTES).unwrap();
        let losetup = seekwell_testing::tool("losetup")?;
        let told = Command::new(losetup).args(["--find", "--show"]).arg(image.path()).output();
        let told = told.ok().filter(|told| told.status.success())?;
        let path = String::from_utf8(told.stdout).unwrap().trim().into();
        Some(Self { path, _image: image })
    }

    /// Discards that the device was asked for, also when it was that of another image.
    fn discards(&self) -> u64 {
        let name = self.path.file_name().unwrap().to_str().unwrap();
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        stat.split_whitespace().nth(11).unwrap().parse().unwrap()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let losetup = seekwell_testing::tool("losetup").unwrap();
        assert!(Command::new(losetup).arg("--detach").arg(&self.path).status().unwrap().success());
    }
}

fn replayed(path: &Path) -> RequestsReplayed {
    let one = |sector, operation| Request { sector, operation, ..request(0, Some(10)) };
    let all = [
        one(0, Operation::Write),
        Request { start_ns: 100, bytes: 1 << 20, ..one(2048, Operation::Discard) },
        Request { start_ns: 200, ..one(0, Operation::Discard) },
    ];
    let (_folder, trace) = trace_of(&all);
    let plan = plan_requests(&trace, &RequestChoice::default()).unwrap();
    let (reach, longest) = (plan.recorded().reach_bytes, plan.recorded().longest_bytes);
    let place = Place::new(reach, longest, BYTES, 512, false).unwrap();
    let device = File::options().read(true).write(true).open(path).unwrap();
    device.write_all_at(&[7; 4 << 20], 0).unwrap();
    device.sync_all().unwrap();
    drop(device);
    let direct = libc::O_DIRECT;
    let device = File::options().read(true).write(true).custom_flags(direct).open(path).unwrap();
    let options = Options { speed: Speed::AsFastAsPossible, ..Options::default() };
    let replayed = replay_requests(&plan, &place, &device, path, &options).unwrap();
    assert_eq!((replayed.issued, replayed.failed()), (3, 0));
    let read = std::fs::read(path).unwrap();
    let zeros = |from: usize, bytes: usize| read[from..from + bytes].iter().all(|byte| *byte == 0);
    assert!(zeros(0, 4096) && zeros(1 << 20, 1 << 20) && !zeros(4096, 512));
    replayed
}

#[test]
fn discards_of_a_block_device_are_discards() {
    let test = "discards_of_a_block_device";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to attach a loop device");
    }
    let Some(device) = LoopDevice::new() else {
        return seekwell_testing::skip(test, "no loop device");
    };
    let before = device.discards();
    let replayed = replayed(&device.path);
    if replayed.zeroed > 0 {
        assert_eq!((replayed.zeroed, device.discards()), (2, before));
        return seekwell_testing::skip(test, "this kernel discards through no io_uring");
    }
    assert_eq!(device.discards(), before + 2);
}

#[test]
fn discards_of_a_file_are_holes_and_counted() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(BYTES).unwrap();
    assert_eq!(replayed(file.path()).zeroed, 2);
}
