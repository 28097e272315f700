//! The settings of a loop device that becomes free again. Alone in its process: beside it, another
//! test would attach the device in the moment between its release and the comparison.

use seekwell_host::queue::{self, Wanted};
use seekwell_host::settings::Settings;
use seekwell_host::sysfs::{self, System};
use seekwell_host::undo::{self, Undo};
use seekwell_host::{image, loop_device};
use seekwell_model::units::Bytes;
use std::collections::BTreeSet;
use std::fs;

#[test]
fn a_free_loop_device_has_its_settings_again_when_it_is_free_again() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_free_loop_device_has_its_settings_again",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("one.undo");
    let image = image::create_in_ram(&system, Bytes::mib(4), 1, &mut |_| {});
    let image = image.unwrap();
    // A free device that a person has set up; itself put back at the end.
    let mut outer = None;
    let mut before = Settings::default();
    let mut changes = Undo::create(&system, &list, "run-1").unwrap();
    let device = loop_device::attach_noted(&system, image.file(), Bytes(512), None, &mut |name| {
        let path = system.queue(name)?.join("read_ahead_kb");
        outer = Some((path.clone(), sysfs::read(&path)?));
        fs::write(&path, "132").unwrap();
        before = Settings::read(&system);
        changes.record_free_loop(name)
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
}
