use super::*;

fn candidates(
    shared: Result<Space, &'static str>,
    scratch: Result<Space, &'static str>,
) -> [Candidate; 2] {
    [(PathBuf::from("/dev/shm"), shared), (PathBuf::from("/tmp"), scratch)]
}

fn gib(count: u64) -> Bytes {
    Bytes::mib(1024 * count)
}

fn free(free: u64, of: u64) -> Result<Space, &'static str> {
    Ok(Space { free: gib(free), size: gib(of) })
}

#[test]
fn as_many_guests_as_requested_where_they_fit() {
    let found = choose(gib(2), 2, gib(24), &candidates(free(12, 12), free(70, 250))).unwrap();
    assert_eq!(
        found,
        MemoryCapacity { directory: "/dev/shm".into(), guests: 2, frozen: gib(5), note: None }
    );
}

#[test]
fn fewer_at_a_time_rather_than_on_a_disk_with_a_note() {
    let found = choose(gib(8), 2, gib(24), &candidates(free(12, 12), free(70, 250))).unwrap();
    let note = "1 of 2 guests of 8GiB fit into memory at a time";
    let expected = MemoryCapacity {
        directory: "/dev/shm".into(),
        guests: 1,
        frozen: gib(4),
        note: Some(note.to_owned()),
    };
    assert_eq!(found, expected);
}

#[test]
fn elsewhere_no_more_than_fit_into_the_machine_with_the_remedy() {
    // 2 GiB of it are in use, which a smaller size would have to leave.
    let found = choose(gib(16), 2, gib(24), &candidates(free(10, 12), free(70, 250))).unwrap();
    assert_eq!((found.directory, found.guests), (PathBuf::from("/tmp"), 1));
    assert_eq!(
        found.note.unwrap(),
        "1 of 2 guests of 16GiB fit into memory at a time; guest memory is in /tmp because /dev/shm has \
         10GiB free; on a disk this makes trials several times slower; to fix: mount -o \
         remount,size=18432m /dev/shm"
    );
    let noexec = candidates(Err(NOEXEC), free(70, 250));
    let found = choose(gib(2), 2, gib(24), &noexec).unwrap();
    assert_eq!(found.guests, 2);
    let note = found.note.unwrap();
    assert!(note.ends_with("; to fix: mount -o remount,exec /dev/shm"), "{note}");
}

#[test]
fn one_guest_larger_than_the_machine_is_tried_and_none_without_space() {
    let found = choose(gib(32), 2, gib(24), &candidates(free(12, 12), free(70, 250))).unwrap();
    assert_eq!((found.guests, found.frozen), (1, Bytes(0)));
    let refused =
        choose(gib(80), 2, gib(24), &candidates(free(12, 12), Err("cannot be written to")));
    assert_eq!(
        refused.unwrap_err(),
        "/dev/shm has 12GiB free, /tmp cannot be written to; to fix: mount -o remount,size=81920m /dev/shm"
    );
}

#[test]
fn this_machine_has_memory() {
    assert!(machine_memory() > Bytes::mib(64));
    let (directory, space) = look(Path::new("/proc/self/no-such"));
    assert_eq!((directory, space), (PathBuf::from("/proc/self/no-such"), Err("cannot be used")));
}

#[test]
fn shared_memory_is_replaced_by_huge_pages_where_this_process_may_mount() {
    let elsewhere = tempfile::tempdir().unwrap();
    let own = std::fs::canonicalize(elsewhere.path()).unwrap();
    assert_eq!(in_huge_pages(elsewhere.path()).unwrap(), own);
    let found = in_huge_pages(Path::new(SHARED_MEMORY)).unwrap();
    assert_eq!(in_huge_pages(Path::new(SHARED_MEMORY)).unwrap(), found, "one for the process");
    if !rustix::process::geteuid().is_root() {
        // An ordinary user has the directory itself.
        assert!(found.is_absolute(), "{}", found.display());
        return;
    }
    let Ok(entry) = found.strip_prefix("/proc") else {
        seekwell_testing::skip(
            "shared_memory_is_replaced_by_huge_pages_where_this_process_may_mount",
            "this kernel has no tmpfs of huge pages, or root may not mount here",
        );
        return;
    };
    assert!(entry.starts_with(std::process::id().to_string()), "{}", found.display());
    std::fs::write(found.join("file"), "content").unwrap();
    assert!(!Path::new(SHARED_MEMORY).join("file").exists());
    std::fs::remove_file(found.join("file")).unwrap();
}

#[test]
fn the_available_memory_is_a_part_of_the_machines() {
    let available = available().unwrap();
    assert!(available > Bytes::mib(1) && available <= machine_memory(), "{available}");
}
