use super::*;

#[test]
fn a_skip_is_one_line_whatever_its_reason_holds() {
    assert_eq!(
        skip_line("mounts_xfs", "needs root,\nand a loop\tdevice"),
        "SKIPPED: mounts_xfs: needs root, and a loop device\n"
    );
}

#[test]
fn skips_of_many_threads_arrive_whole_in_one_log() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("skips");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for round in 0..50 {
                    append(log, &skip_line(&format!("t{thread}_{round}"), "no root")).unwrap();
                }
            });
        }
    });
    let mut lines: Vec<String> =
        std::fs::read_to_string(&log).unwrap().lines().map(String::from).collect();
    lines.sort();
    let mut expected: Vec<String> =
        (0..8).flat_map(|t| (0..50).map(move |r| format!("SKIPPED: t{t}_{r}: no root"))).collect();
    expected.sort();
    assert_eq!(lines, expected);
}

#[test]
fn a_log_that_cannot_be_written_is_an_error() {
    assert!(append(Path::new("/proc/no-such-folder/skips"), "line\n").is_err());
}

#[test]
fn only_an_executable_file_is_a_tool() {
    let first = tempfile::tempdir().unwrap();
    let second = tempfile::tempdir().unwrap();
    std::fs::write(first.path().join("mkfs.test"), "not executable").unwrap();
    let program = second.path().join("mkfs.test");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::create_dir(second.path().join("mkfs.folder")).unwrap();
    let folders = || [first.path().to_owned(), second.path().to_owned()].into_iter();

    assert_eq!(find_tool("mkfs.test", folders()), Some(program));
    assert_eq!(find_tool("mkfs.folder", folders()), None);
    assert_eq!(find_tool("mkfs.none", folders()), None);
}

#[test]
fn finds_the_shell_and_misses_the_absent() {
    assert!(tool("sh").is_some());
    assert_eq!(tool("seekwell-no-such-tool"), None);
}

#[test]
fn a_sample_is_drawn_by_its_seed_alone() {
    assert_eq!(sample(3, 5, 1), [0, 1, 2]);
    let drawn = sample(100, 10, 1);
    assert_eq!(drawn.len(), 10);
    assert!(drawn.is_sorted_by(|a, b| a < b) && drawn[9] < 100, "{drawn:?}");
    assert_eq!(drawn, sample(100, 10, 1));
    assert_ne!(drawn, sample(100, 10, 2));
}
