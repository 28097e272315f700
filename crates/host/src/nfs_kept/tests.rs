use super::*;
use crate::fixture::Machine;

#[test]
fn settings_are_found_by_their_folder_and_their_kind() {
    let machine = Machine::new();
    let mounts = "nfsd /var/a\\040b.nfsd nfsd rw 0 0\nnfsd /proc/fs/nfsd nfsd rw 0 0\next4 /x.nfsd ext4 rw 0 0";
    machine.write("proc/1/mounts", mounts);
    let is_there = |path: &str| is_mounted(&machine.system(), Path::new(path));
    assert!(is_there("/var/a b.nfsd"));
    assert!(!is_there("/x.nfsd"), "another filesystem");
    assert!(!is_there("/var/a"));
}

#[test]
fn a_server_that_cannot_be_stopped_stays_in_the_list_with_its_remedy() {
    let machine = Machine::new();
    let path = machine.path("run/one.nfsd");
    machine.write("proc/1/mounts", &format!("nfsd {} nfsd rw 0 0", path.display()));
    let problem = end(&machine.system(), &path).unwrap_err();
    assert!(problem.contains("echo 0 >") && problem.contains("umount"), "{problem}");
}
