//! Users of a device that only procfs knows, and what cannot be found out about them.

use super::super::*;
use super::{Kind, look, machine};
use crate::fixture::Machine;
use std::fs;

fn kind(machine: &Machine, name: &str) -> RefusalKind {
    look(machine, name, Purpose::Claim).unwrap_err().kind
}

#[test]
fn a_loop_device_whose_file_cannot_be_asked_for_is_refused() {
    let machine = machine(Kind::Loop);
    look(&machine, "loop7", Purpose::Claim).unwrap();
    machine.unasked("loop7");
    let refusal = look(&machine, "loop7", Purpose::Claim).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Unreadable);
    // Also without a look at the system's own mounts, as for a scratch image.
    let system = machine.system();
    let (node, device) = block_device(&system, &machine.path("dev/loop7")).unwrap();
    let suspect = Suspect::new(&system, &node, &device);
    assert_eq!(suspect.not_used_by_kernel().unwrap_err().kind, RefusalKind::Unreadable);
}

#[test]
fn a_process_that_ends_during_the_check_is_no_reason_and_one_that_hides_its_mounts_is() {
    let ended = machine(Kind::Disk);
    fs::create_dir_all(ended.path("proc/4711/fd")).unwrap();
    look(&ended, "sdb", Purpose::Claim).unwrap();

    let hidden = machine(Kind::Disk);
    // A directory is an error other than that there is no such file.
    fs::create_dir_all(hidden.path("proc/4711/mountinfo")).unwrap();
    assert_eq!(kind(&hidden, "sdb"), RefusalKind::Unreadable);

    for (number, is_end) in
        [(libc::ENOENT, true), (libc::ESRCH, true), (libc::EINVAL, true), (libc::EACCES, false)]
    {
        let error = std::io::Error::from_raw_os_error(number);
        assert_eq!(usage::has_ended(&error), is_end, "{error}");
    }
    assert!(!usage::has_ended(&std::io::Error::other("no number")));
}

#[test]
fn every_mount_namespace_is_read_once_and_none_is_left_out() {
    let namespace = |machine: &Machine, process: u32, name: &str| {
        let folder = machine.path(&format!("proc/{process}/ns"));
        fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(name, folder.join("mnt")).unwrap();
    };
    let mut seen = machine(Kind::Disk);
    for (process, name) in [(4711, "mnt:[1]"), (4712, "mnt:[2]")] {
        namespace(&seen, process, name);
        seen.unmount_all(&process.to_string());
    }
    look(&seen, "sdb", Purpose::Claim).unwrap();
    seen.mount("4712", "8:16", "/mnt", "ext4", "/dev/sdb");
    let refusal = look(&seen, "sdb", Purpose::Claim).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Mounted);
    assert!(refusal.reason.ends_with("(seen by process 4712)"), "{refusal}");
    // The same namespace as one that was read is not read again, whatever its file says.
    let mut twice = machine(Kind::Disk);
    for process in [4711, 4712] {
        namespace(&twice, process, "mnt:[1]");
    }
    twice.unmount_all("4711");
    twice.write("proc/4712/mountinfo", "garbage");
    look(&twice, "sdb", Purpose::Claim).unwrap();
}

#[test]
fn the_access_mode_of_a_descriptor_decides() {
    for (flags, writes) in [
        ("flags:\t0100000", false),
        ("flags:\t0100001", true),
        ("flags:\t0100002", true),
        ("flags:\tnonsense", false),
        ("pos:\t1", false),
    ] {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), format!("pos:\t0\n{flags}\nmnt_id:\t9\n")).unwrap();
        assert_eq!(usage::opened_for_writing(file.path()), writes, "{flags}");
    }
    assert!(!usage::opened_for_writing(Path::new("/no/such/fdinfo")));
}

#[test]
fn a_run_file_without_a_folder_is_looked_for_in_the_current_one() {
    let machine = machine(Kind::Disk);
    let number = crate::nodes::DeviceNumber { major: 8, minor: 17 };
    machine.file(".", NodeKind::Directory(number));
    let context =
        |file: &str| Context { claims: machine.path("claims"), run_file: Some(file.into()) };
    let look = |file: &str| {
        check(&machine.system(), &machine.path("dev/sdb"), Purpose::Claim, &context(file))
    };
    assert_eq!(look("one.seekwell").unwrap_err().kind, RefusalKind::System);
    look("/elsewhere/one.seekwell").unwrap();
}
