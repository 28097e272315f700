//! `seekwell device replicate` from outside, with a study of the test's own: a tiny lab and made-up claims.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CLAIMS: &str = r#"
frozen = "2026-01-01"

[[study]]
key = "900"
title = "A study that nobody published"
author = "nobody"
kernel = "none"
stands_for = "nothing"

[[value]]
id = "900.elapsed"
value = 1000000
unit = "s"
line = 1
use = "predict"

[[value]]
id = "900.rate"
value = 40
unit = "MB/s"
line = 2
use = "fit"

[[claim]]
id = "900.one-read-per-access"
line = 3
says = "Each access of the raw device is one read."
form = "range"
low = 0.99
high = 1.01
lab = "tiny"

[[claim]]
id = "900.slow"
line = 4
says = "Sixty reads take more than a day."
form = "sign"
confirmed_if = "the step takes more than a day"
lab = "tiny"

[[claim]]
id = "900.taste"
line = 5
says = "It is nicer."
form = "cannot"
because = "taste is not measured"
"#;

const MEASURE: &str = r#"
study = "900"

[[lab]]
name = "tiny"
whole = "tiny"
quick = "tiny"

[[measure]]
id = "900.elapsed"
lab = "tiny"
value = "[seekrw.elapsed]"

[[measure]]
id = "900.reads"
lab = "tiny"
value = "[seekrw.device.reads] / [seekrw.ops]"

[[test]]
claim = "900.one-read-per-access"
all = [{ value = "{900.reads}" }]

[[test]]
claim = "900.slow"
all = [{ value = "{900.elapsed}", above = 86_400 }]

[[reason]]
of = "900.slow"
text = "it was made up"
"#;

const LAB: &str = r#"
[lab]
name = "tiny"
question = "how many reads?"

[[device]]
name = "disk"
model = { name = "maxtor-6y080l0", size = "64MiB" }

[[filesystem]]
type = "raw"

[scheduler]
choose = ["none"]

[[memory]]
limit = "96MiB"

[[workload]]
kind = "seekrw"
cache = "direct"
count = 60
size = "4KiB"
file_size = "16MiB"

[judge]
metric = "seekrw.elapsed"
rounds = 6
"#;

/// A directory with the study, and `extra` at the end of how it is measured.
fn study(extra: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let files = directory.path().join("studies");
    std::fs::create_dir(&files).unwrap();
    std::fs::write(files.join("claims.toml"), CLAIMS).unwrap();
    std::fs::write(files.join("900.measure.toml"), format!("{MEASURE}{extra}")).unwrap();
    std::fs::write(files.join("tiny.toml"), LAB).unwrap();
    directory
}

fn replicate(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
    command.current_dir(directory).env("NO_COLOR", "1").env("TERM", "dumb");
    command.args(["replicate", "900", "--from", "studies"]).args(words);
    command.output().unwrap()
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", talk(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Verdict of each claim.
fn verdicts(found: &Value) -> Vec<(&str, &str)> {
    let claims = found["studies"][0]["claims"].as_array().unwrap().iter();
    claims
        .map(|claim| (claim["id"].as_str().unwrap(), claim["verdict"].as_str().unwrap()))
        .collect()
}

const EXPECTED: [(&str, &str); 3] = [
    ("900.one-read-per-access", "confirmed"),
    ("900.slow", "not-confirmed"),
    ("900.taste", "cannot-be-tested"),
];

fn has_kernel(test: &str) -> bool {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
    let listed = command.args(["kernel", "list"]).output().unwrap();
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let found = listed.lines().skip(1).any(|line| !line.contains("made by another version"));
    if !found {
        seekwell_testing::skip(test, "no lab kernel of this version is built");
    }
    found
}

#[test]
fn a_study_is_run_judged_and_not_run_again() {
    if !has_kernel("a_study_is_run_judged_and_not_run_again") {
        return;
    }
    let directory = study("");
    let here = directory.path();
    let found = json(&replicate(here, &["--json"]));
    assert_eq!(verdicts(&found), EXPECTED);
    let slow = &found["studies"][0]["claims"][1];
    assert_eq!(slow["reason"], "it was made up");
    assert_eq!(slow["shown_by"][0]["file"], "tiny.seekwell");
    let run_file = here.join("replications/tiny.seekwell");
    let before = std::fs::read(&run_file).unwrap();

    // What is there is not run again, in whatever form it is asked for.
    let words = ["--quick", "--markdown", "r.md"];
    let again = replicate(here, &words);
    assert_eq!(again.status.code(), Some(0), "{}", talk(&again));
    assert!(!talk(&again).contains("trial 1/"), "{}", talk(&again));
    assert_eq!(std::fs::read(&run_file).unwrap(), before);
    let read = |name: &str| std::fs::read_to_string(here.join(name)).unwrap();
    assert!(read("r.md").contains("[claims](r-claims.csv)"), "{}", read("r.md"));
    let slow =
        "900.slow,4,Sixty reads take more than a day.,\"differs, our error\",,it was made up,";
    assert!(read("r-claims.csv").contains(slow), "{}", read("r-claims.csv"));
    assert_eq!(verdicts(&json(&replicate(here, &["--kept", "--json"]))), EXPECTED);
}

#[test]
fn a_run_with_another_cpu_charge_is_kept_beside_and_the_lab_run_again() {
    if !has_kernel("a_run_with_another_cpu_charge_is_kept_beside_and_the_lab_run_again") {
        return;
    }
    let directory = study("");
    let here = directory.path();
    json(&replicate(here, &["--json"]));
    let run_file = here.join("replications/tiny.seekwell");
    let before = std::fs::read(&run_file).unwrap();
    let charged = MEASURE.replace("quick = \"tiny\"", "quick = \"tiny\"\ncpu = \"0,100\"");
    std::fs::write(here.join("studies/900.measure.toml"), charged).unwrap();
    let again = replicate(here, &["--json"]);
    assert_eq!(verdicts(&json(&again)), EXPECTED);
    let said = talk(&again);
    assert!(said.contains("was run with another CPU (\"CPU time not counted\" then"), "{said}");
    assert!(said.contains("it is kept as replications/tiny.before-1.seekwell"), "{said}");
    assert_eq!(std::fs::read(here.join("replications/tiny.before-1.seekwell")).unwrap(), before);
    assert_ne!(std::fs::read(&run_file).unwrap(), before);
    // What is there now is the lab as it is asked for.
    assert!(!talk(&replicate(here, &["--json"])).contains("another"));
}

#[test]
fn the_same_lab_runs_on_a_loop_device_by_changing_the_device_alone() {
    let test = "the_same_lab_runs_on_a_loop_device_by_changing_the_device_alone";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to attach a loop device");
    }
    let directory = study("");
    let words = ["--place", "host", "--device", "loop:64MiB", "--json"];
    let found = json(&replicate(directory.path(), &words));
    assert_eq!(found["device"], "loop:64MiB");
    let claims = verdicts(&found);
    assert_eq!(claims, EXPECTED);
    assert!(directory.path().join("replications/tiny@host.seekwell").is_file());
}

/// A filesystem that this kernel neither has nor would load a module for.
fn unknown_filesystem() -> Option<&'static str> {
    let listed = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let modules = format!("/lib/modules/{}/modules.alias", release.trim());
    let modules = std::fs::read_to_string(modules).unwrap_or_default();
    ["reiserfs", "jfs", "nilfs2", "ufs"].into_iter().find(|kind| {
        let is_listed = listed.split_whitespace().any(|word| word == *kind);
        !is_listed && !modules.contains(&format!("fs-{kind} "))
    })
}

#[test]
fn a_filesystem_that_the_machine_lacks_is_left_out_of_a_study() {
    let test = "a_filesystem_that_the_machine_lacks_is_left_out_of_a_study";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to attach a loop device");
    }
    let Some(kind) = unknown_filesystem() else {
        return seekwell_testing::skip(test, "this kernel has every filesystem of the test");
    };
    let lab = |schedulers: &str| {
        let more = format!("type = \"raw\"\n\n[[filesystem]]\ntype = \"{kind}\"\n");
        let lab = LAB.replace("type = \"raw\"\n", &more);
        lab.replace("choose = [\"none\"]", &format!("choose = {schedulers}"))
    };
    let directory = study("");
    let path = directory.path().join("studies/tiny.toml");
    std::fs::write(&path, lab("[\"none\", \"mq-deadline\"]")).unwrap();
    let words = ["--place", "host", "--device", "loop:64MiB", "--json"];
    let output = replicate(directory.path(), &words);
    let told = format!("filesystem \"{kind}\" is left out");
    assert!(talk(&output).contains(&told), "{}", talk(&output));
    assert!(directory.path().join("replications/tiny@host.seekwell").exists());
    // With one stack left nothing runs.
    let directory = study("");
    let path = directory.path().join("studies/tiny.toml");
    std::fs::write(&path, lab("[\"none\"]")).unwrap();
    let output = replicate(directory.path(), &words);
    assert!(talk(&output).contains("stack is left"), "{}", talk(&output));
    assert!(!directory.path().join("replications/tiny@host.seekwell").exists());
}

/// A loop device over an image; detached when dropped.
struct Attached(String);

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_study_that_writes_a_disk_whole_shows_its_plan_first() {
    let test = "a_study_that_writes_a_disk_whole_shows_its_plan_first";
    let tools = ["losetup", "unshare"].map(seekwell_testing::tool);
    if !seekwell_testing::root() || tools.iter().any(Option::is_none) {
        return seekwell_testing::skip(test, "needs root, losetup and unshare");
    }
    let directory = study("");
    let image = directory.path().join("disk.img");
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let found = Command::new("losetup").args(["--find", "--show"]).arg(&image).output().unwrap();
    let disk = Attached(String::from_utf8(found.stdout).unwrap().trim().to_owned());
    std::fs::create_dir(directory.path().join("state")).unwrap();
    // Claims and notes of its own.
    let script = "mount --make-rprivate / && mount --bind state /var/lib && \"$0\" claim \"$1\" \
                  --confirm 131072 && exec \"$0\" replicate 900 --from studies --place host \
                  --device \"$1\"";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_seekwell"), &disk.0])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", talk(&output));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(
        shown.contains(&format!("writes {} whole: everything on it is lost", disk.0)),
        "{shown}"
    );
    assert!(talk(&output).contains("run the same command again to start"), "{}", talk(&output));
    assert!(std::fs::read(&image).unwrap().iter().all(|byte| *byte == 0), "the study wrote");
}

#[test]
fn without_runs_nothing_is_claimed() {
    let directory = study("");
    let found = json(&replicate(directory.path(), &["--kept", "--json"]));
    let expected = [
        ("900.one-read-per-access", "not-measured"),
        ("900.slow", "not-measured"),
        ("900.taste", "cannot-be-tested"),
    ];
    assert_eq!(verdicts(&found), expected);
}

#[test]
fn a_fit_that_asks_for_what_must_be_predicted_is_refused_before_anything_runs() {
    let fit = "[[fit]]\ndevice = \"maxtor-6y080l0\"\nparameter = \"rotating.rpm\"\nrange = [5000, 9000]\nstep = 100\nsource = \"made up\"\nvalue = \"900.elapsed\"\n";
    let directory = study(fit);
    let output = replicate(directory.path(), &["--fit"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        talk(&output),
        "seekwell: error: the fit of rotating.rpm cannot be made: 900.elapsed may not be fitted: it must be predicted, or describes the experiment\n"
    );
    assert!(!directory.path().join("replications/tiny.seekwell").exists());
}

#[test]
fn wrong_files_and_arguments_are_said() {
    let directory = study("[[reason]]\nof = \"900.odd\"\ntext = \"t\"\n");
    let output = replicate(directory.path(), &["--kept"]);
    assert!(
        talk(&output).ends_with("'900.odd' is neither a claim nor a value\n"),
        "{}",
        talk(&output)
    );
    assert!(talk(&output).starts_with("seekwell: error: 900.measure.toml:"), "{}", talk(&output));
    let directory = study("");
    let output = replicate(directory.path(), &["--place", "host"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        talk(&output),
        "seekwell: usage: --place host needs --device, the device to use instead of the modelled ones\n"
    );
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A copy of the studies' files, in which each of these texts is replaced, and what `replicate` does with the kept runs.
fn kept_with(study: &str, words: &[&str], changes: &[(&str, &str, &str)]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(root().join("labs/replicate")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, directory.path().join(path.file_name().unwrap())).unwrap();
    }
    for (file, from, to) in changes {
        let path = directory.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file} has no {from}");
        std::fs::write(&path, text.replace(from, to)).unwrap();
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
    command.current_dir(root()).env("NO_COLOR", "1").env("TERM", "dumb");
    command
        .args(["replicate", study, "--kept", "--json", "-o", "benches/runs/replicate", "--from"]);
    command.arg(directory.path()).args(words).output().unwrap()
}

#[test]
fn kept_runs_without_the_declared_conditions_are_refused() {
    let refused = |study: &str, words: &[&str], changes: &[(&str, &str, &str)]| {
        let output = kept_with(study, words, changes);
        assert_eq!(output.status.code(), Some(1), "{changes:?}: {}", talk(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{changes:?}");
        talk(&output)
    };
    json(&kept_with("001", &["--quick"], &[]));
    let measure = "001.measure.toml";
    let charge = refused("001", &["--quick"], &[(measure, "\"0,3200\"", "\"0,3300\"")]);
    let wanted = "001-bonnie-alone-quick.seekwell is not judged: it was run with CPU time charged: 0 ns a system call, \
                  3200 ns a KiB copied, where the lab declares: CPU time charged: 0 ns a system call, 3300 ns";
    assert!(charge.contains(wanted), "{charge}");
    assert!(
        charge.contains("run `seekwell device replicate 001` again, or move the file away"),
        "{charge}"
    );
    let none = refused("001", &["--quick"], &[(measure, "cpu = \"0,3200\"\n", "")]);
    assert!(none.contains("where the lab declares: CPU time not counted"), "{none}");
    let lab = "001-bonnie-alone-quick.toml";
    let workload =
        refused("001", &["--quick"], &[(lab, "record = \"16KiB\"", "record = \"8KiB\"")]);
    assert!(workload.contains("it was run with other workloads than the lab's;"), "{workload}");
    let stack = refused("001", &["--quick"], &[(lab, "choose = [\"bfq\"]", "choose = [\"none\"]")]);
    assert!(stack.contains("it was run with another lab than the one declared;"), "{stack}");
    let kernel = refused("001", &["--quick"], &[(measure, "linux = \"6.12\"", "linux = \"6.1\"")]);
    assert!(kernel.contains("it was run with kernel 6.12.117-seekwell"), "{kernel}");
    assert!(kernel.contains("where the study declares 6.1;"), "{kernel}");
    let model = refused("003", &[], &[("003.measure.toml", "is 4, rotating", "is 5, rotating")]);
    assert!(
        model.contains(
            "an earlier model (sata-2tb-5400: rotating.buffer.destage_window was 64, is 4"
        ),
        "{model}"
    );
}

/// Every figure of a kept run in README, `docs/` and `devices/` is what the program prints of it today.
#[test]
fn documents_say_what_the_program_prints_of_kept_runs_today() {
    let scratch = tempfile::tempdir().unwrap();
    let program = || Command::new(env!("CARGO_BIN_EXE_seekwell"));
    let root = root();
    let printer = seekwell_testing::printed::Printer {
        root: &root,
        scratch: scratch.path(),
        program: &program,
    };
    let documents = printer.documents().unwrap();
    let names: Vec<&str> = documents.iter().map(|(path, _)| path.to_str().unwrap()).collect();
    let parts = ["docs/replications-003.svg", "docs/replications-claims.csv"];
    for name in ["README.md", "docs/replications.md"].into_iter().chain(parts) {
        assert!(names.contains(&name), "{names:?}");
    }
    for (path, text) in &documents {
        let committed = std::fs::read_to_string(root.join(path)).unwrap();
        assert!(*text == committed, "{} is out of date: cargo xtask docs", path.display());
    }
    let page = &documents.iter().find(|(path, _)| path.ends_with("replications.md")).unwrap().1;
    assert!(!page.contains("not measured)"), "a figure of the page has no result");
    let words = page.split_whitespace().count();
    assert!(words <= 1_500, "docs/replications.md has {words} words");
}

/// Kept runs are of the labs as they are written today: otherwise `replicate` would repeat hours of
/// runs of which nothing changed. A lab's text states each setting whose default has changed since.
#[test]
fn kept_runs_are_of_the_labs_as_they_are_written() {
    let root = root();
    let about = std::fs::read_to_string(root.join("benches/runs/replicate/README.md")).unwrap();
    let mut compared = 0;
    for entry in std::fs::read_dir(root.join("benches/runs/replicate")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(stem) = name.strip_suffix(".seekwell") else { continue };
        let (lab, change) = stem.split_once('@').map_or((stem, None), |(l, c)| (l, Some(c)));
        let text =
            std::fs::read_to_string(root.join(format!("labs/replicate/{lab}.toml"))).unwrap();
        let device = change.map(|change| change.split('.').next().unwrap());
        let text = device.map_or(Ok(Some(text.clone())), |device| {
            seekwell_replicate::ends::narrowed(&text, device)
        });
        let read = seekwell_spec::read_lab(&text.unwrap().unwrap(), &name).unwrap();
        let file = seekwell_store::RunFile::open(&path).unwrap();
        assert_eq!(file.plan().unwrap().lab, read, "{name} was run with another lab");
        // The README says which lab kernels these are.
        let environment = file.environment().unwrap();
        let kernel = environment["kernel"].as_str().unwrap();
        let id = kernel.rsplit([' ', ')']).find(|part| !part.is_empty()).unwrap();
        assert!(about.contains(id), "{name} was run on {kernel}, which the README does not name");
        compared += 1;
    }
    assert!(compared > 60, "only {compared} kept runs found");
}

/// A session that reads nothing of this machine.
fn session() -> seekwell_session::Session {
    seekwell_session::Session::new(seekwell_session::Machine {
        system: seekwell_host::sysfs::System::host(),
        program: env!("CARGO_BIN_EXE_seekwell").into(),
        state: "/nonexistent".into(),
        kernels: None,
        folders: Vec::new(),
        temporary: std::env::temp_dir(),
    })
}

/// The table of runs says of each whether the models of its devices have changed since: after a change of a model, run the
/// labs again or make the table again.
#[test]
fn the_table_of_runs_names_each_that_is_older_than_its_models() {
    let table = std::fs::read_to_string(root().join("docs/replications-runs.csv")).unwrap();
    let session = session();
    let mut compared = 0;
    for line in table.lines().skip(1) {
        let file = line.split(',').nth(3).unwrap();
        let path = root().join("benches/runs/replicate").join(file);
        let environment = seekwell_store::RunFile::open(&path).unwrap().environment().unwrap();
        let since = session.models_since(&environment, &path).unwrap();
        assert_eq!(line.contains("made with earlier models"), !since.changed.is_empty(), "{line}");
        assert_eq!(
            line.contains("without a record of how the models behaved"),
            since.changed.is_empty() && !since.unknown.is_empty(),
            "{line}"
        );
        compared += 1;
    }
    assert!(compared > 10, "only {compared} labs in the table");
}
