use super::*;
use std::fs;
use std::path::{Path, PathBuf};

fn refused(filesystem_name: &str, arguments: &[&str]) -> Option<(usize, &'static str)> {
    let definition = filesystem(filesystem_name).unwrap();
    let found = definition.options.find_refused(arguments.iter().copied());
    found.map(|(index, refused)| (index, refused.option))
}

/// Every spelling that getopt accepts, for every option of the tables.
#[test]
fn every_option_that_opens_a_host_file_is_refused_in_every_spelling() {
    for definition in FILESYSTEMS {
        for option in definition.options.refused {
            let name = definition.name;
            let expected = |index| Some((index, option.option));
            match option.option.split_once(' ') {
                Some((flag, sub)) => {
                    let value = format!("{sub}=/etc/shadow");
                    let later = format!("size=1m,{sub}=/etc/shadow");
                    assert_eq!(refused(name, &[flag, &value]), expected(0), "{name} {value}");
                    assert_eq!(refused(name, &[flag, &later]), expected(0), "{name} {later}");
                    assert_eq!(refused(name, &[&format!("{flag}{value}")]), expected(0), "{name}");
                    assert_eq!(refused(name, &[flag, "size=64m"]), None, "{name} {flag} alone");
                }
                None if option.option.starts_with("--") => {
                    assert_eq!(refused(name, &[option.option, "/etc"]), expected(0), "{name}");
                    let joined = format!("{}=/etc", option.option);
                    assert_eq!(refused(name, &["-f", &joined]), expected(1), "{name}");
                    let short = &option.option[..option.option.len() - 2];
                    assert_eq!(refused(name, &[short, "/etc"]), expected(0), "{name} {short}");
                }
                None => {
                    let letter = &option.option[1..];
                    assert_eq!(refused(name, &[option.option, "/etc"]), expected(0), "{name}");
                    assert_eq!(refused(name, &["-v", &format!("-{letter}/etc")]), expected(1));
                    assert_eq!(refused(name, &[&format!("-v{letter}"), "/etc"]), expected(0));
                }
            }
        }
    }
}

#[test]
fn values_of_other_options_are_no_options() {
    assert_eq!(refused("ext4", &["-L", "-z"]), None, "a label may be called -z");
    assert_eq!(refused("ext4", &["-O", "^dir_index", "-N", "100000", "-m", "0"]), None);
    assert_eq!(refused("ext4", &["-Lz", "-Edlz"]), None);
    assert_eq!(refused("xfs", &["-d", "agcount=8,su=64k", "-l", "size=128m"]), None);
    assert_eq!(refused("btrfs", &["-m", "single", "--csum", "xxhash"]), None);
    assert_eq!(refused("vfat", &["-n", "CARD"]), None);
    assert_eq!(refused("raw", &[]), None);
}

#[test]
fn the_issue_s_examples_are_refused() {
    assert_eq!(refused("ext4", &["-z", "/root/undo"]), Some((0, "-z")));
    assert_eq!(refused("ext3", &["-d", "/etc"]), Some((0, "-d")));
    assert_eq!(refused("btrfs", &["--rootdir", "/etc"]), Some((0, "--rootdir")));
}

#[test]
fn a_list_of_names_reads_as_a_sentence() {
    assert_eq!(names_of(|one| one.name == "xfs"), "xfs");
    assert_eq!(
        names_of(|one| one.journal.is_some_and(|journal| journal.data_modes)),
        "ext3, ext4 or reiserfs"
    );
    assert_eq!(names_of(|_| false), "");
}

#[test]
fn the_default_is_in_the_catalogue_and_what_is_not_available_is_not() {
    assert!(filesystem(DEFAULT_FILESYSTEM).is_some());
    assert!(USUAL_FILESYSTEMS.into_iter().all(|name| filesystem(name).is_some()));
    for (name, _) in NOT_AVAILABLE {
        assert!(filesystem(name).is_none(), "{name}");
    }
}

/// Text in production code outside this room that may name a filesystem: file, a part of the line,
/// and the reason.
const ALLOWED: &[(&str, &str, &str)] = &[
    (
        "cli/src/args/tried.rs",
        "default_value = \"ext4,xfs,btrfs\"",
        "the default of `try` and `advise`",
    ),
    ("host/src/facts/doctor.rs", "on ext4, xfs or tmpfs", "advice about the host's own disks"),
    ("host/src/filesystem/nodes_only.rs", "/dev/btrfs-control", "a device node of the kernel"),
    ("host/src/guard/signature.rs", "btrfs of several devices", "reads a signature on a disk"),
    ("host/src/tree.rs", "fs/btrfs", "members of a mounted filesystem in sysfs"),
    ("host/src/guard/usage.rs", "mounted btrfs", "members of a mounted filesystem in sysfs"),
    ("spec/src/draft.rs", "ext4, xfs and btrfs", "a question of `init`"),
    ("spec/src/draft.rs", "ext4 alone", "a question of `init`"),
    ("spec/src/draft.rs", "a list such as ext4,f2fs", "a question of `init`"),
    ("spec/src/reference.rs", "type = \"", "the example lab"),
    ("spec/src/tables.rs", "mode of ext3, ext4 and reiserfs", "text of the reference"),
    ("spec/src/tables.rs", "runs on ext4", "text of the reference"),
    ("recordings/src/issuers.rs", "\",", "names of the kernel's threads"),
    ("capture/src/resolve/devices.rs", "fs/btrfs", "members of a mounted filesystem in sysfs"),
    ("report/src/atlas/questions.rs", "\"", "questions that people ask"),
    ("cli/src/commands/ask.rs", "\"", "questions that people ask"),
];

#[test]
fn no_other_room_names_a_filesystem() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    sources(&crates, &mut files);
    let mut used = vec![false; ALLOWED.len()];
    let mut found = Vec::new();
    for file in files {
        let path = file.strip_prefix(&crates).unwrap().display().to_string();
        for (number, line) in fs::read_to_string(&file).unwrap().lines().enumerate() {
            if !names_a_filesystem(line) {
                continue;
            }
            let fits = |(index, (of, part, _)): (usize, &(&str, &str, &str))| {
                (path == *of && line.contains(part)).then_some(index)
            };
            match ALLOWED.iter().enumerate().find_map(fits) {
                Some(index) => used[index] = true,
                None => found.push(format!("{path}:{}: {}", number + 1, line.trim())),
            }
        }
    }
    assert_eq!(found, [""; 0], "give its definition a field instead");
    for (allowed, used) in ALLOWED.iter().zip(used) {
        assert!(used, "{allowed:?} fits nothing any more");
    }
}

/// True if a text in quotes on this line has the name of a filesystem as a word.
fn names_a_filesystem(line: &str) -> bool {
    let code = line.trim_start();
    if code.starts_with("//") {
        return false;
    }
    // Small filesystems in memory are mounted for many purposes; NFS is a protocol, too.
    let others = ["raw", "tmpfs", "nfs"];
    let names = FILESYSTEMS.iter().map(|one| one.name).filter(|name| !others.contains(name));
    let mut all: Vec<&str> = names.collect();
    all.extend(["Btrfs", "XFS"]);
    let quoted = code.split('"').skip(1).step_by(2);
    let continued = (!code.contains('"')).then_some(code).filter(|text| text.ends_with('\\'));
    quoted.chain(continued).any(|text| {
        text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| all.contains(&word))
    })
}

/// Production sources of the other rooms.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let skipped = [
            "tests", "tests.rs", "model", "testing", "fixtures", "bench", "examples", "benches",
            "fixture.rs",
        ];
        if skipped.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            sources(&path, into);
        } else if name.ends_with(".rs") {
            into.push(path);
        }
    }
}
