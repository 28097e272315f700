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
use std::sync::{Mutex, PoisonError};

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
            let Candidate::Free(name) = candidate else {
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
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let system = System::host();
    let [ours, theirs] =
        [1, 2].map(|seed| image::create_in_ram(&system, Bytes::mib(4), seed, &mut |_| {}).unwrap());
    let (mut other, mut told) = (None, Vec::new());
    let device =
        loop_device::attach_noted(&system, ours.file(), Bytes(512), None, &mut |candidate| {
            if let (Candidate::Free(name), None) = (candidate, &other) {
                let taken = loop_device::attach(&system, theirs.file(), Bytes(512), None)?;
                assert_eq!(
                    taken.kernel_name(),
                    name,
                    "the kernel gives the same free device twice"
                );
                other = Some(taken);
            }
            told.push(format!("{candidate:?}"));
            Ok(())
        })
        .unwrap();
    let (taken, free) = (other.unwrap().kernel_name().to_owned(), device.kernel_name());
    let expected = [Candidate::Free(&taken), Candidate::Taken(&taken), Candidate::Free(free)];
    assert_eq!(told, expected.map(|candidate| format!("{candidate:?}")));
    assert_ne!(taken, free);
}
