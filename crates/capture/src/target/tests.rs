use super::*;

#[test]
fn a_thread_of_the_kernel_is_told_from_a_program() {
    assert!(!is_of_kernel(std::process::id()));
    // Number 2 is the first of them, but in a namespace of processes.
    let name = std::fs::read_to_string("/proc/2/comm").unwrap_or_default();
    if name.trim_end() != "kthreadd" {
        return seekwell_testing::skip("a_thread_of_the_kernel", "no kthreadd is seen here");
    }
    assert!(is_of_kernel(2));
}

#[test]
fn members_are_those_of_a_cgroup_and_of_all_below() {
    let root = tempfile::tempdir().unwrap();
    let below = root.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(root.path().join("cgroup.procs"), "1\n20\n").unwrap();
    std::fs::write(below.join("cgroup.procs"), "300\n").unwrap();
    let mut found = members(root.path());
    found.sort_unstable();
    assert_eq!(found, [1, 20, 300]);
}

#[test]
fn files_that_a_process_has_open_are_used_and_its_pipes_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().canonicalize().unwrap().join("open");
    let _file = std::fs::File::create(&path).unwrap();
    let used = used(&Target::Process(std::process::id()));
    assert!(used.contains(&path), "{used:?}");
    assert!(used.contains(&std::env::current_dir().unwrap()), "{used:?}");
    assert!(used.iter().all(|path| path.is_absolute()), "{used:?}");
}
