use super::*;

#[test]
fn counters_are_read_and_subtracted() {
    let text = "  100 1 2000 50 200 3 4000 70 0 60 120 0 0 0 0 9 9\n";
    let found = DiskCounters::parse(text).unwrap();
    let expected = DiskCounters {
        read_bytes: 1_024_000,
        written_bytes: 2_048_000,
        requests: 300,
        in_progress_ms: 120,
    };
    assert_eq!(found, expected);
    assert_eq!(found.since(DiskCounters { requests: 299, ..expected }).requests, 1);
    assert_eq!(DiskCounters::parse("1 2 3"), None);
}

#[test]
fn a_file_with_its_inode_and_device_is_found_and_a_replay_leaves_nothing() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("check_directory", "needs root to make an undo list");
    }
    let folder = tempfile::tempdir().unwrap();
    let system = System::host();
    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    let path = work.join("file");
    fs::write(&path, "data").unwrap();
    let lines = mounts::of_self(&system).unwrap();
    let device = joined(mount_of(&lines, &path).unwrap().number).unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    let file = RecordedFile { path, device, inode };
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let find = |kernel: &str, file: &RecordedFile| {
        let files = std::slice::from_ref(file);
        RecordedFilesystem::find(&system, Some(kernel), files, Some(&work)).unwrap()
    };
    let found = find(kernel.trim(), &file).unwrap();
    assert_eq!(found.directory, folder.path());
    let of_another = RecordedFile { inode: inode + 1, ..file.clone() };
    assert_eq!(find(kernel.trim(), &of_another), Err(Absent::Elsewhere));
    assert_eq!(find("5.0-other", &of_another), Err(Absent::Elsewhere));
    let said = find("5.0-other", &file).unwrap_err().to_string();
    let here = kernel.trim();
    assert_eq!(said, format!("it was recorded on Linux 5.0-other, and this is Linux {here}"));
    let elsewhere = find(here, &RecordedFile { device: device + 1, ..file });
    assert_eq!(elsewhere, Err(Absent::Elsewhere));

    let lists = folder.path().join("lists");
    let names = |at: &Path| fs::read_dir(at).unwrap().count();
    let mut check = CheckDirectory::make(&system, &lists, &found).unwrap();
    fs::create_dir(check.path().join("inner")).unwrap();
    fs::write(check.path().join("inner/file"), "data").unwrap();
    check.sync().unwrap();
    check.drop_pages().unwrap();
    check.renew().unwrap();
    assert_eq!((names(&check.path()), names(&lists)), (0, 1));
    fs::write(check.path().join("file"), "data").unwrap();
    check.remove().unwrap();
    assert_eq!((names(folder.path()), names(&lists)), (2, 0));
}
