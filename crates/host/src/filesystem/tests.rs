use super::*;
use seekwell_model::filesystems::{FILESYSTEMS, filesystem};
use seekwell_model::stack::DataMode;

mod kernel;

fn plain(kind: &str) -> Filesystem {
    Filesystem {
        name: kind.to_owned(),
        kind: kind.to_owned(),
        mkfs: Vec::new(),
        mount: Vec::new(),
        discard: false,
        overlay: None,
        nfs: None,
        export: None,
    }
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn commands(filesystem: &Filesystem, journal: &Journal, external: bool) -> Result<Vec<String>> {
    let definition = seekwell_model::filesystems::filesystem(&filesystem.kind).unwrap();
    let layout = Layout {
        definition,
        filesystem,
        journal,
        data: Path::new("/dev/data"),
        journal_device: external.then_some(Path::new("/dev/journal")),
        sector: Bytes(512),
    };
    let lines = mkfs_commands(&layout)?;
    Ok(lines.iter().map(|words| crate::program::line(words.iter().map(String::as_str))).collect())
}

#[test]
fn the_command_lines_of_every_filesystem() {
    let mut text = String::new();
    for definition in FILESYSTEMS {
        for external in [false, true] {
            for discard in [false, true] {
                let mut stack = plain(definition.name);
                stack.discard = discard;
                let place = if external { "external" } else { "internal" };
                let title =
                    format!("{} {place}{}", definition.name, if discard { " discard" } else { "" });
                let lines = match commands(&stack, &Journal::internal(), external) {
                    Ok(lines) => lines,
                    Err(error) => vec![format!("! {error}")],
                };
                let device = external.then_some(Path::new("/dev/journal"));
                let options = mount_options(definition, &stack, &Journal::internal(), device);
                let options =
                    options.map_or_else(|error| format!("! {error}"), |list| list.join(","));
                text.push_str(&format!("{title}\n  {}\n  mount: {options}\n", lines.join("\n  ")));
            }
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_users_arguments_come_last_and_win() {
    let journal = Journal { size: Some(Bytes::mib(128)), ..Journal::internal() };
    let mut ext4 = plain("ext4");
    ext4.mkfs = strings(&[
        "-E", "stride=16,lazy_itable_init=1", "-O", "^dir_index", "-J", "size=32", "-b", "1024",
    ]);
    insta::assert_snapshot!(commands(&ext4, &journal, false).unwrap().join("\n"), @"mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=1,lazy_journal_init=0,nodiscard,stride=16 -J size=32 -O ^dir_index -b 1024 /dev/data");
    let mut xfs = plain("xfs");
    xfs.mkfs = strings(&["-bsize=1024", "-l", "su=4k", "-m", "reflink=0", "-m", "crc=1"]);
    insta::assert_snapshot!(commands(&xfs, &journal, true).unwrap().join("\n"), @"mkfs.xfs -q -f -b size=1024 -K -l logdev=/dev/journal,size=128m,su=4k -m reflink=0,crc=1 /dev/data");
}

#[test]
fn sector_size_makes_the_clusters_of_fat_equal() {
    let definition = filesystem("vfat").unwrap();
    let stack = plain("vfat");
    for (sector, expected) in [(512, "8"), (4096, "1"), (16384, "1")] {
        let layout = Layout {
            definition,
            filesystem: &stack,
            journal: &Journal::internal(),
            data: Path::new("/dev/data"),
            journal_device: None,
            sector: Bytes(sector),
        };
        let words = mkfs_commands(&layout).unwrap().remove(0);
        let position = words.iter().position(|word| word == "-s").unwrap();
        assert_eq!(words[position + 1], expected);
    }
}

#[test]
fn impossible_journals_are_refused_in_words() {
    let sized = |size| Journal { size: Some(size), ..Journal::internal() };
    let said = |kind: &str, journal: Journal, external| {
        commands(&plain(kind), &journal, external).unwrap_err().to_string()
    };
    insta::assert_snapshot!(said("btrfs", Journal::internal(), true), @"btrfs cannot have its journal on another device; use the internal journal");
    insta::assert_snapshot!(said("xfs", sized(Bytes::mib(32)), true), @"a journal of 32MiB is too small for xfs; make it at least 64MiB");
    insta::assert_snapshot!(said("ext4", sized(Bytes(5_000_000)), false), @r#"a journal of 5000000B is not possible: mkfs takes whole MiB; write for example "64MiB""#);
    let data = Journal { data: Some(DataMode::Journal), ..Journal::internal() };
    let xfs = filesystem("xfs").unwrap();
    insta::assert_snapshot!(mount_options(xfs, &plain("xfs"), &data, None).unwrap_err(), @"xfs has no data=journal; remove 'data' from the journal");
}

#[test]
fn mount_options_are_ordered_and_the_users_come_last() {
    let mut ext3 = plain("ext3");
    ext3.mount = strings(&["noatime,barrier=1", "commit=30"]);
    let journal = Journal { data: Some(DataMode::Writeback), ..Journal::internal() };
    let options = mount_options(filesystem("ext3").unwrap(), &ext3, &journal, None).unwrap();
    assert_eq!(options, ["nodiscard", "data=writeback", "noatime", "barrier=1", "commit=30"]);

    let xfs = filesystem("xfs").unwrap();
    let journal_device = Some(Path::new("/dev/loop9"));
    let options = mount_options(xfs, &plain("xfs"), &Journal::internal(), journal_device).unwrap();
    assert_eq!(options, ["logdev=/dev/loop9"]);
}

#[test]
fn journals_have_the_same_size_inside_and_outside() {
    for definition in FILESYSTEMS.iter().filter(|definition| definition.journal.is_some()) {
        let stack = plain(definition.name);
        let size = definition.journal.unwrap().default;
        let inside = commands(&stack, &Journal::internal(), false).unwrap().join("\n");
        let outside = commands(&stack, &Journal::internal(), true).unwrap().join("\n");
        let named = |text: &str| {
            text.contains(&(size.0 >> 20).to_string())
                || text.contains(&(size.0 / 4096).to_string())
        };
        assert!(named(&inside), "{inside}");
        assert!(named(&outside) || definition.journal.unwrap().fills_device, "{outside}");
    }
}

#[test]
fn letters_that_name_files_are_refused() {
    let machine = crate::fixture::Machine::new();
    let system = machine.system();
    for mkfs in [&["-z", "undo"][..], &["-r", "etc"], &["-d", "etc"], &["--source", "x"]] {
        let mut stack = plain("ext4");
        stack.mkfs = strings(mkfs);
        let checked = check_arguments(&system, &stack, Path::new("/dev/data"), None);
        assert!(checked.is_err(), "{mkfs:?}: programs run in the root folder");
    }
}

#[test]
fn arguments_that_reach_another_device_or_file_are_refused() {
    let mut machine = crate::fixture::Machine::new();
    machine.disk("sdb", "8:16", 64);
    let system = machine.system();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("letter.txt");
    std::fs::write(&file, "dear").unwrap();
    let refused = |argument: &str| {
        let argument = argument.replace("FILE", file.to_str().unwrap());
        let mut stack = plain("ext4");
        stack.mkfs = vec![argument.clone()];
        let by_mkfs = check_arguments(&system, &stack, Path::new("/dev/data"), None).is_err();
        let mut stack = plain("ext4");
        stack.mount = vec![argument];
        let by_mount = check_arguments(&system, &stack, Path::new("/dev/data"), None).is_err();
        assert_eq!(by_mkfs, by_mount);
        by_mkfs
    };
    for argument in [
        "/dev/sdb", "logdev=/dev/sdb", "size=64m,logdev=/dev/sdb", "-j/dev/sdb", "device=/dev/sdb",
        "device=UUID=1234-5678", "device=LABEL=journal", "journal_dev=0x810",
        "journal_path=/dev/sdb", "name=/new/file", "source=/dev/sdb", "stripe:/dev/sdb", "FILE",
        "-dFILE", "root=FILE",
        // What they name is read or written, whether it exists or not.
        "/usr", "-d/etc", "--rootdir=/etc", "--rootdir", "/new/undo-file", "-z/new/undo-file",
        "options=/etc/secret",
    ] {
        assert!(refused(argument), "{argument}");
    }
    for argument in [
        "-O", "^dir_index", "size=64m,lazy-count=1", "-L", "label", "-d", "single", "-z", "4",
        "commit=30", "uid=0", "stride=16,stripe_width=32", "-m0", "device=/dev/data",
    ] {
        assert!(!refused(argument), "{argument}");
    }
}

#[test]
fn the_stacks_own_journal_may_be_named_and_no_other_device() {
    let mut machine = crate::fixture::Machine::new();
    machine.disk("sdb", "8:16", 64);
    let system = machine.system();
    let mut stack = plain("xfs");
    stack.mount = strings(&["logdev=/dev/journal"]);
    let journal = Some(Path::new("/dev/journal"));
    check_arguments(&system, &stack, Path::new("/dev/data"), journal).unwrap();
    stack.mkfs = strings(&["/dev/sdb"]);
    let error = check_arguments(&system, &stack, Path::new("/dev/data"), journal).unwrap_err();
    insta::assert_snapshot!(error, @"the argument '/dev/sdb' leads to a block device that is not the stack's own; leave devices to [[device]] and [[journal]]");
}

#[test]
fn only_the_options_named_are_merged() {
    let merged =
        |words: &[&str], options: &[&str]| arguments::merged(strings(words), options).join(" ");
    assert_eq!(merged(&["-E", "a,b=1", "-O", "x", "-E", "b=2,c"], &["-E"]), "-E a,b=2,c -O x");
    assert_eq!(merged(&["-E", "a", "-Ea=3"], &["-E"]), "-E a=3");
    assert_eq!(merged(&["-O", "x", "-O", "y"], &["-E"]), "-O x -O y");
    assert_eq!(
        merged(&["-E", "nodiscard", "-E", "discard"], &["-E"]),
        "-E nodiscard,discard",
        "the last word counts"
    );
    assert_eq!(
        merged(&["-K", "-E"], &["-E"]),
        "-K -E",
        "an option without its value is left to mkfs"
    );
    assert_eq!(merged(&[], &["-E"]), "");
}
