//! The settings of a loop device that becomes free again, and of one that another process takes. Alone in their
//! process, and one after another: another test would attach the device in the moment between its release and the
//! comparison.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

use seekwell_host::loop_device::Candidate;
use seekwell_host::queue::{self, Wanted};
use seekwell_host::settings::Settings;
use seekwell_host::sysfs::{self, System};
use seekwell_host::undo::{self, Undo};
use seekwell_host::{image, loop_device};
use seekwell_model::units::Bytes;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

static ALONE: Mutex<()> = Mutex::new(());

/// Settings that a loop device keeps while it is free.
fn lasting(system: &System, name: &str) -> (Option<String>, Option<u32>) {
    let settings = queue::read(system, name).unwrap();
    (settings.scheduler, settings.nr_requests)
}

#[test]
fn a_free_loop_device_has_its_settings_again_when_it_is_free_again() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_free_loop_device_has_its_settings_again",
            "needs root to attach a loop device",
        );
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let system = System::host();
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("one.undo");
    let image = image::create_in_ram(&system, Bytes::mib(4), 1, &mut |_| {});
    let image = image.unwrap();
    // A free device that a person has set up; itself put back at the end.
    let mut outer = None;
    let (mut before, mut lasting_before) = (Settings::default(), None);
    let mut changes = Undo::create(&system, &list, "run-1").unwrap();
    let device =
        loop_device::attach_noted(&system, image.file(), Bytes(512), None, &mut |candidate| {
            let Candidate::Free(name, _) = candidate else {
                return changes.record_candidate(candidate);
            };
            let path = system.queue(name)?.join("read_ahead_kb");
            outer = Some((path.clone(), sysfs::read(&path)?));
            fs::write(&path, "132").unwrap();
            before = Settings::read(&system);
            lasting_before = Some(lasting(&system, name));
            changes.record_candidate(candidate)
        })
        .unwrap();
    let name = device.kernel_name().to_owned();
    let wanted = Wanted {
        scheduler: Some("mq-deadline".into()),
        rotational: Some(false),
        max_sectors_kb: Some(512),
        ..Wanted::default()
    };
    queue::apply(&system, &name, &wanted, &mut changes).unwrap();
    queue::restore(&system, &name, &mut changes).unwrap();
    let lasting_after = lasting(&system, &name);
    drop(device);
    // The guardian, by the list alone.
    drop(changes);
    let restored = undo::restore(&system, &list).unwrap();
    assert_eq!(restored.problems, [""; 0]);
    let (ours, _) = before.differences(&Settings::read(&system), &BTreeSet::from([name]));
    if let Some((path, value)) = outer {
        fs::write(path, value).unwrap();
    }
    assert_eq!(ours, []);
    assert_eq!(Some(lasting_after), lasting_before, "none of ours is seen while it is free");
}

#[test]
fn a_device_that_is_taken_in_between_is_told_and_another_is_attached() {
    let test = "a_device_that_is_taken_in_between";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to attach a loop device");
    }
    let Some(losetup) = seekwell_testing::tool("losetup") else {
        return seekwell_testing::skip(test, "needs losetup, which takes no lock of Seekwell");
    };
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let system = System::host();
    let ours = image::create_in_ram(&system, Bytes::mib(4), 1, &mut |_| {}).unwrap();
    let theirs = tempfile::NamedTempFile::new().unwrap();
    theirs.as_file().set_len(4 << 20).unwrap();
    let (mut taken, mut told) = (None, Vec::new());
    let attached =
        loop_device::attach_noted(&system, ours.file(), Bytes(512), None, &mut |candidate| {
            told.push(match candidate {
                Candidate::Free(name, _) => format!("free: {name}"),
                Candidate::Taken(name) => format!("taken: {name}"),
            });
            if let (Candidate::Free(name, _), None) = (candidate, &taken) {
                let node = system.dev.join(name);
                let done = Command::new(&losetup).arg(&node).arg(theirs.path()).status().unwrap();
                assert!(done.success());
                taken = Some((name.to_owned(), node));
            }
            Ok(())
        });
    let (taken, node) = taken.unwrap();
    assert!(Command::new(&losetup).arg("--detach").arg(node).status().unwrap().success());
    let device = attached.unwrap();
    let free = device.kernel_name();
    assert_eq!(
        told,
        [format!("free: {taken}"), format!("taken: {taken}"), format!("free: {free}")]
    );
    assert_ne!(taken, free);
}

#[test]
fn two_seekwells_neither_take_each_others_device_nor_report_each_others_settings() {
    let test = "two_seekwells_neither_take_each_others_device";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to attach a loop device");
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let system = System::host();
    let folder = tempfile::tempdir().unwrap();
    let image = image::create_in_ram(&system, Bytes::mib(4), 1, &mut |_| {}).unwrap();
    // Two state folders, as in two mount namespaces.
    let attach = |undo: &mut Undo| {
        loop_device::attach_noted(&system, image.file(), Bytes(512), None, &mut |candidate| {
            undo.record_candidate(candidate)
        })
        .unwrap()
    };
    let list = |name: &str| folder.path().join(name).with_extension("undo");
    let mut first = Undo::create(&system, &list("first"), "run-1").unwrap();
    let mut second = Undo::create(&system, &list("second"), "run-2").unwrap();
    let device = attach(&mut first);
    let name = device.kernel_name().to_owned();
    let wanted = Wanted { read_ahead_kb: Some(2560), ..Wanted::default() };
    queue::apply(&system, &name, &wanted, &mut first).unwrap();
    drop(device);
    loop_device::wait_detached(&system, &name, Duration::from_secs(10)).unwrap();
    // It is free, and its settings are not yet back.
    let before = Settings::read(&system);
    let other = attach(&mut second);
    assert_ne!(other.kernel_name(), name);
    assert_eq!(first.restore_where(|_| true).unwrap().problems, [""; 0]);
    let (ours, others) = before.differences(&Settings::read(&system), &BTreeSet::new());
    let of_first = ours.iter().chain(&others).filter(|found| found.device == name);
    assert_eq!(of_first.count(), 0, "they are the first run's to restore");
    // A device that a run has had and that another Seekwell has attached since.
    let before = Settings::read(&system);
    let third = attach(&mut first);
    let name = third.kernel_name().to_owned();
    queue::apply(&system, &name, &wanted, &mut first).unwrap();
    let (ours, _) = before.differences(&Settings::read(&system), &BTreeSet::from([name]));
    assert_eq!(ours, []);
    drop((third, other));
    for undo in [&mut first, &mut second] {
        assert_eq!(undo.restore_where(|_| true).unwrap().problems, [""; 0]);
    }
}
