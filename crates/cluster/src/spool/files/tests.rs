use super::*;
use rustix::io::Errno;
use std::cell::Cell;

#[test]
fn no_two_writers_have_one_unfinished_file() {
    let names = [("a.b", 7, "1"), ("a.b", 8, "1"), ("a.b", 7, "2"), ("a.c", 7, "1"), ("a", 7, "1")];
    let names = names.map(|(host, process, thread)| unfinished(host, process, thread));
    let different: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with('.')), "no name of a share: {names:?}");
}

#[test]
fn two_workers_of_a_node_whose_name_has_a_dot_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: String| folder.path().join(name);
    let (first, second) = (path("first".to_owned()), path("second".to_owned()));
    std::thread::scope(|scope| {
        for (to, process) in [(&first, 7), (&second, 8)] {
            scope.spawn(move || {
                let text = format!("{process}").repeat(100);
                let unfinished = path(unfinished("a.b", process, "1"));
                (0..500).for_each(|_| write(to, &unfinished, text.as_bytes(), false).unwrap());
            });
        }
    });
    let read = |path| fs::read_to_string(path).unwrap();
    assert_eq!((read(first), read(second)), ("7".repeat(100), "8".repeat(100)));
}

/// The result of a read whose first answers have this error, and the number of attempts.
fn read_after(failures: u32, error: Errno) -> (Result<u8, Option<i32>>, u32) {
    let attempts = Cell::new(0);
    let read = || {
        attempts.set(attempts.get() + 1);
        if attempts.get() <= failures { Err(error.into()) } else { Ok(3) }
    };
    let read = patiently(&read, Duration::ZERO);
    (read.map_err(|error| error.raw_os_error()), attempts.get())
}

#[test]
fn a_file_that_another_node_replaces_is_read_again() {
    for error in [Errno::STALE, Errno::IO, Errno::TIMEDOUT] {
        assert_eq!(read_after(READS - 1, error), (Ok(3), READS));
        assert_eq!(read_after(READS, error), (Err(Some(error.raw_os_error())), READS));
    }
    let denied = Errno::ACCESS;
    assert_eq!(read_after(1, denied), (Err(Some(denied.raw_os_error())), 1), "it stays so");
}

/// A mount that was moved with its folder; dropping it ends it.
struct Mounted([PathBuf; 3]);

impl Drop for Mounted {
    fn drop(&mut self) {
        for path in &self.0 {
            // It is at one of them.
            let _ = rustix::mount::unmount(path, rustix::mount::UnmountFlags::DETACH);
        }
    }
}

/// A mount below the folder keeps it as busy as a log that a process on another node has open does on NFS.
#[test]
fn a_folder_that_stays_busy_is_tried_until_the_time_is_over() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("a_folder_that_stays_busy", "needs root for a mount");
    }
    let folder = tempfile::tempdir().unwrap();
    let (path, kept) = (folder.path().join("x.nodes"), folder.path().join("kept"));
    fs::create_dir_all(path.join("logs")).unwrap();
    fs::create_dir(&kept).unwrap();
    // Each removal gives the folder another name first.
    let moved = |times| folder.path().join(format!("x.nodes{}/logs", ".removed".repeat(times)));
    if rustix::mount::mount_bind(&kept, moved(0)).is_err() {
        return seekwell_testing::skip("a_folder_that_stays_busy", "no mounts here");
    }
    let mounted = Mounted([0, 1, 2].map(moved));
    let begun = Instant::now();
    let removed = remove_within(&path, Duration::from_millis(300));
    let took = begun.elapsed();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(200));
            drop(mounted);
        });
        let again = remove_within(&folder.path().join("x.nodes.removed"), Duration::from_secs(20));
        assert!(again.is_ok(), "{again:?}");
    });
    assert!(removed.unwrap_err().to_string().contains("busy"), "and not for ever");
    assert!(took >= Duration::from_millis(300), "{took:?}");
}
