//! No spare disk is needed: the kernel's own behaviour is looked at on loop devices.

use super::*;
use crate::fixture::{self, Machine};

fn wanted(scheduler: &str) -> Wanted {
    Wanted { scheduler: Some(scheduler.into()), ..Wanted::default() }
}

#[test]
fn the_scheduler_in_force_is_in_brackets_or_alone() {
    assert_eq!(in_force("none [mq-deadline] bfq").as_deref(), Some("mq-deadline"));
    assert_eq!(in_force("none").as_deref(), Some("none"));
    assert_eq!(in_force(""), None);
}

#[test]
fn a_schedulers_settings_come_before_the_devices_before_the_defaults() {
    let defaults = QueueDefaults { nr_requests: 128, read_ahead_kb: 128 };
    let device = DeviceSettings {
        nr_requests: Some(64),
        apm: Some(254),
        hdparm: vec!["-M128".into()],
        ..DeviceSettings::default()
    };
    let mut scheduler = Scheduler::plain("bfq");
    scheduler.read_ahead_kb = Some(512);
    let wanted = Wanted::new(&device, &scheduler, &defaults);
    assert_eq!(wanted.scheduler.as_deref(), Some("bfq"));
    assert_eq!((wanted.nr_requests, wanted.read_ahead_kb), (Some(64), Some(512)));
    assert_eq!(wanted.hdparm, ["-B254", "-M128"]);

    let plain = Wanted::new(&DeviceSettings::default(), &Scheduler::plain("none"), &defaults);
    assert_eq!((plain.nr_requests, plain.usual_requests), (None, Some(128)));
    assert_eq!(plain.read_ahead_kb, Some(128));
    assert_eq!(plain.rotational, None);
}

#[test]
fn everything_set_on_a_real_queue_is_in_force_and_comes_back() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "everything_set_on_a_real_queue",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let (_image, device) = fixture::ram_device(4);
    let name = device.kernel_name();
    let before = read(&system, name).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("one.undo");
    let mut undo = Undo::create(&system, &list, "run-1").unwrap();
    let mut settings = Wanted {
        scheduler: Some("mq-deadline".into()),
        nr_requests: Some(96),
        read_ahead_kb: Some(256),
        max_sectors_kb: Some(512),
        rotational: Some(false),
        write_cache: Some(WriteCache::WriteThrough),
        ..Wanted::default()
    };
    settings.tunables.insert("fifo_batch".into(), "3".into());
    assert_eq!(apply(&system, name, &settings, &mut undo).unwrap(), []);

    let set = read(&system, name).unwrap();
    assert_eq!(set.scheduler.as_deref(), Some("mq-deadline"));
    assert_eq!(set.nr_requests, Some(96));
    assert_eq!(set.read_ahead_kb, Some(256));
    assert_eq!(set.max_sectors_kb, Some(512));
    assert_eq!(set.rotational, Some(false));
    assert_eq!(set.write_cache.as_deref(), Some("write through"));
    assert_eq!(set.tunables["fifo_batch"], "3");

    // Whoever is left does it: another process by the list alone.
    drop(undo);
    let restored = crate::undo::restore(&system, &list).unwrap();
    assert_eq!(restored.problems, [""; 0]);
    assert_eq!(read(&system, name).unwrap(), before);
}

#[test]
fn a_scheduler_set_again_begins_with_its_own_tunables() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_scheduler_set_again",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let (_image, device) = fixture::ram_device(1);
    let name = device.kernel_name();
    let before = read(&system, name).unwrap();
    let mut undo = Undo::in_memory(&system);
    let mut tuned = wanted("mq-deadline");
    tuned.tunables.insert("fifo_batch".into(), "3".into());
    apply(&system, name, &tuned, &mut undo).unwrap();
    apply(&system, name, &wanted("mq-deadline"), &mut undo).unwrap();
    assert_ne!(read(&system, name).unwrap().tunables["fifo_batch"], "3");
    for scheduler in schedulers(&system, name).unwrap() {
        apply(&system, name, &wanted(&scheduler), &mut undo).unwrap();
        assert_eq!(read(&system, name).unwrap().scheduler, Some(scheduler));
    }
    restore(&system, name, &mut undo).unwrap();
    assert_eq!(read(&system, name).unwrap(), before);
}

#[test]
fn tunables_that_a_person_had_set_come_back_with_their_scheduler() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "tunables_that_a_person_had_set",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let (_image, device) = fixture::ram_device(1);
    let name = device.kernel_name();
    // What the person had set, itself undone at the end of the test.
    let mut outer = Undo::in_memory(&system);
    let mut persons = wanted("mq-deadline");
    persons.tunables.insert("fifo_batch".into(), "5".into());
    apply(&system, name, &persons, &mut outer).unwrap();

    let before = read(&system, name).unwrap();
    let mut undo = Undo::in_memory(&system);
    apply(&system, name, &wanted("bfq"), &mut undo).unwrap();
    let restored = restore(&system, name, &mut undo).unwrap();
    assert_eq!(restored.problems, [""; 0]);
    assert_eq!(read(&system, name).unwrap(), before);
    restore(&system, name, &mut outer).unwrap();
}

#[test]
fn what_the_kernel_changes_is_a_warning() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "what_the_kernel_changes",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let (_image, device) = fixture::ram_device(1);
    let name = device.kernel_name();
    let mut undo = Undo::in_memory(&system);
    let settings = Wanted {
        // The kernel has a smallest queue of its own, and a largest request of the hardware.
        nr_requests: Some(1),
        max_sectors_kb: Some(1 << 30),
        ..wanted("mq-deadline")
    };
    let warnings = apply(&system, name, &settings, &mut undo).unwrap();
    restore(&system, name, &mut undo).unwrap();
    let texts: Vec<String> =
        warnings.iter().map(|warning| warning.text.replace(name, "loopN")).collect();
    insta::assert_snapshot!(texts.join("\n"), @r"
    loopN: nr_requests = 1 was requested, but the kernel changed it to 4
    loopN: max_sectors_kb = 1073741824 was requested, but the kernel changed it to 1280
    ");
    assert!(
        warnings
            .iter()
            .all(|warning| warning.code == "queue-setting" && !warning.remedy.is_empty())
    );
}

#[test]
fn a_queue_shorter_than_the_usual_is_no_warning_and_one_shorter_than_asked_is() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_queue_shorter_than_the_usual",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let (_image, device) = fixture::ram_device(1);
    let name = device.kernel_name();
    let mut undo = Undo::in_memory(&system);
    // Without a scheduler a loop device has as many requests as tags, 128.
    let usual = Wanted { usual_requests: Some(4096), ..wanted("none") };
    let unsaid = apply(&system, name, &usual, &mut undo).unwrap();
    let asked = Wanted { nr_requests: Some(4096), ..wanted("none") };
    let said = apply(&system, name, &asked, &mut undo).unwrap();
    restore(&system, name, &mut undo).unwrap();
    assert_eq!(unsaid, []);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].text.contains("nr_requests = 4096 was requested"), "{}", said[0].text);
}

#[test]
fn unknown_schedulers_and_tunables_are_errors_that_name_the_known() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "unknown_schedulers_and_tunables",
            "needs root to attach a loop device",
        );
    }
    let system = System::host();
    let (_image, device) = fixture::ram_device(1);
    let name = device.kernel_name();
    let mut undo = Undo::in_memory(&system);
    let error = apply(&system, name, &wanted("cfq"), &mut undo).unwrap_err().to_string();
    assert!(error.contains("rejects the scheduler 'cfq'"), "{error}");
    assert!(error.contains("choose one of none, mq-deadline"), "{error}");

    let mut settings = wanted("mq-deadline");
    settings.tunables.insert("quantum".into(), "3".into());
    let error = apply(&system, name, &settings, &mut undo).unwrap_err().to_string();
    assert!(error.contains("has no tunable 'quantum'; use one of "), "{error}");
    settings.tunables.clear();
    settings.tunables.insert("../nr_requests".into(), "3".into());
    assert!(apply(&system, name, &settings, &mut undo).is_err(), "a tunable is a name, no path");
    restore(&system, name, &mut undo).unwrap();
}

#[test]
fn a_partition_is_set_through_its_disk_and_restored_with_it() {
    let machine = Machine::new();
    let system = machine.system();
    machine.attribute("sda", "queue/read_ahead_kb", "128");
    let mut undo = Undo::in_memory(&system);
    let settings = Wanted { read_ahead_kb: Some(64), ..Wanted::default() };
    assert_eq!(apply(&system, "sda1", &settings, &mut undo).unwrap(), []);
    assert_eq!(read(&system, "sda").unwrap().read_ahead_kb, Some(64));
    restore(&system, "sda1", &mut undo).unwrap();
    assert_eq!(read(&system, "sda1").unwrap().read_ahead_kb, Some(128));
}

#[test]
fn a_setting_that_the_device_lacks_is_a_warning() {
    let machine = Machine::new();
    let system = machine.system();
    let mut undo = Undo::in_memory(&system);
    let settings = Wanted { rotational: Some(true), ..Wanted::default() };
    let warnings = apply(&system, "sda", &settings, &mut undo).unwrap();
    let texts: Vec<&str> = warnings.iter().map(|warning| warning.text.as_str()).collect();
    assert_eq!(
        texts,
        ["sda: rotational = 1 was requested, but the device does not have this setting"]
    );
    assert_eq!(read(&system, "sda").unwrap(), QueueSettings::default());
}
