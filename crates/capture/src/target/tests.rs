use super::*;

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

/// Nearly every process has something open in `/dev/shm`, and the output is best there.
#[test]
fn an_output_in_memory_is_allowed_whatever_the_process_has_open_there() {
    let Ok(shared) = tempfile::tempdir_in("/dev/shm") else {
        return seekwell_testing::skip("an_output_in_memory", "needs /dev/shm");
    };
    if !is_in_memory(shared.path()) {
        return seekwell_testing::skip("an_output_in_memory", "/dev/shm is not in memory");
    }
    let _open = std::fs::File::open(shared.path()).unwrap();
    let output = shared.path().join("trace");
    let options = Options::new(output.clone(), Target::Process(std::process::id()));
    assert_eq!(checked_paths(&options).unwrap(), [""; 0]);
    // A directory that is traced by its name stays apart from the output.
    let options = Options { paths: vec![shared.path().to_owned()], ..options };
    assert!(matches!(checked_paths(&options), Err(CaptureError::OutputRecorded { .. })));
}
