use super::*;
use seekwell_recordings::info::Share;

/// A summary whose directories take this many nanoseconds of calls.
fn of(directories: &[(&str, u64)]) -> Summary {
    let share = |(name, time_ns): &(&str, u64)| Share {
        name: (*name).to_owned(),
        calls: 1,
        time_ns: *time_ns,
        bytes: 0,
    };
    Summary { top_directories: directories.iter().map(share).collect(), ..Summary::default() }
}

#[test]
fn a_load_that_was_started_elsewhere_moves_with_its_own_folder() {
    let summary = of(&[("/data/box/new/", 500), ("/data/box/tmp/", 450), ("/usr/lib/", 9000)]);
    assert_eq!(busiest(&summary, Some("/root")).as_deref(), Some("/data/box"));
    assert_eq!(busiest(&summary, None).as_deref(), Some("/data/box"));
    assert_eq!(busiest(&summary, Some("/data")), None, "the walked folder has it all");
    // A sibling that begins with the same letters is another folder.
    assert_eq!(busiest(&summary, Some("/data/bo")).as_deref(), Some("/data/box"));
}

#[test]
fn programs_and_files_without_a_common_folder_choose_none() {
    assert_eq!(busiest(&of(&[("/usr/lib/", 10), ("pipe:[7]", 5), ("/", 5)]), Some("/root")), None);
    assert_eq!(busiest(&of(&[]), None), None);
    assert_eq!(busiest(&of(&[("/srv/a/", 5), ("/data/b/", 5)]), Some("/root")), None);
}
