//! A prediction on a device file against a later run on the device itself.

use super::again::{Attached, with_own_state};
use super::{can_run, data, talk};
use std::path::Path;
use std::process::Output;

const LAB: &str = r#"
[lab]
name = "mail at home"
[[device]]
name = "disk"
loop = "64MiB"
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none", "mq-deadline"]
[[workload]]
kind = "mail"
files = 50
[judge]
metric = "unpack.elapsed_durable"
rounds = 6
"#;

/// A model of a loop device: what it is called and how long a write takes.
fn model(name: &str, write_us: u32) -> String {
    format!(
        "# My disk.\nname = \"{name}\"\ntitle = \"My disk\"\nkind = \"fixed\"\n[presented]\nsectors = 131072\n\
         queue_depth = 32\nmax_request_kib = 512\n[fixed]\nread_latency_us = 50\nwrite_latency_us = {write_us}\n\
         mb_per_s = 500\nparallel = 32\n[sources]\npresented = \"test\"\nfixed = \"test\"\n"
    )
}

fn ended(output: &Output) {
    assert!(matches!(output.status.code(), Some(0 | 4)), "{:?}\n{}", output.status, talk(output));
}

#[test]
fn a_prediction_is_compared_with_the_disk_and_the_error_kept_in_the_device_file() {
    let test = "a_prediction_is_compared_with_the_disk_and_the_error_kept_in_the_device_file";
    let Some(_alone) = can_run(test, &["mkfs.ext4", "losetup", "unshare"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let here: &Path = directory.path();
    let run = |words: &[&str]| with_own_state(here, words);
    let kernels = data(&run(&["kernel", "list"]));
    if !kernels.lines().skip(1).any(|line| !line.contains("made by another version")) {
        return seekwell_testing::skip(test, "no lab kernel of this version is built");
    }
    let image = here.join("disk.img");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let disk = Attached::to(&image);
    let claim = run(&["claim", &disk.0, "--confirm", "131072"]);
    assert!(claim.status.success(), "{}", talk(&claim));
    std::fs::write(here.join("lab.toml"), LAB).unwrap();
    let before = model("mine", 100);
    std::fs::write(here.join("mine.toml"), &before).unwrap();
    ended(&run(&[
        "run", "lab.toml", "--place", "virtual", "--model", "mine.toml", "-o", "predicted.seekwell",
    ]));
    // A disk is written only once its plan was shown.
    let on_disk = ["run", "lab.toml", "--device", &disk.0, "-o", "real.seekwell"];
    assert_eq!(run(&on_disk).status.code(), Some(3));
    ended(&run(&on_disk));

    let compare = |options: &[&str]| {
        let files = ["device", "compare", "mine.toml", "predicted.seekwell", "real.seekwell"];
        run(&[&files[..], options].concat())
    };
    let tried = compare(&["--dry-run"]);
    assert_eq!(tried.status.code(), Some(0), "{}", talk(&tried));
    assert_eq!(std::fs::read_to_string(here.join("mine.toml")).unwrap(), before);
    let compared = compare(&[]);
    assert_eq!(compared.status.code(), Some(0), "{}", talk(&compared));
    assert!(data(&compared).contains("The device has "), "{}", data(&compared));
    assert_eq!(data(&compared), data(&tried));

    // The file is as it was, comments included, with the error behind it.
    let after = std::fs::read_to_string(here.join("mine.toml")).unwrap();
    let kept = after.strip_prefix(before.trim_end()).expect(&after);
    assert_eq!(kept.matches("[[compared]]").count(), 1, "{kept}");
    let file = seekwell_device::load(&after).unwrap();
    let [found] = file.compared() else { panic!("{kept}") };
    assert_eq!((found.lab.as_str(), found.stacks), ("mail at home", 2));
    assert_eq!(found.metric, "unpack.elapsed_durable");
    assert!(0.0 < found.lowest && found.lowest <= found.highest, "{found:?}");
    let shown = data(&run(&["device", "show", "mine.toml"]));
    let line = shown.lines().find(|line| line.contains("mail at home")).expect(&shown);
    assert!(line.contains("unpack.elapsed_durable"), "{line}");

    // A second comparison is kept beside the first.
    assert_eq!(compare(&[]).status.code(), Some(0));
    let twice = std::fs::read_to_string(here.join("mine.toml")).unwrap();
    assert_eq!(seekwell_device::load(&twice).unwrap().compared().len(), 2, "{twice}");
    // A prediction of another device says nothing about this one.
    std::fs::write(here.join("mine.toml"), model("mine", 300)).unwrap();
    let other = compare(&[]);
    assert_eq!(other.status.code(), Some(1));
    assert!(talk(&other).contains("did not run on mine as it is in mine.toml"), "{}", talk(&other));
}
