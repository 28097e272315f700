use super::*;
use crate::fixture::Machine;

#[test]
fn programs_are_found_in_the_folders_order_and_must_be_executable() {
    let machine = Machine::new();
    let system = machine.system();
    machine.write("bin/mkfs.test", "#!/bin/sh");
    assert_eq!(system.program("mkfs.test"), None);
    let path = machine.path("bin/mkfs.test");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(system.program("mkfs.test"), Some(path));
}

#[test]
fn a_partition_has_the_queue_of_its_disk() {
    let machine = Machine::new();
    let system = machine.system();
    let disk = system.queue("sda").unwrap();
    assert_eq!(fs::canonicalize(disk).unwrap(), system.queue("sda1").unwrap());
    assert!(system.queue("sdz").is_err());
}

#[test]
fn a_missing_number_is_none_and_a_wrong_one_an_error() {
    let machine = Machine::new();
    machine.write("sys/number", "12");
    machine.write("sys/word", "twelve");
    assert_eq!(read_number::<u32>(&machine.path("sys/number")).unwrap(), Some(12));
    assert_eq!(read_number::<u32>(&machine.path("sys/missing")).unwrap(), None);
    let error = read_number::<u32>(&machine.path("sys/word")).unwrap_err();
    assert!(error.to_string().ends_with("holds 'twelve', expected a number"), "{error}");
}

#[test]
fn this_process_has_the_number_that_procfs_gives_it() {
    assert_eq!(System::host().own_pid(), std::process::id());
    let machine = Machine::new();
    std::os::unix::fs::symlink("4711", machine.path("proc/self-link")).unwrap();
    assert_eq!(machine.system().own_pid(), std::process::id(), "no link, so its own word");
    fs::remove_dir_all(machine.path("proc/self")).unwrap();
    fs::rename(machine.path("proc/self-link"), machine.path("proc/self")).unwrap();
    assert_eq!(machine.system().own_pid(), 4711);
}
