//! Values that are noted and put back: in rounds, on loop devices, by hdparm, and those that do not
//! come back.

use super::*;
use crate::loop_device::{Candidate, LoopLock};

fn queue(attribute: &str) -> Target {
    Target::Queue { device: "sda".into(), attribute: attribute.into() }
}

fn change(target: Target, old: &str) -> Change {
    Change { target, old: Some(old.into()), disk: None, free: false, set: None }
}

#[test]
fn only_targets_that_the_program_writes_are_allowed() {
    let (machine, system) = machine();
    let list = machine.path("run/one.undo");
    let is_allowed = |target: &Target| allowed::check(&system, target, Some(&list)).is_ok();
    let of_queue = |device: &str, attribute: &str| Target::Queue {
        device: device.into(),
        attribute: attribute.into(),
    };
    let tunable = |device: &str, scheduler: &str, name: &str| Target::Tunable {
        device: device.into(),
        scheduler: scheduler.into(),
        name: name.into(),
    };
    let group = |path: &str| Target::CgroupDirectory { path: path.into() };
    assert!(is_allowed(&of_queue("sda", "nr_requests")));
    assert!(is_allowed(&tunable("sda", "bfq", "slice_idle")));
    assert!(is_allowed(&group("/sys/fs/cgroup/seekwell-1")));
    assert!(is_allowed(&Target::Directory { path: machine.path("run/a/b") }));
    assert!(is_allowed(&Target::File { path: allowed::sysctl(&system, "dirty_ratio") }));
    assert!(is_allowed(&Target::Hdparm { device: "sda".into(), flag: "-B".into() }));
    for bad in ["", ".", "..", "a/b", "a\0b"] {
        assert!(!is_allowed(&of_queue(bad, "nr_requests")), "{bad:?}");
        assert!(!is_allowed(&of_queue("sda", bad)), "{bad:?}");
        assert!(!is_allowed(&tunable(bad, "bfq", "slice_idle")), "{bad:?}");
        assert!(!is_allowed(&tunable("sda", bad, "slice_idle")), "{bad:?}");
        assert!(!is_allowed(&tunable("sda", "bfq", bad)), "{bad:?}");
        assert!(!is_allowed(&Target::Hdparm { device: bad.into(), flag: "-B".into() }));
    }
    for bad in ["/sys/fs/cgroup/user", "/sys/../etc/seekwell-1", "cgroup/seekwell-1", "/"] {
        assert!(!is_allowed(&group(bad)), "{bad:?}");
    }
    for bad in [machine.path("other/a"), machine.path("run/../other"), "run/a".into()] {
        assert!(!is_allowed(&Target::Directory { path: bad.clone() }), "{}", bad.display());
    }
    assert!(!is_allowed(&Target::File { path: allowed::sysctl(&system, "overcommit_memory") }));
    let server = |path: &str| Target::Server { path: machine.path(path) };
    assert!(is_allowed(&server("run/one.nfsd")));
    for bad in ["run/one", "other/one.nfsd", "run/../other/one.nfsd"] {
        assert!(!is_allowed(&server(bad)), "{bad}");
    }
    // A list without a file is that of a trial whose kernel ends with it.
    let elsewhere = Target::Directory { path: machine.path("other/a") };
    allowed::check(&system, &elsewhere, None).unwrap();
}

#[test]
fn everything_that_can_be_set_is_noted_and_of_a_free_loop_device_less() {
    let (machine, system) = machine();
    for (name, text) in [
        ("scheduler", "none [bfq]"),
        ("read_ahead_kb", "128"),
        ("rotational", "0"),
        ("write_cache", "write back"),
        ("discard_max_bytes", "0"),
        ("write_zeroes_unmap_max_bytes", "0"),
        ("logical_block_size", "512"),
        ("iosched/slice_idle", "8"),
        ("iosched/shown", "8"),
    ] {
        machine.attribute("sda", &format!("queue/{name}"), text);
    }
    for read_only in ["logical_block_size", "iosched/shown"] {
        mode(&machine.path(&format!("sys/class/block/sda/queue/{read_only}")), 0o444);
    }
    let tunable = Target::Tunable {
        device: "sda".into(),
        scheduler: "bfq".into(),
        name: "slice_idle".into(),
    };
    let noted = |free: bool, device: &str| {
        let path = machine.path("run/one.undo");
        let mut undo = Undo::create(&system, &path, "run-1").unwrap();
        if free {
            undo.record_candidate(Candidate::Free(device, &LoopLock::of_nothing())).unwrap();
        } else {
            undo.record_queue(device).unwrap();
        }
        fs::remove_file(path).unwrap();
        assert!(undo.content.changes.iter().all(|change| change.free == free));
        undo.content.changes.into_iter().map(|change| change.target).collect::<Vec<_>>()
    };
    let names = ["nr_requests", "read_ahead_kb", "rotational", "scheduler", "write_cache"];
    let all: Vec<Target> = names.map(queue).into_iter().chain([tunable.clone()]).collect();
    assert_eq!(noted(false, "sda"), all);
    assert_eq!(noted(false, "sda1"), all, "a partition has the queue of its disk");
    let free = ["nr_requests", "read_ahead_kb", "scheduler"].map(queue);
    assert_eq!(noted(true, "sda"), free.into_iter().chain([tunable]).collect::<Vec<_>>());
    // A list without a file notes no queue: its kernel ends with the trial.
    let mut nowhere = Undo::in_memory(&system);
    nowhere.record_queue("sda").unwrap();
    assert_eq!((nowhere.content.changes.len(), nowhere.path()), (0, None));
}

#[test]
fn a_device_is_restored_without_its_neighbours_and_without_what_waits_until_it_is_free() {
    let (mut machine, system) = machine();
    machine.disk("sdb", "8:16", 4096);
    machine.attribute("sdb", "queue/nr_requests", "128");
    machine.attribute("sda", "queue/read_ahead_kb", "128");
    let mut undo = Undo::create(&system, &machine.path("run/one.undo"), "run-1").unwrap();
    undo.record(&requests("sda")).unwrap();
    undo.record(&requests("sdb")).unwrap();
    undo.record_all(&[queue("read_ahead_kb")], true).unwrap();
    for (device, attribute) in
        [("sda", "nr_requests"), ("sdb", "nr_requests"), ("sda", "read_ahead_kb")]
    {
        machine.attribute(device, &format!("queue/{attribute}"), "64");
    }
    let restored = undo.restore_device("sda").unwrap();
    assert_eq!(restored.problems, [""; 0]);
    assert_eq!(restored.done.len(), 1);
    assert_eq!(
        (value(&machine, "nr_requests"), value(&machine, "read_ahead_kb")),
        ("256".into(), "64".into())
    );
    let of_sdb = machine.path("sys/class/block/sdb/queue/nr_requests");
    assert_eq!(sysfs::read(&of_sdb).unwrap(), "64");
    let left: Vec<&Target> = undo.content.changes.iter().map(|change| &change.target).collect();
    assert_eq!(left, [&requests("sdb"), &queue("read_ahead_kb")]);
}

#[test]
fn what_outlives_a_loop_device_is_put_back_before_it_is_free_too() {
    let (machine, system) = machine();
    machine.attribute("sda", "queue/read_ahead_kb", "128");
    machine.attribute("sda", "loop/backing_file", "/nameless (deleted)");
    let mut undo = Undo::create(&system, &machine.path("run/one.undo"), "run-1").unwrap();
    undo.record_all(&[requests("sda"), queue("read_ahead_kb")], true).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    machine.attribute("sda", "queue/read_ahead_kb", "64");
    let restored = undo.restore_device("sda").unwrap();
    assert_eq!((restored.done.len(), restored.problems.len()), (1, 0), "{restored:?}");
    assert_eq!(value(&machine, "nr_requests"), "256");
    assert_eq!(value(&machine, "read_ahead_kb"), "64", "detaching resets it");
    let left: Vec<&Target> = undo.content.changes.iter().map(|change| &change.target).collect();
    assert_eq!(left, [&requests("sda"), &queue("read_ahead_kb")]);
}

#[test]
fn settings_of_a_loop_device_that_another_process_took_are_forgotten() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    // Noted while the other process had it: not what a person has set up.
    machine.attribute("sda", "queue/nr_requests", "32");
    undo.record_candidate(Candidate::Free("sda", &LoopLock::of_nothing())).unwrap();
    undo.record_candidate(Candidate::Taken("sda")).unwrap();
    assert_eq!((undo.content.changes.len(), undo.locks.len()), (0, 0));
    machine.attribute("sda", "queue/nr_requests", "128");
    assert_eq!(restore(&system, &path).unwrap(), Restored::default());
    assert_eq!(value(&machine, "nr_requests"), "128");
}

#[test]
fn a_setting_that_another_process_keeps_busy_is_written_again_for_a_second() {
    let (machine, system) = machine();
    machine.attribute("sda", "queue/nr_requests", "32");
    machine.busy_queue(3);
    let done = put_back::put_back(&system, &change(requests("sda"), "256")).unwrap();
    assert!(done.unwrap().ends_with("nr_requests = 256"));
    assert_eq!((value(&machine, "nr_requests"), machine.still_busy()), ("256".into(), 0));
    machine.attribute("sda", "queue/nr_requests", "32");
    machine.busy_queue(u32::MAX);
    let problem = put_back::put_back(&system, &change(requests("sda"), "256")).unwrap_err();
    assert!(problem.starts_with("cannot write '256' back to "), "{problem}");
    assert!(problem.contains("Device or resource busy"), "{problem}");
    assert_eq!(u32::MAX - machine.still_busy(), 201, "one try and 200 more");
}

#[test]
fn settings_of_a_free_loop_device_are_left_to_whoever_attached_it_since() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record_all(&[requests("sda")], true).unwrap();
    undo.record(&scheduler("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    machine.attribute("sda", "queue/scheduler", "bfq");
    machine.attribute("sda", "loop/backing_file", "/somebody/elses.img");
    let restored = restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "32");
    assert_eq!(value(&machine, "scheduler"), "none", "that was noted while it was attached");
    assert_eq!((restored.done.len(), restored.problems.len()), (1, 0), "{restored:?}");
    assert!(!path.exists());
}

#[test]
fn whoever_attached_a_free_loop_device_since_does_not_keep_what_the_run_set() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record_all(&[requests("sda"), scheduler("sda")], true).unwrap();
    // Ignored: a setting that attaching resets, and one that is not in the list.
    undo.record_all(&[queue("read_ahead_kb")], true).unwrap();
    let before = fs::read(&path).unwrap();
    undo.note_set(&queue("read_ahead_kb"), "64").unwrap();
    undo.note_set(&scheduler("sdb"), "bfq").unwrap();
    assert_eq!(fs::read(&path).unwrap(), before);
    undo.note_set(&scheduler("sda"), "bfq").unwrap();
    undo.note_set(&requests("sda"), "16").unwrap();
    machine.attribute("sda", "queue/scheduler", "bfq");
    machine.attribute("sda", "queue/nr_requests", "32");
    machine.attribute("sda", "loop/backing_file", "/somebody/elses.img");
    let restored = restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "scheduler"), "none", "the other program inherited it");
    assert_eq!(value(&machine, "nr_requests"), "32", "the other program set it");
    assert!(restored.problems.is_empty() && !path.exists(), "{restored:?}");
}

#[test]
fn nothing_is_inherited_from_a_run_that_has_put_its_values_back() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record_all(&[scheduler("sda")], true).unwrap();
    undo.note_set(&scheduler("sda"), "bfq").unwrap();
    machine.attribute("sda", "queue/scheduler", "bfq");
    undo.restore_device("sda").unwrap();
    assert_eq!(value(&machine, "scheduler"), "none");
    machine.attribute("sda", "queue/scheduler", "bfq");
    machine.attribute("sda", "loop/backing_file", "/somebody/elses.img");
    restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "scheduler"), "bfq", "the other program set it");
}

#[test]
fn settings_of_a_loop_device_that_does_not_become_free_stay_in_the_list() {
    let (machine, system) = machine();
    machine.attribute("sda", "loop/backing_file", "/nameless (deleted)");
    machine.ours("sda");
    let when_free = Change { free: true, ..change(requests("sda"), "64") };
    let others =
        [change(scheduler("sda"), "none"), Change { free: true, ..change(requests("sdb"), "64") }];
    let all = [when_free, others[0].clone(), others[1].clone()];
    let mut restored = Restored::default();
    let left = put_back::wait_until_free(&system, &all, Duration::ZERO, &mut restored);
    assert_eq!(left, others);
    let [problem] = restored.problems.as_slice() else { panic!("{restored:?}") };
    assert!(problem.contains("sda is still attached to /nameless (deleted)"), "{problem}");
    // What is not one of our images is not waited for.
    let (machine, system) = super::machine();
    machine.attribute("sda", "loop/backing_file", "/somebody/elses.img");
    let mut restored = Restored::default();
    let left = put_back::wait_until_free(&system, &all, Duration::ZERO, &mut restored);
    assert_eq!((left.as_slice(), restored), (all.as_slice(), Restored::default()));
}

#[test]
fn hdparm_is_given_numbers_alone_and_only_to_change_something() {
    let (machine, system) = machine();
    let calls = machine.path("calls");
    let script = format!(
        "#!/bin/sh\necho \"$@\" >> {0}\ncase $1 in -B) printf ' APM_level = 128\\n';; esac",
        calls.display()
    );
    machine.write("bin/hdparm", &script);
    mode(&machine.path("bin/hdparm"), 0o755);
    let target = Target::Hdparm { device: "sda".into(), flag: "-B".into() };
    assert_eq!(put_back::put_back(&system, &change(target.clone(), "128")), Ok(None));
    let node = machine.path("dev/sda");
    let asked = format!("-B {}\n", node.display());
    assert_eq!(fs::read_to_string(&calls).unwrap(), asked);
    for old in ["", "12 --yes-i-know", "off"] {
        let problem = put_back::put_back(&system, &change(target.clone(), old)).unwrap_err();
        assert_eq!(problem, format!("hdparm -B of sda: '{old}' is not a value of this flag"));
    }
    assert_eq!(fs::read_to_string(&calls).unwrap(), asked.repeat(4), "nothing was set");
    let problem = put_back::put_back(&system, &change(target, "254")).unwrap_err();
    assert!(problem.contains("hdparm -B254 left the setting at 128"), "{problem}");
}

#[test]
fn a_value_that_the_kernel_rounds_is_a_problem_with_both_values() {
    let (machine, system) = machine();
    machine.recomputing_queue("sda");
    machine.attribute("sda", "queue/read_ahead_kb", "130");
    let path = machine.path("run/one.undo");
    Undo::create(&system, &path, "run-1").unwrap().record(&queue("read_ahead_kb")).unwrap();
    machine.attribute("sda", "queue/read_ahead_kb", "64");
    let restored = restore(&system, &path).unwrap();
    let file = system.queue("sda").unwrap().join("read_ahead_kb");
    let expected = format!(
        "{0} was '130' before and is '128' although '130' was written back; restore it by hand: echo '130' > {0}",
        file.display()
    );
    assert_eq!(restored.problems, [expected]);
    assert!(path.exists(), "it stays in the list");
}

#[test]
fn what_hinders_another_is_put_back_before_it_in_a_second_round() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    let (outer, inner) = (machine.path("run/outer"), machine.path("run/outer/inner"));
    // Noted in the order in which the outer one is removed first.
    for folder in [&inner, &outer] {
        assert!(undo.record(&Target::Directory { path: folder.clone() }).unwrap());
    }
    fs::create_dir_all(&inner).unwrap();
    let restored = restore(&system, &path).unwrap();
    let removed = [&inner, &outer].map(|folder| format!("removed {}", folder.display()));
    assert_eq!((restored.done, restored.problems), (removed.to_vec(), vec![]));
    assert!(!outer.exists() && !path.exists());
}

#[test]
fn a_memory_group_is_removed_and_one_that_is_gone_is_not_mentioned() {
    let (machine, system) = machine();
    let group = machine.path("cgroup/seekwell-1");
    let target = Target::CgroupDirectory { path: group.clone() };
    for exists in [true, false] {
        let path = machine.path("run/one.undo");
        let mut undo = Undo::create(&system, &path, "run-1").unwrap();
        assert!(undo.record(&target).unwrap());
        if exists {
            fs::create_dir_all(&group).unwrap();
            assert!(!Undo::in_memory(&system).record(&target).unwrap(), "it was there before");
        }
        let expected = if exists { vec![format!("removed {}", group.display())] } else { vec![] };
        assert_eq!(restore(&system, &path).unwrap().done, expected);
        assert!(!group.exists() && !path.exists());
    }
}

#[test]
fn a_full_disk_keeps_no_value_from_coming_back() {
    let (machine, system) = machine();
    let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let mut undo = Undo::in_memory(&system);
    undo.list = Some((machine.path("run/one.undo"), full));
    assert!(undo.record(&requests("sda")).is_err(), "then the change is not made");
    undo.content.add(change(requests("sda"), "256"));
    machine.attribute("sda", "queue/nr_requests", "32");
    let restored = undo.restore_where(|_| true).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "256");
    assert_eq!((restored.done.len(), restored.problems.len()), (1, 0), "{restored:?}");
    let [unmarked] = restored.unmarked.as_slice() else { panic!("{restored:?}") };
    assert!(unmarked.starts_with("cannot append to the undo list"), "{unmarked}");
}

#[test]
fn a_name_that_the_list_cannot_hold_is_an_error_before_the_change() {
    use std::os::unix::ffi::OsStrExt;
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    let before = fs::read(&path).unwrap();
    let odd = machine.path("run").join(std::ffi::OsStr::from_bytes(b"\xff"));
    let error = undo.record(&Target::Directory { path: odd }).unwrap_err().to_string();
    assert!(error.starts_with("cannot encode a line of"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_setting_of_a_device_that_is_gone_or_of_a_scheduler_that_is_not_in_force_is_done() {
    let (machine, system) = machine();
    machine.attribute("sda", "queue/scheduler", "none [bfq]");
    machine.attribute("sda", "queue/iosched/slice_idle", "8");
    let tunable = |device: &str, scheduler: &str| Target::Tunable {
        device: device.into(),
        scheduler: scheduler.into(),
        name: "slice_idle".into(),
    };
    let nowhere = Target::Queue { device: "sdz".into(), attribute: "nr_requests".into() };
    for target in [tunable("sda", "kyber"), tunable("sdz", "bfq"), nowhere] {
        assert_eq!(put_back::put_back(&system, &change(target, "0")), Ok(None));
    }
    assert_eq!(value(&machine, "iosched/slice_idle"), "8");
    let done = put_back::put_back(&system, &change(tunable("sda", "bfq"), "0")).unwrap();
    assert!(done.unwrap().ends_with("iosched/slice_idle = 0"));
    assert_eq!(value(&machine, "iosched/slice_idle"), "0");
}

#[test]
fn settings_of_a_free_loop_device_come_back_when_it_is_free_again() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record_all(&[requests("sda")], true).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    let restored = restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "256");
    assert_eq!((restored.done.len(), restored.problems.len()), (1, 0), "{restored:?}");
}

#[test]
fn settings_of_a_free_loop_device_that_another_seekwell_has_locked_are_left_to_it() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    let lock = LoopLock::of_nothing();
    undo.record_candidate(Candidate::Free("sda", &lock)).unwrap();
    assert_eq!(undo.locks.len(), 1, "kept until the settings are back");
    machine.attribute("sda", "queue/nr_requests", "32");
    machine.locked("sda");
    // The other's list has what was there before this run, not what it has set.
    let mut other = Undo::create(&system, &machine.path("run/two.undo"), "run-2").unwrap();
    other.record_candidate(Candidate::Free("sda", &lock)).unwrap();
    // The list alone, as the guardian of a killed agent has it.
    assert_eq!(restore(&system, &path).unwrap(), Restored::default());
    assert_eq!(value(&machine, "nr_requests"), "32");
    // The process with the lock itself.
    undo.restore_where(|_| true).unwrap();
    assert_eq!((value(&machine, "nr_requests"), undo.locks.len()), ("256".into(), 0));
    machine.attribute("sda", "queue/nr_requests", "32");
    other.restore_where(|_| true).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "256", "not what the killed run had set");
}

#[test]
fn what_a_loop_device_has_from_its_file_goes_with_the_file_but_the_write_cache() {
    for (is_attached, expected) in [(true, "1"), (false, "0")] {
        let (machine, system) = machine();
        let set = |name: &str, text: &str| machine.attribute("loop3", name, text);
        set("queue/write_cache", "write back");
        set("queue/rotational", "1");
        set("queue/nr_requests", "128");
        set("loop/backing_file", "/image");
        let path = machine.path("run/one.undo");
        let mut undo = Undo::create(&system, &path, "run-1").unwrap();
        for attribute in ["write_cache", "rotational", "nr_requests"] {
            let device = "loop3".to_owned();
            undo.record(&Target::Queue { device, attribute: attribute.to_owned() }).unwrap();
        }
        set("queue/write_cache", "write through");
        set("queue/rotational", "0");
        set("queue/nr_requests", "64");
        if !is_attached {
            std::fs::remove_dir_all(machine.path("sys/class/block/loop3/loop")).unwrap();
        }
        assert_eq!(restore(&system, &path).unwrap().problems, [""; 0]);
        let now = |name: &str| {
            let file = machine.path("sys/class/block/loop3/queue").join(name);
            std::fs::read_to_string(file).unwrap().trim().to_owned()
        };
        let kept = [now("write_cache"), now("rotational"), now("nr_requests")];
        assert_eq!(kept, ["write back", expected, "128"]);
    }
}
