use super::*;
use std::fs;
use std::path::Path;

const SHORT: Duration = Duration::from_millis(60);

/// A machine whose kernel has a loop device with this number, and whose `dmsetup` keeps its arguments.
fn machine(number: u64) -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().unwrap();
    let system = System::rooted_at(root.path());
    file(&system.block("loop3").join("diskseq"), &number.to_string());
    let log = root.path().join("log").display().to_string();
    let script = format!("#!/bin/sh\necho \"$*\" >> {log}\n");
    seekwell_testing::program(&root.path().join("bin/dmsetup"), &script);
    (root, system)
}

fn file(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("{text}\n")).unwrap();
}

/// Puts a device above another.
fn stack(system: &System, upper: &str, lower: &str) {
    fs::create_dir_all(system.block(lower).join("holders").join(upper)).unwrap();
    fs::create_dir_all(system.block(upper).join("slaves").join(lower)).unwrap();
}

fn above(number: u64) -> Target {
    Target::Above { device: "loop3".to_owned(), sequence: number }
}

fn array(device: &str) -> Target {
    Target::Array { device: device.to_owned() }
}

fn mapped(name: &str) -> Target {
    Target::Mapped { name: name.to_owned() }
}

#[test]
fn only_the_uppermost_layer_is_taken_down_first() {
    let (_root, system) = machine(7);
    stack(&system, "md128", "loop3");
    file(&system.block("md128").join("md/array_state"), "active");
    stack(&system, "dm-0", "md128");
    file(&system.block("dm-0").join("dm/name"), "seekwell-700");
    let found = uppermost(&system, &[&above(7)]);
    let expected = Part::Mapped("seekwell-700".to_owned());
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [("dm-0".to_owned(), expected)]);
    fs::remove_dir_all(system.block("md128").join("holders")).unwrap();
    let state = system.block("md128").join("md/array_state");
    let found = uppermost(&system, &[&above(7)]);
    let expected = Part::Array(state.clone());
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [("md128".to_owned(), expected)]);
    // The tree of this test keeps the array, as a kernel does whose array is mounted.
    let (done, problems) = wait(&system, &[&above(7)], SHORT, &mut sleep);
    assert_eq!(fs::read_to_string(state).unwrap(), "clear");
    assert_eq!(done, [""; 0]);
    assert_eq!(problems, ["md128 does not go away; stop it by hand"]);
}

#[test]
fn what_is_above_another_device_of_the_name_stays() {
    let (_root, system) = machine(8);
    stack(&system, "md128", "loop3");
    file(&system.block("md128").join("md/array_state"), "active");
    assert_eq!(uppermost(&system, &[&above(7)]), BTreeMap::new());
    assert_eq!(take_down(&system, &[&above(7)]), (vec![], vec![]));
}

#[test]
fn an_array_that_has_devices_is_not_taken_down_by_its_number() {
    let (_root, system) = machine(7);
    let state = |text: &str| file(&system.block("md48").join("md/array_state"), text);
    let is_found = || !empty_arrays(&system, &[&array("md48")]).is_empty();
    for (text, is_taken) in
        [("clear", true), ("inactive", true), ("active", false), ("clean", false)]
    {
        state(text);
        assert_eq!(is_found(), is_taken, "{text}");
    }
    state("inactive");
    stack(&system, "md48", "sda");
    assert!(!is_found());
    assert_eq!(take_down(&system, &[&array("md48")]), (vec![], vec![]));
    assert_eq!(
        fs::read_to_string(system.block("md48").join("md/array_state")).unwrap(),
        "inactive\n"
    );
}

#[test]
fn an_array_without_devices_gets_time_to_have_some() {
    let (_root, system) = machine(7);
    let state = system.block("md48").join("md/array_state");
    file(&state, "clear");
    let mut pauses = Vec::new();
    let done = wait(&system, &[&array("md48")], PATIENCE, &mut |time| {
        pauses.push(time);
        stack(&system, "md48", "sda");
    });
    assert_eq!((done, pauses), ((vec![], vec![]), vec![UNTIL_IT_HAS_DEVICES]));
    assert_eq!(fs::read_to_string(&state).unwrap(), "clear\n");
    fs::remove_dir_all(system.block("md48").join("slaves")).unwrap();
    file(&state, "inactive");
    let (_, problems) = wait(&system, &[&array("md48")], Duration::ZERO, &mut |_| ());
    // The tree of this test keeps the array.
    assert_eq!(problems, ["md48 does not go away; stop it by hand"]);
    assert_eq!(fs::read_to_string(&state).unwrap(), "clear");
}

#[test]
fn mapped_devices_are_taken_down_by_their_whole_name() {
    let (root, system) = machine(7);
    for (device, name) in [
        ("dm-0", "seekwell-700"),
        ("dm-1", "seekwell-700-pool"),
        ("dm-2", "seekwell-7001"),
        ("dm-3", "home"),
    ] {
        file(&system.block(device).join("dm/name"), name);
        file(&system.dev.join("mapper").join(name), "");
    }
    stack(&system, "dm-0", "dm-1");
    let (_, problems) = wait(&system, &[&mapped("seekwell-700")], Duration::ZERO, &mut |_| ());
    assert_eq!(problems, ["dm-0 does not go away; stop it by hand"]);
    let log = fs::read_to_string(root.path().join("log")).unwrap();
    assert_eq!(log, "remove --noudevsync seekwell-700\n");
    fs::remove_dir_all(system.block("dm-0")).unwrap();
    fs::remove_dir_all(system.block("dm-1")).unwrap();
    assert_eq!(take_down(&system, &[&mapped("seekwell-700")]), (vec![], vec![]));
    assert_eq!(sysfs::names(&system.dev.join("mapper")), ["home", "seekwell-7001"]);
}

#[test]
fn a_layer_that_no_run_makes_is_a_problem_in_words() {
    let (_root, system) = machine(7);
    stack(&system, "drbd0", "loop3");
    let (_, problems) = wait(&system, &[&above(7)], Duration::ZERO, &mut |_| ());
    assert_eq!(problems, ["cannot remove drbd0: no run made it; stop drbd0 if it is not needed"]);
}

#[test]
fn what_a_user_puts_on_a_mapped_device_or_on_the_disk_below_stays() {
    let (root, system) = machine(7);
    file(&system.block("dm-0").join("dm/name"), "seekwell-700");
    stack(&system, "dm-0", "sda");
    file(&system.block("dm-1").join("dm/name"), "vg-home");
    stack(&system, "dm-1", "sda");
    assert_eq!(
        uppermost(&system, &[&mapped("seekwell-700")]).into_keys().collect::<Vec<_>>(),
        ["dm-0"]
    );
    file(&system.block("dm-2").join("dm/name"), "vg-data");
    stack(&system, "dm-2", "dm-0");
    file(&system.block("md5").join("md/array_state"), "active");
    stack(&system, "md5", "dm-0");
    let targets = [&mapped("seekwell-700"), &array("md5")];
    let (_, problems) = wait(&system, &targets, Duration::ZERO, &mut |_| ());
    let problem = |name: &str| {
        format!("cannot remove {name}: no run made it; stop {name} if it is not needed")
    };
    assert_eq!(problems, [problem("dm-2"), problem("md5")]);
    assert!(!root.path().join("log").exists(), "dmsetup ran");
}

#[test]
fn a_killed_mdadm_leaves_no_file_that_has_udev_ignore_an_array() {
    let (_root, system) = machine(7);
    let folder = system.run.join("mdadm");
    for name in ["creating-md48", "creating-md49", "map"] {
        file(&folder.join(name), "");
    }
    fs::create_dir_all(system.block("md49")).unwrap();
    assert_eq!(take_down(&system, &[&array("md48"), &array("md49")]), (vec![], vec![]));
    assert_eq!(sysfs::names(&folder), ["creating-md49", "map"]);
}

#[test]
fn the_lock_of_a_killed_mdadm_goes_and_that_of_a_live_one_stays() {
    let (_root, system) = machine(7);
    let folder = system.run.join("mdadm");
    let names = || sysfs::names(&folder);
    for name in ["map", "map.lock", "map.new"] {
        file(&folder.join(name), "");
    }
    let live = File::open(folder.join("map.lock")).unwrap();
    flock(&live, FlockOperation::LockExclusive).unwrap();
    assert_eq!(take_down(&system, &[&array("md48")]), (vec![], vec![]));
    assert_eq!(names(), ["map", "map.lock", "map.new"]);
    drop(live);
    assert_eq!(take_down(&system, &[&mapped("seekwell-700")]), (vec![], vec![]));
    assert_eq!(names(), ["map", "map.lock", "map.new"], "no array was made");
    assert_eq!(take_down(&system, &[&array("md48")]), (vec![], vec![]));
    assert_eq!(names(), ["map"]);
}
