//! One trial in this process, on real filesystems of this kernel. Needs root; the test's thread has
//! a mount namespace of its own, so that nothing is mounted on the host.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use seekwell_agent::context::Saying;
use seekwell_agent::trial;
use seekwell_host::image;
use seekwell_host::sysfs::System;
use seekwell_model::FORMAT;
use seekwell_model::agent::{DeviceHandle, QueueDefaults, TrialPart, TrialRequest};
use seekwell_model::field::{Value, Values};
use seekwell_model::lab::{TrialSettings, Workload};
use seekwell_model::record::{DeviceInForce, Record, Status};
use seekwell_model::stack::{
    Backing, Device, DeviceSettings, Filesystem, Journal, Memory, MemoryLimit, Overlay, Scheduler,
    Stack, WriteBack,
};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::workloads::{WorkloadParams, workload_kind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

fn params(kind: &str, values: &[(&'static str, Value)]) -> WorkloadParams {
    let mut checked = Values::default();
    for (name, value) in values {
        checked.set(name, value.clone());
    }
    workload_kind(kind).unwrap().params(&checked).unwrap()
}

fn stack(filesystem: &str, size: Bytes) -> Stack {
    Stack {
        label: filesystem.to_owned(),
        device: Device {
            name: "scratch".into(),
            backing: Backing::Ram { size, sector: Bytes(512) },
            base: "scratch".into(),
            settings: DeviceSettings::default(),
            price: None,
        },
        layers: Default::default(),
        journal: Journal::internal(),
        filesystem: Filesystem {
            name: filesystem.into(),
            kind: filesystem.into(),
            mkfs: vec![],
            mount: vec![],
            discard: false,
            overlay: None,
            nfs: None,
            export: None,
        },
        scheduler: Scheduler::plain("mq-deadline"),
        memory: Memory::plain("all", MemoryLimit::Unlimited),
    }
}

/// Runs a trial in a thread with its own mount namespace; the steps that were said, and the record.
fn run(filesystem: &str, size: Bytes, workload: Workload) -> (Vec<String>, Record) {
    run_changed(filesystem, size, workload, |_| {})
}

/// As [`run`], with a request that was changed.
fn run_changed(
    filesystem: &str,
    size: Bytes,
    workload: Workload,
    change: impl FnOnce(&mut TrialRequest),
) -> (Vec<String>, Record) {
    let stack = stack(filesystem, size);
    let made = image::create_in_ram(&System::host(), size, 1, &mut |_| {}).unwrap();
    let layout = made.layout().clone();
    let image = OwnedFd::from(made.file().try_clone().unwrap());
    let work = tempfile::tempdir().unwrap();
    let mut request = TrialRequest {
        format: FORMAT.to_string(),
        run: format!("test-{}", std::process::id()),
        trial: 0,
        seed: 7,
        part: TrialPart::Whole,
        stack,
        workload,
        settings: TrialSettings {
            cpus: None,
            block_events: false,
            single_ios: false,
            sample_interval: Nanos(10_000_000),
            timeout: Nanos::seconds(60),
            fsck: true,
            freeze: false,
            make_once: false,
            power_cut: 0,
        },
        defaults: QueueDefaults::default(),
        device: DeviceHandle::Image { fd: image.as_raw_fd(), sector: Bytes(512), layout },
        members: vec![],
        fast: vec![],
        journal: None,
        ram: None,
        undo: None,
        work: work.path().to_owned(),
        hidden: None,
        surveys: 0,
        record_data: false,
        record: false,
        on_tick: false,
    };
    change(&mut request);
    let trial = std::thread::spawn(move || {
        // SAFETY: only this thread's mount namespace and working directory become its own.
        assert_eq!(unsafe { libc::unshare(libc::CLONE_NEWNS) }, 0);
        let private = rustix::mount::MountPropagationFlags::PRIVATE
            | rustix::mount::MountPropagationFlags::REC;
        rustix::mount::mount_change("/", private).unwrap();
        let mut said = vec![];
        let record = trial::run(&request, &mut |saying| {
            if let Saying::Step(name) = saying {
                said.push(name.to_owned());
            }
        });
        (said, record)
    });
    let done = trial.join().unwrap();
    assert!(is_freed(&image), "a loop device is left: {:?}", done.1.status);
    done
}

fn can_run(test: &str, tool: &str) -> bool {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root for a loop device and mounts");
        return false;
    }
    if seekwell_testing::tool(tool).is_none() {
        seekwell_testing::skip(test, &format!("{tool} is not installed"));
        return false;
    }
    true
}

fn mail_and_seek() -> Workload {
    let mail = params(
        "mail",
        &[
            ("files", Value::Integer(60)),
            (
                "steps",
                Value::List(["read_archive", "read_directory", "remove"].map(str::to_owned).into()),
            ),
        ],
    );
    let seek = params(
        "seek",
        &[("count", Value::Integer(300)), ("file_size", Value::Size(Bytes::mib(4)))],
    );
    Workload { name: "both".into(), parts: vec![mail, seek], beside: vec![] }
}

#[test]
fn every_filesystem_of_this_kernel_goes_through_a_whole_trial() {
    for (filesystem, size) in [
        ("ext2", 64),
        ("ext3", 256),
        ("ext4", 256),
        ("ext4-nojournal", 64),
        ("xfs", 400),
        ("btrfs", 256),
    ] {
        let definition = seekwell_model::filesystems::filesystem(filesystem).unwrap();
        let test =
            format!("every_filesystem_of_this_kernel_goes_through_a_whole_trial ({filesystem})");
        if !can_run(&test, definition.mkfs[0]) {
            continue;
        }
        let (said, record) = run(filesystem, Bytes::mib(size), mail_and_seek());
        assert_eq!(record.status, Status::Ok, "{filesystem}: {record:#?}");
        let steps: Vec<&str> = record.steps.iter().map(|step| step.name.as_str()).collect();
        let expected = vec![
            "mkfs", "mount", "unpack", "read_archive", "read_directory", "remove", "seek-populate",
            "seek", "umount", "fsck",
        ];
        assert_eq!(steps, expected, "{filesystem}");
        assert_eq!(said[1..], steps, "{filesystem}");
        for metric in [
            "unpack.elapsed_durable", "read_archive.elapsed", "seek.iops", "mkfs.elapsed",
            "fsck.elapsed",
        ] {
            assert!(
                record.metric(metric).is_some_and(|value| value > 0.0),
                "{filesystem}: {metric}"
            );
        }
        assert!(record.metric("unpack.elapsed_durable") >= record.metric("unpack.elapsed"));
        assert_eq!(record.in_force.device.queue.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(record.in_force.block_bytes, Some(4096), "{filesystem}");
        let read = record.metric("read_archive.read_per_byte").unwrap();
        assert!(
            read > 0.9,
            "{filesystem}: a cold read must come from the device, {read} of its bytes did"
        );
        assert!(!record.timeline.is_empty());
    }
}

#[test]
fn files_in_memory_never_reach_the_device_and_are_as_many_as_fit_into_half_the_memory() {
    let test = "files_in_memory_never_reach_the_device";
    if !can_run(test, "mount") {
        return;
    }
    let unused = DeviceHandle::Unused { size: Some(Bytes::mib(64)) };
    let in_memory = |request: &mut TrialRequest| {
        request.device = unused.clone();
    };
    let (said, record) = run_changed("tmpfs", Bytes::mib(64), mail_and_seek(), in_memory);
    assert_eq!(record.status, Status::Ok, "{record:#?}");
    assert!(!said.contains(&"fsck".to_owned()), "{said:?}");
    assert_eq!(record.in_force.mkfs, [""; 0]);
    // No device was attached: there is nothing to count.
    assert!(record.steps.iter().all(|step| step.device.is_none()), "{record:#?}");
    assert_eq!(record.metric("read_archive.device_read_bytes"), None);
    assert_eq!(record.in_force.device, DeviceInForce::default());
    let option = |record: &Record| {
        let options = record.in_force.mount.clone().unwrap();
        options.split(',').find(|option| option.starts_with("size=")).unwrap().to_owned()
    };
    assert_eq!(option(&record), "size=65536k");
    let little = |request: &mut TrialRequest| {
        in_memory(request);
        request.ram = Some(Bytes::mib(40));
    };
    let (_, record) = run_changed("tmpfs", Bytes::mib(64), mail_and_seek(), little);
    assert_eq!(option(&record), "size=20480k");
}

#[test]
fn a_layer_on_the_filesystem_itself_starts_cold_with_its_files() {
    let test = "a_layer_on_the_filesystem_itself_starts_cold_with_its_files";
    if !can_run(test, "mkfs.ext4") {
        return;
    }
    let layered = |request: &mut TrialRequest| {
        request.stack.filesystem.overlay =
            Some(Overlay { upper: None, write_back: WriteBack::End });
    };
    let (said, record) = run_changed("ext4", Bytes::mib(256), mail_and_seek(), layered);
    assert_eq!(record.status, Status::Ok, "{record:#?}");
    assert!(!said.contains(&"write_back".to_owned()), "{said:?}");
    assert!(record.metric("read_archive.read_per_byte") > Some(0.9));
    assert!(record.metric("unpack.device_written_bytes") > Some(0.0));
    assert!(record.warnings.iter().all(|one| one.code != "fsck-damage"));
}

/// Past the page cache the blocks of pointers would still be in memory from writing the file: a trial
/// remounts first, so that finding the blocks is paid for.
#[test]
fn accesses_past_the_cache_read_the_blocks_of_pointers_again() {
    if !can_run("accesses_past_the_cache_read_the_blocks_of_pointers_again", "mkfs.ext3") {
        return;
    }
    let values = [("file_size", Value::Size(Bytes::mib(16))), ("count", Value::Integer(200))];
    let workload =
        Workload { name: "lookup".into(), parts: vec![params("seekrw", &values)], beside: vec![] };
    let (_, record) = run("ext3", Bytes::mib(256), workload);
    assert_eq!(record.status, Status::Ok, "{:?}", record.warnings);
    let metadata = record.metric("seekrw-direct.metadata_reads").unwrap();
    // 4096 blocks on ext3: one block of pointers, one that leads to others, and at least three of those.
    let pointers = record.metric("seekrw-direct.pointer_blocks").unwrap();
    assert!(pointers >= 5.0, "{pointers}");
    assert!(metadata >= 4.0, "{metadata} reads of metadata, {pointers} blocks of pointers");
}

#[test]
fn a_step_that_fails_is_named_and_the_stack_is_taken_down() {
    if !can_run("a_step_that_fails_is_named_and_the_stack_is_taken_down", "mkfs.ext4") {
        return;
    }
    let seek = params("seek", &[("file_size", Value::Size(Bytes::mib(300)))]);
    let workload = Workload { name: "too large".into(), parts: vec![seek], beside: vec![] };
    let (said, record) = run("ext4", Bytes::mib(256), workload);
    let Status::Failed { stage, reason } = &record.status else { panic!("{:?}", record.status) };
    assert_eq!(stage, "seek-populate");
    assert!(reason.to_lowercase().contains("space"), "{reason}");
    assert!(said.contains(&"umount".to_owned()), "{said:?}");
}

/// Returns true if no loop device is over this image any more, at the latest after five seconds:
/// whoever looks at a new device may hold it open for a moment.
fn is_freed(image: &OwnedFd) -> bool {
    let inode = rustix::fs::fstat(image).unwrap().st_ino.to_string();
    let attached = || {
        let arguments = ["--list", "--noheadings", "--output", "BACK-INO"];
        let output = std::process::Command::new("losetup").args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).lines().any(|line| line.trim() == inode)
    };
    let begun = Instant::now();
    while attached() {
        if begun.elapsed() > Duration::from_secs(5) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// The trial fails in every part in turn; all parts below it go down, and the cause is in the record.
#[test]
fn wherever_it_fails_the_stack_is_taken_down() {
    if !can_run("wherever_it_fails_the_stack_is_taken_down", "mkfs.ext4") {
        return;
    }
    type Change = fn(&mut TrialRequest);
    let cases: [(&str, &str, &[&str], Change); 6] = [
        ("setup", "unknown filesystem 'none-such'", &["setup"], |request| {
            request.stack.filesystem.kind = "none-such".into();
        }),
        ("setup", "descriptor 1 cannot be an image", &["setup"], |request| {
            let DeviceHandle::Image { sector, layout, .. } = request.device.clone() else { return };
            request.journal = Some(DeviceHandle::Image { fd: 1, sector, layout });
        }),
        ("setup", "none-such", &["setup"], |request| {
            request.stack.scheduler = Scheduler::plain("none-such");
        }),
        ("mkfs", "none_such", &["setup", "mkfs"], |request| {
            request.stack.filesystem.mkfs = vec!["-O".into(), "none_such".into()];
        }),
        ("mount", "none_such", &["setup", "mkfs", "mount"], |request| {
            request.stack.filesystem.mount = vec!["none_such".into()];
        }),
        (
            "command",
            "ended with status 3",
            &["setup", "mkfs", "mount", "command", "umount", "fsck"],
            |request| {
                let run = params("command", &[("run", Value::Text("exit 3".into()))]);
                request.workload.parts = vec![run];
            },
        ),
    ];
    for (stage, reason, steps, change) in cases {
        let (said, record) = run_changed("ext4", Bytes::mib(256), mail_and_seek(), change);
        let Status::Failed { stage: failed, reason: why } = &record.status else {
            panic!("{stage}: {:?}", record.status)
        };
        assert_eq!((failed.as_str(), why.contains(reason)), (stage, true), "{why}");
        assert_eq!(said, steps, "{stage}");
        // The timeline is kept from wherever it had begun.
        if stage != "setup" {
            assert!(record.in_force.device.kernel_name.starts_with("loop"), "{stage}");
        }
    }
}
