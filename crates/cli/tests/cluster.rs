//! Labs on a real Slurm: munged, slurmctld and two slurmd, each node in a network namespace, started and
//! ended by `scripts/with-slurm`. Needs root, Slurm and a lab kernel.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[path = "cluster/disks.rs"]
mod disks;

const LAB: &str = r#"
[lab]
name = "t"
[[device]]
name = "disk"
model = { name = "maxtor-6y080l0", size = "512MiB" }
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none", "bfq"]
[[workload]]
kind = "mail"
files = 60
[judge]
metric = "unpack.elapsed_durable"
rounds = 6
"#;

/// Status of `scripts/with-slurm` when this machine cannot have such a cluster.
const NO_CLUSTER: i32 = 77;

fn root_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn seekwell(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
    command.current_dir(folder).args(words).env("NO_COLOR", "1").output().unwrap()
}

/// Returns true if this machine can have a cluster and guests; otherwise counts a skip.
fn can_run(test: &str) -> bool {
    can_have_cluster(test) && has_kernel(test)
}

/// Returns true if this machine can have a cluster; otherwise counts a skip.
fn can_have_cluster(test: &str) -> bool {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root for network namespaces");
        return false;
    }
    for tool in ["slurmctld", "slurmd", "munged", "sbatch", "nsenter", "ip"] {
        if seekwell_testing::tool(tool).is_none() {
            seekwell_testing::skip(test, &format!("{tool} is not installed"));
            return false;
        }
    }
    true
}

/// Returns true if this machine can have guests; otherwise counts a skip.
fn has_kernel(test: &str) -> bool {
    let listed = seekwell(Path::new("/"), &["kernel", "list"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    let current = listed.lines().skip(1).any(|line| !line.contains("made by another version"));
    if !current {
        seekwell_testing::skip(test, "no lab kernel of this version is built");
    }
    current
}

/// Runs a script of the shell on a cluster of two nodes; `None`, and a skip, if there is none.
fn on_cluster(test: &str, folder: &Path, script: &str) -> Option<Output> {
    on_cluster_with(test, folder, &[], script)
}

/// The same with variables for `scripts/with-slurm`.
fn on_cluster_with(
    test: &str,
    folder: &Path,
    variables: &[(&str, &str)],
    script: &str,
) -> Option<Output> {
    let output = Command::new(root_folder().join("scripts/with-slurm"))
        .args(["2", "sh", "-euc", script])
        .current_dir(folder)
        .env("SEEKWELL", env!("CARGO_BIN_EXE_seekwell"))
        .env("NO_COLOR", "1")
        .envs(variables.iter().copied())
        // A worker that is killed leaves its guest's directory to the next one.
        .env("TMPDIR", folder)
        .output()
        .unwrap();
    if output.status.code() == Some(NO_CLUSTER) {
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        seekwell_testing::skip(test, &format!("no cluster on this machine: {why}"));
        return None;
    }
    Some(output)
}

/// The run of a file: its verdict, and the fingerprint of each trial.
fn run_of(folder: &Path, file: &str) -> (Value, Vec<Value>) {
    let output = seekwell(folder, &["report", file, "--json"]);
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    let trials = run["trials"].as_array().unwrap();
    let prints = trials.iter().map(|trial| {
        let print = trial["fingerprint"].clone();
        assert!(print.is_string(), "{trial}");
        print
    });
    (run["verdict"].clone(), prints.collect())
}

/// Number of records in a run file, also of those that another attempt of their trial replaced.
fn attempts(folder: &Path, file: &str) -> usize {
    seekwell_store::RunFile::open(&folder.join(file)).unwrap().attempts().unwrap().len()
}

/// The cluster runs the lab while its nodes fail: a daemon is killed with its worker in the middle of a trial and
/// started again, the controller is restarted, and a worker alone is killed. Trials and verdict are those of a run
/// on this machine.
#[test]
fn a_lab_on_nodes_that_fail_ends_as_on_one_machine() {
    let test = "a_lab_on_nodes_that_fail_ends_as_on_one_machine";
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lab.toml"), LAB).unwrap();
    let script = r#"
        "$SEEKWELL" run lab.toml --on slurm --nodes 2 -o cluster.seekwell --no-screen 2>talk >/dev/null &
        run=$!
        taken() { ls cluster.seekwell.nodes/taken 2>/dev/null | head -n 1; }
        until [ -n "$(taken)" ] || ! kill -0 "$run"; do sleep 0.1; done
        name=$(taken)
        node=$(echo "$name" | grep -o 'node[0-9]*')
        # The node fails: its daemon and everything that it runs.
        kill -9 $(pgrep -f "[s]eekwell work" | head -n 1) $(cat "$CLUSTER/$node.own") 2>/dev/null || true
        kill -9 $(cat "$CLUSTER/slurmctld.own")
        "$CLUSTER/start-slurmctld"
        "$CLUSTER/start-$node" &
        status=0
        wait "$run" || { status=$?; tail -n 5 "$CLUSTER/slurmctld.log" >&2; }
        echo "status $status, failed on $node"
        for try in $(seq 100); do [ -z "$(squeue --noheader)" ] && break; sleep 0.3; done
        squeue --noheader
    "#;
    let Some(output) = on_cluster(test, folder.path(), script) else { return };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let talk = std::fs::read_to_string(folder.path().join("talk")).unwrap_or_default();
    assert!(output.status.success(), "{output:?}\n{talk}");
    assert!(said.starts_with("status 0") || said.starts_with("status 4"), "{said}\n{talk}");
    assert_eq!(said.lines().count(), 1, "no job is left: {said}");
    assert!(!folder.path().join("cluster.seekwell.nodes").exists());

    seekwell(folder.path(), &["run", "lab.toml", "--place", "virtual", "-o", "plain.seekwell"]);
    let (clustered, plain) =
        (run_of(folder.path(), "cluster.seekwell"), run_of(folder.path(), "plain.seekwell"));
    assert_eq!(clustered.1.len(), 12);
    assert_eq!(attempts(folder.path(), "cluster.seekwell"), 12, "none is doubled");
    assert_eq!(clustered, plain);
}

/// A race that is stopped while nodes have its trials says how to go on, leaves no job, and continues with what was
/// delivered. The looks of its verdict are those of a run on this machine: the same trials, and the same stacks leave.
#[test]
fn a_stopped_run_leaves_no_job_and_continues() {
    let test = "a_stopped_run_leaves_no_job_and_continues";
    if !can_run(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let race = LAB
        .replace("type = \"ext4\"", "type = \"ext4\"\n[[filesystem]]\ntype = \"ext2\"")
        .replace("rounds = 6", "rounds = 8\nmethod = \"race\"");
    std::fs::write(folder.path().join("lab.toml"), race).unwrap();
    let script = r#"
        "$SEEKWELL" doctor --on slurm --nodes 2 >doctor
        "$SEEKWELL" doctor --on slurm --partition none --nodes 20001 >>doctor
        "$SEEKWELL" run lab.toml --on slurm --nodes 1 -o x.seekwell --no-screen 2>talk >/dev/null &
        run=$!
        until [ -n "$(ls x.seekwell.nodes/taken 2>/dev/null)" ] || ! kill -0 "$run"; do sleep 0.1; done
        kill "$run"
        status=0
        wait "$run" || status=$?
        echo "status $status"
        for try in $(seq 100); do [ -z "$(squeue --noheader)" ] && break; sleep 0.3; done
        squeue --noheader
        "$SEEKWELL" run --resume -o x.seekwell --on slurm --nodes 2 --no-screen >/dev/null 2>again || status=$?
        echo "then $status"
    "#;
    let Some(output) = on_cluster(test, folder.path(), script) else { return };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let talk = std::fs::read_to_string(folder.path().join("talk")).unwrap_or_default();
    assert!(said.starts_with("status 1\nthen "), "{said}\n{talk}\n{output:?}");
    assert!(
        talk.contains("Continue with: seekwell run --resume -o x.seekwell --on slurm --nodes 1\n"),
        "{talk}"
    );
    seekwell(folder.path(), &["run", "lab.toml", "--place", "virtual", "-o", "plain.seekwell"]);
    let (clustered, plain) =
        (run_of(folder.path(), "x.seekwell"), run_of(folder.path(), "plain.seekwell"));
    let course = &clustered.0["evidence"]["race"];
    assert!(course["looked_at"].as_u64() >= Some(6), "{course:#}");
    assert!(!course["dropped"].as_array().unwrap().is_empty(), "{course:#}");
    assert_eq!(clustered, plain);
    let doctor = std::fs::read_to_string(folder.path().join("doctor")).unwrap();
    for line in [
        "slurm controller  ready    seekwell-head answers\n",
        "slurm partition   ready    all: 2 nodes, no time limit\n",
        "slurm job arrays  ready    up to 20000 workers\n",
        "slurm partition   missing  none not found\n                           -> choose one with --partition: all, urgent\n",
        "slurm job arrays  missing  an array has at most 20000 tasks\n                           -> use --nodes 20000 or fewer\n",
    ] {
        assert!(doctor.contains(line), "{line}{doctor}");
    }
}

/// Faults that happen to a run, one after the other, each drawn by the seed; `x.seekwell` is complete at the end.
/// Prints the faults.
const FAULTS: &str = r#"
    mkdir shared
    mount -t tmpfs -o size=24m tmpfs shared
    cp lab.toml shared
    cd shared
    start() {
        "$SEEKWELL" run lab.toml --resume -o x.seekwell --on slurm --nodes 2 --no-screen >/dev/null 2>>../talk &
        run=$!
    }
    # A number below $1. The low bits of such a sequence are poor.
    draw() {
        seed=$(((seed * 1103515245 + 12345) % 2147483648))
        drawn=$((seed / 65536 % $1))
    }
    # The brackets keep the shells out whose command line is this text: one that stops itself never goes on.
    workers() { pgrep -f "[s]eekwell work .*$1" || true; }
    one_worker() {
        draw 2
        worker=$(workers "" | sed -n "$((drawn + 1))p")
        [ -n "$worker" ] || worker=$(workers "" | head -n 1)
        [ -n "$worker" ] || name="$name (none ran)"
    }
    # Stops a worker and its guest for 0.3 s of each second.
    slow() {
        [ -n "$1" ] || return 0
        for turn in 1 2 3 4 5 6; do
            these="$1 $(pgrep -P "$1" || true)"
            kill -STOP $these 2>/dev/null || return 0
            sleep 0.3
            kill -CONT $these 2>/dev/null || true
            sleep 0.7
        done
    }
    # Every kind is drawn once before any is drawn again.
    deck=
    fault() {
        [ -n "$deck" ] || deck="0 1 2 3 4 5 6 7 8 9 10 11"
        set -- $deck
        draw $#
        shift $drawn
        kind=$1
        deck=$(echo " $deck " | sed "s/ $kind / /" | xargs)
        case $kind in
        0) name="worker killed"; one_worker; [ -z "$worker" ] || kill -9 "$worker" || true ;;
        1) draw 2
            node=node$((drawn + 1)); name="$node and its worker killed"
            kill -9 $(workers "$node-") $(cat "$CLUSTER/$node.own") 2>/dev/null || true
            "$CLUSTER/start-$node" &
            echo $! >"$CLUSTER/$node.own" ;;
        2) name="controller killed"
            kill -9 $(cat "$CLUSTER/slurmctld.own") || true
            "$CLUSTER/start-slurmctld" ;;
        3) name="worker stopped for three seconds"; one_worker
            [ -z "$worker" ] || { kill -STOP "$worker"; sleep 3; kill -CONT "$worker"; } || true ;;
        4) name="shared folder full"; dd if=/dev/zero of=fill bs=64k 2>/dev/null || true; sleep 2; rm fill ;;
        5) name="jobs past their time limit"
            for job in $(squeue --noheader --name seekwell --states=R --format=%i); do
                scontrol update jobid="$job" timelimit=1 2>/dev/null || true
            done ;;
        6) name="job requeued by its site"
            scontrol requeue "$(squeue --noheader --states=R --format=%i | head -n 1)" 2>/dev/null || true ;;
        7) name="session killed"; kill -9 "$run" || true ;;
        8) name="two more submissions, one of the same run"
            timeout -s INT 4 "$SEEKWELL" run lab.toml -o y.seekwell --on slurm --nodes 1 --no-screen >/dev/null 2>&1 &
            # Where the first one has just died, the second one takes its place for a moment.
            timeout -s INT 4 "$SEEKWELL" run --resume -o x.seekwell --on slurm --nodes 1 --no-screen >/dev/null 2>refused || true
            grep -q "is being written by" refused || name="$name (which had died)" ;;
        9) name="job preempted by an urgent one"
            sbatch --partition urgent --job-name urgent --output /dev/null --wrap "sleep 2" >/dev/null 2>&1 || true ;;
        10) name="jobs cancelled"; scancel --name seekwell || true ;;
        11) draw 2
            name="node$((drawn + 1)) 30 % slower for six seconds"
            slow "$(workers "" | sed -n "$((drawn + 1))p")" & ;;
        esac
        echo "$name after $(($(date +%s) - begun)) s"
    }
    begun=$(date +%s)
    start
    while :; do
        if ! kill -0 "$run" 2>/dev/null; then
            status=0
            wait "$run" || status=$?
            # Status 2 comes back however often the run is started.
            echo "$status" >>../statuses
            case $status in 0 | 2 | 4) break ;; esac
            sleep 0.5
            start
        fi
        if [ -n "$(ls x.seekwell.nodes/taken 2>/dev/null)" ] && [ "$faults" -gt 0 ]; then
            faults=$((faults - 1))
            fault
        fi
        sleep 1
    done
    cp x.seekwell ..
"#;

/// A run with this many faults drawn by the seed: no trial is lost, none doubled, none differs from a plain run.
/// `make cluster-faults` runs 50.
#[test]
fn trials_survive_random_faults() {
    let test = "trials_survive_random_faults";
    if !can_run(test) {
        return;
    }
    let number = |name: &str, usual: u32| {
        std::env::var(name).ok().map_or(usual, |text| text.parse().expect("a number"))
    };
    let (faults, seed) = (number("SEEKWELL_FAULTS", 1), number("SEEKWELL_FAULTS_SEED", 10));
    let rounds = (faults * 3).clamp(6, 1000);
    let folder = tempfile::tempdir().unwrap();
    let lab = LAB.replace("rounds = 6", &format!("rounds = {rounds}"));
    std::fs::write(folder.path().join("lab.toml"), lab).unwrap();
    let script = format!("faults={faults} seed={seed}\n{FAULTS}");
    let Some(output) = on_cluster(test, folder.path(), &script) else { return };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let talk = std::fs::read_to_string(folder.path().join("talk")).unwrap_or_default();
    assert!(output.status.success(), "{output:?}\n{talk}");
    let statuses = std::fs::read_to_string(folder.path().join("statuses")).unwrap();
    println!("{said}sessions ended with status {}", statuses.trim().replace('\n', ", "));
    assert_eq!(said.lines().count(), faults as usize, "{said}");
    // A session ends with an error when it cannot write its folder, and for no other fault.
    let errors = statuses.lines().filter(|status| *status == "1").count();
    let full = said.lines().filter(|line| line.contains("shared folder full")).count();
    assert!(errors <= full, "{statuses}\n{said}\n{talk}");
    seekwell(folder.path(), &["run", "lab.toml", "--place", "virtual", "-o", "plain.seekwell"]);
    let (clustered, plain) =
        (run_of(folder.path(), "x.seekwell"), run_of(folder.path(), "plain.seekwell"));
    assert_eq!(clustered.1.len(), 2 * rounds as usize);
    assert_eq!(attempts(folder.path(), "x.seekwell"), 2 * rounds as usize, "none is doubled");
    assert_eq!(clustered, plain);
}

/// Mistakes are told before anything is submitted.
#[test]
fn mistakes_are_told_in_words() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lab.toml"), LAB).unwrap();
    let message = |words: &[&str]| {
        let output = seekwell(folder.path(), words);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), text.lines().next().unwrap_or_default().to_owned())
    };
    let (status, text) =
        message(&["run", "lab.toml", "--on", "slurm", "--device", "ram:64MiB", "-o", "a.seekwell"]);
    assert_eq!(status, Some(2));
    assert!(text.contains("--device needs --place host"), "{text}");
    let (status, text) = message(&["run", "lab.toml", "--nodes", "0", "--on", "slurm"]);
    assert_eq!(status, Some(2));
    assert!(text.contains("invalid value '0'"), "{text}");
    let (status, text) = message(&["work", "/nonexistent", "--task", "a"]);
    assert_eq!(status, Some(1));
    assert!(text.contains("cannot open /nonexistent"), "{text}");
}
