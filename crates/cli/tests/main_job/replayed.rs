//! Labs that replay a trace: mistakes before a trial, and the mark of a replay that is not faithful.

use super::{can_run, seekwell, talk, trials};
use serde_json::Value;
use std::path::Path;
use std::process::Output;

/// A trace of strace's output in the folder `t`.
fn import(directory: &Path, lines: &str) {
    std::fs::write(directory.join("s"), lines).unwrap();
    let mut command = seekwell(directory);
    let output = command.args(["trace", "import", "strace", "s", "-o", "t"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
}

/// A lab of two stacks that replays the folder `t`.
fn lab(directory: &Path, size: &str) -> String {
    let trace = directory.join("t");
    format!(
        r#"
[lab]
name = "replayed"
[[device]]
name = "scratch"
ram = {{ size = "{size}" }}
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none", "mq-deadline"]
[[workload]]
name = "load"
kind = "replay"
trace = "{}"
[judge]
metric = "replay.elapsed_durable"
rounds = 6
"#,
        trace.display()
    )
}

fn plan(directory: &Path, lab: &str) -> Output {
    std::fs::write(directory.join("lab.toml"), lab).unwrap();
    seekwell(directory).args(["plan", "lab.toml"]).output().unwrap()
}

#[test]
fn a_trace_that_cannot_be_replayed_is_said_once_and_before_any_trial() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let said = |lab: &str| {
        let output = plan(path, lab);
        assert_eq!(output.status.code(), Some(2), "{}", talk(&output));
        talk(&output).replace(&*path.to_string_lossy(), "DIR")
    };
    assert_eq!(
        said(&lab(path, "64MiB")),
        "seekwell: usage: workload load: DIR/t is not a trace: trace.json not found; give the folder \
         that capture or import wrote\n"
    );
    import(path, "7 1700000000.000100 read(3<pipe:[7]>, \"x\", 1) = 1 <0.000020>\n");
    assert!(
        said(&lab(path, "64MiB")).contains("no call on a file"),
        "{}",
        said(&lab(path, "64MiB"))
    );
    std::fs::remove_dir_all(path.join("t")).unwrap();
    import(
        path,
        "7 1700000000.000100 openat(AT_FDCWD</srv>, \"a\", O_RDWR) = 3</srv/a> <0.000020>\n\
         7 1700000000.000200 pread64(3</srv/a>, \"x\", 4096, 100000000) = 1 <0.000110>\n",
    );
    assert_eq!(
        said(&lab(path, "64MiB")),
        "seekwell: usage: workload load: the files of the trace need 96MiB, device scratch has \
         64MiB; use a larger device, or limit the replay with only\n"
    );
    assert_eq!(plan(path, &lab(path, "256MiB")).status.code(), Some(0));
    let timed = path.join("timed");
    std::fs::rename(path.join("t"), &timed).unwrap();
    import(path, "7 1700000000.000100 stat(\"/srv/a\", 0x1) = 0\n");
    assert!(
        said(&lab(path, "256MiB")).contains("1 of 1 calls of the trace have no duration"),
        "{}",
        said(&lab(path, "256MiB"))
    );
    let asap = lab(path, "256MiB").replace("[judge]", "speed = \"asap\"\n[judge]");
    assert_eq!(plan(path, &asap).status.code(), Some(0));
    std::fs::remove_dir_all(path.join("t")).unwrap();
    std::fs::rename(&timed, path.join("t")).unwrap();
    let calls = std::fs::read_dir(path.join("t")).unwrap().flatten();
    let calls =
        calls.map(|entry| entry.path()).find(|path| path.to_string_lossy().contains("calls"));
    std::fs::write(calls.unwrap(), "no segment").unwrap();
    assert!(
        said(&lab(path, "256MiB")).contains("remove this segment"),
        "{}",
        said(&lab(path, "256MiB"))
    );
}

#[test]
fn a_replay_that_is_not_faithful_is_kept_and_not_ranked() {
    let test = "a_replay_that_is_not_faithful_is_kept_and_not_ranked";
    let Some(_alone) = can_run(test, &["mkfs.ext4"]) else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    // A file whose size no one saw is removed: one of two calls.
    import(
        path,
        "7 1700000000.000100 openat(AT_FDCWD</srv>, \"a\", O_RDWR|O_CREAT|O_EXCL, 0644) = 3</srv/a> <0.000020>\n\
         7 1700000000.000200 unlink(\"/srv/b\") = 0 <0.000110>\n",
    );
    std::fs::write(path.join("lab.toml"), lab(path, "64MiB")).unwrap();
    let output = seekwell(path).args(["run", "lab.toml", "--json"]).output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(trials(&run).len(), 4, "two rounds of marked trials end the run");
    for trial in trials(&run) {
        assert_eq!(trial["status"], "marked", "{trial:#}");
    }
    let text = run.to_string();
    assert!(text.contains("low-fidelity"), "{text}");
    assert!(text.contains("1 × file removed or cut before its size was recorded"), "{text}");
    assert_ne!(run["verdict"]["decision"], "winner", "{text}");
}

#[test]
fn a_recorded_load_is_advised_and_its_lab_runs() {
    let test = "a_recorded_load_is_advised_and_its_lab_runs";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let advise =
        |words: &[&str]| seekwell(path).args([&["advise"], words].concat()).output().unwrap();
    let missing = advise(&["t"]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(
        talk(&missing),
        "seekwell: error: cannot find t: No such file or directory (os error 2); give the folder of a \
         trace\n"
    );
    let syncs = |nth: u32| {
        format!(
            "7 1700000000.0{nth:02}100 write(3</srv/a>, \"x\", 4096) = 4096 <0.000050>\n\
             7 1700000000.0{nth:02}200 fsync(3</srv/a>) = 0 <0.000700>\n"
        )
    };
    let open = "7 1700000000.000050 openat(AT_FDCWD</srv>, \"a\", O_WRONLY|O_CREAT|O_EXCL, 0644) = 3</srv/a> <0.000020>\n";
    import(path, &(open.to_owned() + &(0..20).map(syncs).collect::<String>()));
    let shown = advise(&["t", "--fs", "ext4,ext2"]);
    assert_eq!(shown.status.code(), Some(0), "{}", talk(&shown));
    assert!(talk(&shown).starts_with("It spends "), "{}", talk(&shown));
    assert!(
        talk(&shown).ends_with("run this lab now: seekwell advise t --fs ext4,ext2 --for 5min\n")
    );
    // The draft is a lab as it is printed.
    std::fs::write(path.join("draft.toml"), &shown.stdout).unwrap();
    let planned = seekwell(path).args(["plan", "draft.toml"]).output().unwrap();
    assert_eq!(planned.status.code(), Some(0), "{}", talk(&planned));
    let Some(_alone) = can_run(test, &["mkfs.ext4", "mkfs.ext2"]) else { return };
    let words =
        ["t", "--fs", "ext4,ext2", "--sched", "none", "--for", "3s", "--device", "ram:64MiB"];
    let ran = advise(&words);
    assert!(matches!(ran.status.code(), Some(0 | 4)), "{}", talk(&ran));
    let said = talk(&ran);
    assert!(said.contains("fidelity: at least 100.00 % of the recorded calls"), "{said}");
    let unchecked = "The replay's time could not be compared with your program's: the filesystem that it was recorded on is not here.";
    let answer = String::from_utf8_lossy(&ran.stdout);
    let in_a_line = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_a_line.contains(unchecked), "{answer}");
    let short =
        advise(&[&words[..6], &["1ms", "--device", "ram:64MiB", "-o", "short.seekwell"]].concat());
    assert!(talk(&short).contains("1 ms is too short for this load: "), "{}", talk(&short));
    assert!(path.join("advise.seekwell").exists() && path.join("advise.toml").exists());
}
