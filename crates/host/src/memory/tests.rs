use super::*;
use crate::fixture::Machine;
use crate::namespace;
use std::time::Duration;

/// A fake hierarchy mounted at `cgroup` of the machine's own folder.
fn hierarchy(kind: &str, options: &str) -> Machine {
    let machine = Machine::new();
    let root = machine.path("cgroup");
    fs::create_dir_all(root.join("home")).unwrap();
    let line = format!("30 20 0:40 / {} rw - {kind} {kind} {options}", root.display());
    machine.write("proc/thread-self/mountinfo", &line);
    machine
}

#[test]
fn the_controller_is_found_in_either_hierarchy() {
    let machine = hierarchy("cgroup", "rw,memory");
    assert_eq!(version(&machine.system()).unwrap(), Some(CgroupVersion::V1));

    let machine = hierarchy("cgroup", "rw,cpu");
    assert_eq!(version(&machine.system()).unwrap(), None);

    let machine = hierarchy("cgroup2", "rw,nsdelegate");
    assert_eq!(version(&machine.system()).unwrap(), None);
    machine.write("cgroup/cgroup.controllers", "cpu io");
    assert_eq!(version(&machine.system()).unwrap(), None);
    machine.write("cgroup/cgroup.controllers", "cpu io memory");
    assert_eq!(version(&machine.system()).unwrap(), Some(CgroupVersion::V2));
    assert_eq!(CgroupVersion::V2.word(), "v2");
}

#[test]
fn version_two_is_switched_on_limited_entered_and_left() {
    let machine = hierarchy("cgroup2", "rw");
    machine.write("cgroup/cgroup.controllers", "memory");
    machine.write("cgroup/cgroup.subtree_control", "cpu");
    machine.write("proc/self/cgroup", "0::/home");
    let system = machine.system();
    let mut undo = Undo::in_memory(&system);
    let group = limit(&system, "run 1/x", Bytes::mib(64), &mut undo).unwrap();
    let folder = machine.path("cgroup/seekwell-run_1_x");
    assert_eq!(group.directory, folder);
    assert_eq!((group.limit, group.version), (Bytes::mib(64), CgroupVersion::V2));
    assert_eq!(sysfs::read(&machine.path("cgroup/cgroup.subtree_control")).unwrap(), "+memory");
    assert_eq!(sysfs::read(&folder.join("memory.max")).unwrap(), "67108864");
    assert_eq!(sysfs::read(&folder.join("cgroup.procs")).unwrap(), "0");

    // A kernel removes a group with its files; a folder must be emptied first.
    for name in ["memory.max", "cgroup.procs"] {
        fs::remove_file(folder.join(name)).unwrap();
    }
    group.remove(&mut undo).unwrap();
    assert!(!folder.exists());
    assert_eq!(sysfs::read(&machine.path("cgroup/home/cgroup.procs")).unwrap(), "0");
    assert_eq!(undo.restore_where(|_| true).unwrap(), crate::undo::Restored::default());
}

#[test]
fn a_machine_without_a_controller_says_what_to_write() {
    let machine = hierarchy("cgroup", "rw,cpu");
    let system = machine.system();
    let error = limit(&system, "run", Bytes::mib(64), &mut Undo::in_memory(&system)).unwrap_err();
    insta::assert_snapshot!(error, @r#"memory limit: the kernel has no memory controller (CONFIG_MEMCG); write memory = "unlimited" in the lab or boot with cgroup_enable=memory"#);
}

#[test]
fn a_real_limit_is_in_force_and_gone_afterwards() {
    let system = System::host();
    if !seekwell_testing::root() || version(&system).unwrap().is_none() {
        return seekwell_testing::skip(
            "a_real_limit_is_in_force",
            "needs root and a memory controller",
        );
    }
    // In a process of its own, so that the other tests are not limited: this test again, alone.
    if std::env::var_os("SEEKWELL_LIMITED").is_none() {
        let mut alone = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["memory::tests::a_real_limit_is_in_force_and_gone_afterwards", "--exact"])
            .env("SEEKWELL_LIMITED", "1")
            .spawn()
            .unwrap();
        let status = alone.wait().unwrap();
        let root = controller(&system).unwrap().unwrap().root;
        cgroup::remove(&root.join(group_name(&format!("test-{}", alone.id())))).unwrap();
        assert!(status.success());
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut undo = Undo::create(&system, &folder.path().join("one.undo"), "run").unwrap();
    let name = format!("test-{}", std::process::id());
    let group = limit(&system, &name, Bytes::mib(48), &mut undo).unwrap();
    let directory = group.directory.clone();
    assert_eq!(group.limit, Bytes::mib(48));
    // Page cache counts: a file larger than the limit does not stay in it as a whole.
    let file = folder.path().join("large");
    let mut large = fs::File::create(&file).unwrap();
    for _ in 0..80 {
        std::io::Write::write_all(&mut large, &[1; 1 << 20]).unwrap();
        // Version 1 does not write back for a group that is full.
        large.sync_data().unwrap();
    }
    let usage = ["memory.usage_in_bytes", "memory.current"]
        .iter()
        .find_map(|name| sysfs::read_number::<u64>(&directory.join(name)).unwrap())
        .unwrap();
    assert!(usage <= 48 << 20, "{usage}");
    group.remove(&mut undo).unwrap();
    assert!(!directory.exists());
}

#[test]
fn a_group_left_by_a_killed_process_is_removed_by_the_undo_list() {
    let system = System::host();
    let Some(controller) = controller(&system).unwrap().filter(|_| seekwell_testing::root()) else {
        return seekwell_testing::skip(
            "a_group_left_by_a_killed_process",
            "needs root and a memory controller",
        );
    };
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("one.undo");
    let mut undo = Undo::create(&system, &list, "run").unwrap();
    let directory = controller.root.join(format!("seekwell-left-{}", std::process::id()));
    undo.record(&Target::CgroupDirectory { path: directory.clone() }).unwrap();
    fs::create_dir(&directory).unwrap();
    let child =
        namespace::spawn(&["/bin/sleep".into(), "300".into()], &[], &[], &Default::default())
            .unwrap();
    fs::write(directory.join("cgroup.procs"), child.pid.to_string()).unwrap();
    namespace::send_signal(&child.pidfd, rustix::process::Signal::KILL).unwrap();
    assert!(namespace::ended(&child.pidfd, Duration::from_secs(10)).unwrap());
    let restored = crate::undo::restore(&system, &list).unwrap();
    namespace::wait(&child.pidfd).unwrap();
    // A zombie may still count; then the list stays and the next start tries again.
    let again = crate::undo::restore(&system, &list).unwrap();
    assert_eq!(again.problems, [""; 0], "{restored:?}");
    assert!(!directory.exists());
}

#[test]
fn meminfo_is_read_in_bytes_and_a_missing_line_is_none() {
    let machine = Machine::new();
    let system = machine.system();
    machine.write("proc/meminfo", "MemTotal:       24684084 kB\nSwapTotal:             0 kB");
    assert_eq!(ram(&system).unwrap(), Some(Bytes::kib(24_684_084)));
    assert_eq!(swap(&system).unwrap(), Some(Bytes(0)));
    assert_eq!(meminfo(&system, "Dirty").unwrap(), None);
    machine.write("proc/meminfo", "MemTotal: many kB");
    assert!(ram(&system).is_err());
}

#[test]
fn a_setting_of_the_memory_is_restored_with_the_bytes_that_it_replaces() {
    let machine = Machine::new();
    let system = machine.system();
    let value = |name: &str| sysfs::read(&machine.path(&format!("proc/sys/vm/{name}"))).unwrap();
    for (name, before) in [("dirty_ratio", "0"), ("dirty_bytes", "1000000"), ("swappiness", "60")] {
        machine.write(&format!("proc/sys/vm/{name}"), before);
    }
    let mut undo = Undo::in_memory(&system);
    set_vm(&system, "dirty_ratio", "40", &mut undo).unwrap();
    set_vm(&system, "swappiness", "10", &mut undo).unwrap();
    assert_eq!([value("dirty_ratio"), value("swappiness")], ["40", "10"]);
    // As the kernel does when the ratio is set.
    machine.write("proc/sys/vm/dirty_bytes", "0");
    let restored = restore_vm(&mut undo).unwrap();
    assert_eq!(restored.problems, [""; 0]);
    assert_eq!([value("dirty_ratio"), value("dirty_bytes")], ["0", "1000000"]);
    assert_eq!(value("swappiness"), "60");
    let error = set_vm(&system, "laptop_mode", "1", &mut undo).unwrap_err().to_string();
    assert!(error.starts_with("vm.laptop_mode: cannot be set to 1: No such file"), "{error}");
}
