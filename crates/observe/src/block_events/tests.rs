use super::tracefs::lost_in_stats;
use super::*;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::process::Command;

#[test]
fn names_of_instances_stay_in_their_folder() {
    assert_eq!(instance_name("2026-11-20T10", 7), "seekwell-2026-11-20T10-7");
    assert_eq!(instance_name("../../x y", 0), "seekwell-______x_y-0");
    for name in ["", "other", "seekwell-", "seekwell-a/b", "seekwell-\0"] {
        let refused = remove_instance(name);
        let ours =
            matches!(refused, Err(ObserveError::InstanceName(..) | ObserveError::NoTracefs { .. }));
        assert!(ours, "{name:?}: {refused:?}");
    }
}

#[test]
fn lost_events_are_what_the_kernel_could_not_keep() {
    let stats = "entries: 5\noverrun: 3\ncommit overrun: 2\nbytes: 999\ndropped events: 40\nread events: 7\n";
    assert_eq!(lost_in_stats(stats), 45);
    assert_eq!(lost_in_stats(""), 0);
}

#[test]
fn device_numbers_come_from_sysfs() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("sys/class/block/loop3");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("dev"), "7:3\n").unwrap();
    let number = DeviceNumber::read(root.path(), "loop3").unwrap();
    assert_eq!(number, DeviceNumber { major: 7, minor: 3 });
    assert_eq!(number.kernel_value(), (7 << 20) + 3);
    std::fs::write(folder.join("dev"), "seven\n").unwrap();
    assert!(matches!(
        DeviceNumber::read(root.path(), "loop3"),
        Err(ObserveError::Malformed { .. })
    ));
}

/// A loop device on a temporary image, detached at the end whatever happens.
struct Loop {
    path: PathBuf,
    _image: tempfile::NamedTempFile,
}

impl Loop {
    fn attach() -> Option<Self> {
        let image = tempfile::NamedTempFile::new().ok()?;
        image.as_file().set_len(16 << 20).ok()?;
        let output = Command::new(seekwell_testing::tool("losetup")?)
            .args(["--find", "--show"])
            .arg(image.path())
            .output()
            .ok()?;
        let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        output.status.success().then(|| Self { path: path.into(), _image: image })
    }

    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}

#[repr(align(4096))]
struct Aligned([u8; 8192]);

/// Reads 8 KiB past the cache at each offset.
fn read_direct(path: &Path, offsets: impl Iterator<Item = u64>) {
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let device = std::fs::OpenOptions::new().read(true).custom_flags(direct).open(path).unwrap();
    let mut buffer = Aligned([0; 8192]);
    for offset in offsets {
        device.read_exact_at(&mut buffer.0, offset).unwrap();
    }
}

fn options(test: &str, device: &Loop) -> BlockEventOptions {
    let number = DeviceNumber::read(Path::new("/"), device.name()).unwrap();
    let instance = instance_name(&format!("{test}-{}", std::process::id()), 0);
    BlockEventOptions::new(instance, number, monotonic_ns())
}

/// A loop device and a working tracefs, or the reason why not.
fn prepared(test: &str) -> Option<Loop> {
    let skip = |reason: &str| {
        seekwell_testing::skip(test, reason);
        None
    };
    if !seekwell_testing::root() {
        return skip("needs root for tracefs and a loop device");
    }
    if let Err(error) = Tracefs::open() {
        return skip(&error.to_string());
    }
    Loop::attach().or_else(|| skip("no loop device can be attached"))
}

#[test]
fn every_direct_read_is_issued_and_completed_in_the_stream() {
    let Some(device) = prepared("every_direct_read_is_issued_and_completed_in_the_stream") else {
        return;
    };
    let options = options("reads", &device);
    let stream = BlockEventStream::start(&options).unwrap();
    let offsets = [5_u64 << 20, 0, 1 << 20];
    read_direct(&device.path, offsets.into_iter());
    let stream = stream.stop().unwrap();

    assert_eq!(stream.lost, 0);
    let expected: Vec<_> = offsets.iter().map(|offset| (offset / 512, 16, 'R')).collect();
    // Opening a device lets udev look at it too. The kernel's numbers of threads are those of the
    // outermost PID namespace, so ours is known by a place where nobody else reads.
    let own = stream.events.iter().find(|event| !event.complete && event.sector == expected[0].0);
    let own = own.map(|event| event.pid);
    let reads = |complete: bool| -> Vec<(u64, u32, char)> {
        let wanted = |event: &&BlockEvent| {
            event.complete == complete && (complete || Some(event.pid) == own)
        };
        stream.events.iter().filter(wanted).map(|e| (e.sector, e.sectors, e.operation)).collect()
    };
    assert_eq!(reads(false), expected);
    assert!(expected.iter().all(|read| reads(true).contains(read)), "{:?}", stream.events);
    let times: Vec<u64> = stream.events.iter().map(|event| event.at_ns).collect();
    assert!(times.is_sorted() && times[0] > 0, "{times:?}");
    assert!(!remove_instance(&options.instance).unwrap(), "the instance was left behind");
}

#[test]
fn what_a_killed_process_left_in_the_kernel_is_removed_and_what_is_read_stays() {
    let test = "what_a_killed_process_left_in_the_kernel_is_removed_and_what_is_read_stays";
    let Some(device) = prepared(test) else { return };
    let read = options("read", &device);
    let stream = BlockEventStream::start(&read).unwrap();
    let left = options("left", &device).instance;
    std::mem::forget(Instance::create(Tracefs::open().unwrap(), &left).unwrap());
    // Other tests are making instances of their own just now.
    let tracefs = Tracefs::open().unwrap();
    for instance in [&left, &read.instance] {
        let removed = Instance::remove_unused(&tracefs, instance).unwrap();
        assert_eq!(removed.contains(instance), *instance == left, "{removed:?}");
    }
    assert!(!remove_instance(&left).unwrap());
    stream.stop().unwrap();
}

#[test]
fn events_beyond_the_limit_are_counted_as_lost() {
    let Some(device) = prepared("events_beyond_the_limit_are_counted_as_lost") else { return };
    let options = BlockEventOptions { limit: 10, ..options("limit", &device) };
    let stream = BlockEventStream::start(&options).unwrap();
    read_direct(&device.path, (0..100).map(|index| index * 8192));
    let stream = stream.stop().unwrap();
    assert_eq!(stream.events.len(), 10);
    assert!(stream.lost >= 190, "{}", stream.lost);
}

#[test]
fn a_dropped_stream_leaves_no_instance_and_an_orphan_can_be_removed() {
    let test = "a_dropped_stream_leaves_no_instance_and_an_orphan_can_be_removed";
    let Some(device) = prepared(test) else { return };
    let options = options("drop", &device);
    drop(BlockEventStream::start(&options).unwrap());
    assert!(!remove_instance(&options.instance).unwrap());

    let orphan = Instance::create(Tracefs::open().unwrap(), &options.instance).unwrap();
    std::mem::forget(orphan);
    let taken = BlockEventStream::start(&options).unwrap_err().to_string();
    assert!(taken.contains("File exists"), "{taken}");
    assert!(remove_instance(&options.instance).unwrap());
    assert!(!remove_instance(&options.instance).unwrap());
}
