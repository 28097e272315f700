//! `seekwell device probe` from outside, on models: a model of a disk, and devices that cannot be probed.

use super::{data, seekwell, talk};
use std::path::Path;

#[test]
fn a_probed_disk_is_a_device_that_can_be_shown() {
    let directory = tempfile::tempdir().unwrap();
    let probe = || {
        let mut command = seekwell(directory.path());
        command.args([
            "probe", "--model", "wd-raptor-wd740gd", "--name", "mine", "--write", "-o", "mine.toml",
        ]);
        command.output().unwrap()
    };
    let probed = probe();
    let said = talk(&probed);
    assert_eq!(probed.status.code(), Some(0), "{said}");
    for line in
        ["probing: seek curve\n", "rotation              10000.00 rpm", "withheld: random reads"]
            .into_iter()
            .chain(["write cache           409", "withheld: random writes, each flushed"])
    {
        assert!(said.contains(line), "{said}");
    }
    assert!(said.ends_with("wrote mine.toml\n"), "{said}");
    assert!(said.contains(" measurements (33 %), and a mixed trace, which no fit saw\n"), "{said}");
    // In which write of the mixed trace the cache is full is chance.
    let doubted = said.lines().filter(|line| line.contains("do not believe"));
    assert!(doubted.clone().all(|line| line.contains("mixed trace, writes")), "{said}");

    let shown = seekwell(directory.path()).args(["device", "show", "mine.toml"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", talk(&shown));
    let shown = data(&shown);
    assert!(shown.contains("Published figures and the model"), "{shown}");
    // Where the head stands at a dozen flushes of one write each is chance, too.
    let off = shown.lines().filter(|line| line.contains("off by more than"));
    assert!(off.clone().all(|line| line.contains("flush after 1 random writes")), "{shown}");

    let again = probe();
    assert_eq!(again.status.code(), Some(1));
    assert_eq!(
        talk(&again),
        "seekwell: error: mine.toml exists and is not overwritten; name another file, or remove it\n"
    );
}

#[test]
fn a_device_that_cannot_be_probed_is_refused_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("image"), "").unwrap();
    let refused = |arguments: &[&str]| {
        let mut probe = seekwell(directory.path());
        let output = probe.arg("probe").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", talk(&output));
        talk(&output)
    };
    assert_eq!(
        refused(&["none"]),
        "seekwell: error: cannot open none for reading: No such file or directory (os error 2)\n"
    );
    assert_eq!(
        refused(&["image"]),
        "seekwell: error: image is not a block device; name a disk such as /dev/sdb\n"
    );
    assert_eq!(
        refused(&["--model", "wd-raptor-wd740gd", "--name", "My disk"]),
        "seekwell: error: the name 'My disk' cannot be used; make it of small letters, digits and '-'\n"
    );
    // Before the minutes of a probe, not after them.
    assert_eq!(
        refused(&["--model", "wd-raptor-wd740gd", "-o", "none/mine.toml"]),
        "seekwell: error: there is no folder none for the output; make it with mkdir -p, or name another\n"
    );
    let ram = refused(&["--model", "ssd-sata-250gb"]);
    assert!(
        ram.ends_with(
            "no rotation found: the ends of reads follow no period between 3,000 and 20,000 turns a minute; flash is probed with --write, which destroys its content\n"
        ),
        "{ram}"
    );
}

#[test]
fn a_volume_of_a_cloud_is_probed_without_a_write() {
    let directory = tempfile::tempdir().unwrap();
    let mut probe = seekwell(directory.path());
    let probed =
        probe.args(["probe", "--model", "cloud-gp3-100gb", "-o", "volume.toml"]).output().unwrap();
    let said = talk(&probed);
    assert_eq!(probed.status.code(), Some(0), "{said}");
    for line in [
        "probing: limits of requests and bytes\n",
        "  kind                  volume with a limit of requests\n",
        "limit, reads          3000 /s (",
        "limit, bytes read     131 MB/s (",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(!said.contains("do not believe"), "{said}");
    let mut show = seekwell(directory.path());
    let shown = show.args(["device", "show", "volume.toml"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", talk(&shown));
    assert!(!data(&shown).contains("off by more than"), "{}", data(&shown));
    is_checked(directory.path());
}

/// `volume.toml` fails the check because no drive was probed, and passes it with one; `mine` is a user's name.
fn is_checked(directory: &Path) {
    let mut probe = seekwell(directory);
    probe.args(["probe", "--model", "cloud-gp3-100gb", "--seed", "2", "-o", "again.toml"]);
    assert_eq!(probe.output().unwrap().status.code(), Some(0));
    let check = |words: &[&str], user: &str| {
        let mut check = seekwell(directory);
        check.env("USER", user).args(["device", "check"]).args(words).output().unwrap()
    };
    let checked = check(&["volume.toml", "again.toml"], "me");
    let words: Vec<String> =
        data(&checked).lines().map(|line| line.chars().take(16).collect()).collect();
    assert_eq!(
        words,
        [
            "pass  schema    ", "fail  provenance", "pass  accuracy  ", "pass  agreement ",
            "pass  privacy   "
        ]
    );
    assert_eq!(checked.status.code(), Some(5));
    for name in ["volume.toml", "again.toml"] {
        let path = directory.join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let named = text.replace("[probed]\n", "[probed]\ndrive = \"MINE GP3\"\n");
        std::fs::write(&path, named).unwrap();
    }
    let checked = check(&["volume.toml", "again.toml"], "me");
    assert_eq!(checked.status.code(), Some(0), "{}", data(&checked));
    let checked = check(&["volume.toml"], "mine");
    let said = data(&checked);
    assert!(said.contains("open  agreement   not checked"), "{said}");
    assert!(said.contains("the name of a user of this machine in line "), "{said}");
    assert_eq!(checked.status.code(), Some(5));
    let none = check(&["none.toml"], "me");
    assert_eq!(none.status.code(), Some(1));
    assert!(talk(&none).contains("cannot read the device file none.toml"), "{}", talk(&none));
}

#[test]
fn a_probed_card_is_a_device_that_can_be_shown() {
    let directory = tempfile::tempdir().unwrap();
    let mut probe = seekwell(directory.path());
    probe.args(["probe", "--model", "usb2-stick-128mb", "--write", "-o", "stick.toml"]);
    let probed = probe.output().unwrap();
    let said = talk(&probed);
    assert_eq!(probed.status.code(), Some(0), "{said}");
    for line in
        ["probing: open units", "erase unit            16 KiB\n", "open units            2\n"]
    {
        assert!(said.contains(line), "{said}");
    }
    assert!(!said.contains("do not believe"), "{said}");
    let shown = seekwell(directory.path()).args(["device", "show", "stick.toml"]).output().unwrap();
    assert_eq!(shown.status.code(), Some(0), "{}", talk(&shown));
}
