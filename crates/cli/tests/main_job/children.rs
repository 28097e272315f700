//! Programs that a run starts: they get descriptors 0, 1 and 2, and see nothing of Seekwell's own.

use super::{can_run, seekwell, talk};
use std::fs;
use std::process::Command;

/// Appends the descriptors of a new process to a file, a line each time: `ls` has the folder itself as its next one.
const LIST: &str = "open=$(ls /proc/self/fd); echo $open >>'DIR/descriptors-NAME'";

/// Looks for everything of ours, and puts a claim, a note and an undo list there.
const FORGE: &str = "for name in claims/x.json planned/0 undo/x.undo; do
    mkdir -p /var/lib/seekwell/${name%/*}
    echo forged >/var/lib/seekwell/$name
done 2>/dev/null
find /var/lib/seekwell -mindepth 1 ! -path '*/undo/mnt*' >>'DIR/seen'
find .. ../.. ../../.. -name '*.undo' -o -name machine.lock >>'DIR/seen' 2>/dev/null";

const LAB: &str = r#"
[lab]
name = "children"
[[device]]
name = "scratch"
ram = { size = "64MiB" }
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none"]
[[workload]]
kind = "command"
run = "sh 'DIR/look' && echo kept >{dir}/file && test -s {dir}/file"
[judge]
metric = "command.elapsed_durable"
rounds = 6
"#;

#[test]
fn programs_of_a_run_get_three_descriptors_and_see_nothing_of_ours() {
    let test = "programs_of_a_run_get_three_descriptors_and_see_nothing_of_ours";
    let Some(_machine) = can_run(test, &["mkfs.ext4", "unshare"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path();
    let here = directory.to_str().unwrap();
    let write = |name: &str, text: &str| {
        fs::write(directory.join(name), text.replace("DIR", here)).unwrap();
    };
    fs::create_dir_all(directory.join("real")).unwrap();
    fs::create_dir_all(directory.join("state/seekwell/claims")).unwrap();
    // Its name decides what it makes.
    let mkfs = seekwell_testing::tool("mkfs.ext4").unwrap();
    let mkfs = fs::canonicalize(mkfs).unwrap();
    fs::copy(&mkfs, directory.join("real/mkfs.ext4")).unwrap();
    let wrapper =
        format!("#!/bin/sh\n{}\nexec DIR/real/mkfs.ext4 \"$@\"\n", LIST.replace("NAME", "mkfs"));
    seekwell_testing::program(&directory.join("mkfs"), &wrapper.replace("DIR", here));
    write("look", &format!("{}\n{FORGE}\ntrue\n", LIST.replace("NAME", "workload")));
    write("lab.toml", LAB);
    // The caller leaves descriptors open, which programs do not get either.
    let script = format!(
        "mount --make-rprivate / && mount --bind DIR/state /var/lib && mount --bind DIR/mkfs {} || exit 99
        exec 7</etc/passwd 8>DIR/left
        exec {} run lab.toml --json",
        mkfs.display(),
        seekwell(directory).get_program().to_str().unwrap(),
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script.replace("DIR", here)]).current_dir(directory);
    let output = command.env("NO_COLOR", "1").output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{:?}\n{}", output.status, talk(&output));
    for name in ["mkfs", "workload"] {
        let text = fs::read_to_string(directory.join(format!("descriptors-{name}"))).unwrap();
        assert!(text.lines().count() >= 6, "{name}: {text}");
        assert!(text.lines().all(|line| line == "0 1 2 3"), "{name}: {text}");
    }
    let seen = fs::read_to_string(directory.join("seen")).unwrap();
    assert!(seen.lines().all(|line| line == "/var/lib/seekwell/undo"), "{seen}");
    let state = directory.join("state/seekwell");
    let files = |name: &str| fs::read_dir(state.join(name)).map_or(0, Iterator::count);
    assert_eq!((files("claims"), files("planned")), (0, 0), "nothing was forged");
    assert!(!state.join("undo/x.undo").exists());
}
