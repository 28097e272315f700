//! Clients in step on shared storage.

use super::{can_have_cluster, on_cluster};
use serde_json::Value;
use std::collections::BTreeSet;

/// Clients on two nodes do their part of every phase. An interrupt in the middle ends them and removes their folder.
#[test]
fn clients_of_two_nodes_are_in_step_and_an_interrupt_leaves_nothing() {
    let test = "clients_of_two_nodes_are_in_step_and_an_interrupt_leaves_nothing";
    if !can_have_cluster(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        clients="$SEEKWELL clients . --on slurm --nodes 2 --processes 1"
        $clients --files 40 --block 1MiB --transfer 256KiB --json >json
        # Bytes one by one, so that the end is far and the file stays small.
        $clients --files 0 --block 1GiB --transfer 1 2>talk &
        run=$!
        until ls seekwell-clients-*/files/large.1 >/dev/null 2>&1 || ! kill -0 "$run"; do sleep 0.05; done
        kill "$run"
        status=0
        wait "$run" || status=$?
        echo "status $status"
        for try in $(seq 50); do [ -z "$(squeue --noheader)" ] && break; sleep 0.1; done
        squeue --noheader
        pgrep -f "[s]eekwell client " || true
        ls -d seekwell-clients-* 2>/dev/null || true
    "#;
    let Some(output) = on_cluster(test, folder.path(), script) else { return };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    assert!(output.status.success(), "{output:?}\n{}", read("talk"));
    let found: Value = serde_json::from_str(&read("json")).unwrap();
    let phases = found["phases"].as_array().unwrap();
    let names: Vec<&str> = phases.iter().map(|one| one["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["create", "stat", "read_files", "remove", "write", "read"]);
    for phase in phases {
        let clients = phase["clients"].as_array().unwrap();
        let nodes: BTreeSet<&str> =
            clients.iter().map(|client| client["node"].as_str().unwrap()).collect();
        assert_eq!(nodes.into_iter().collect::<Vec<_>>(), ["node1", "node2"], "{phase:#}");
        let each = if phase["phase"] == "write" || phase["phase"] == "read" { 4 } else { 40 };
        assert!(clients.iter().all(|client| client["operations"] == each), "{phase:#}");
        assert_eq!(phase["latency_ns"]["count"], 2 * each, "{phase:#}");
    }
    // No job, no client and no folder.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "status 1\n", "{}", read("talk"));
    let talk = read("talk");
    assert!(talk.contains("interrupted; all clients have ended, and their folder"), "{talk}");
}

/// Clients that can never have their nodes end at once and say what there is; those whose nodes are busy say what they
/// wait for, and begin when the nodes are free.
#[test]
fn clients_that_wait_for_nodes_say_so() {
    let test = "clients_that_wait_for_nodes_say_so";
    if !can_have_cluster(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        clients="$SEEKWELL clients . --on slurm --block 0 --files 10"
        for words in "--nodes 8 --processes 16" "--nodes 2 --processes 16" "--nodes 2 --partition none"; do
            status=0
            timeout 60 $clients $words >/dev/null 2>>never || status=$?
            echo "status $status"
        done
        job=$(sbatch --parsable --nodes 2 --exclusive --output /dev/null --wrap "sleep 600")
        until [ -n "$(squeue --noheader --states=R)" ]; do sleep 0.1; done
        $clients --nodes 2 --processes 1 >found 2>talk &
        run=$!
        until grep -q waits talk || ! kill -0 "$run"; do sleep 0.1; done
        scancel "$job"
        status=0
        wait "$run" || status=$?
        echo "status $status"
        ls -d seekwell-clients-* 2>/dev/null || true
        squeue --noheader --states=PD
    "#;
    let Some(output) = on_cluster(test, folder.path(), script) else { return };
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let never = read("never");
    assert_eq!(said, "status 2\nstatus 2\nstatus 2\nstatus 0\n", "{never}\n{}", read("talk"));
    let lines: Vec<&str> = never.lines().collect();
    let starts = [
        "seekwell: usage: 8 nodes with 16 clients each cannot start: ",
        "seekwell: usage: 2 nodes with 16 clients each cannot start: ",
        "seekwell: usage: 2 nodes with 2 clients each cannot start: ",
    ];
    let ends = [
        "; partition all has 2 nodes of 1 CPU; give --nodes, --processes and --partition that fit",
        "; partition all has 2 nodes of 1 CPU; give --nodes, --processes and --partition that fit",
        "; the cluster has no partition none; give --nodes, --processes and --partition that fit",
    ];
    assert_eq!(lines.len(), 3, "{never}");
    for (line, (start, end)) in lines.iter().zip(starts.iter().zip(ends)) {
        assert!(line.starts_with(start) && line.ends_with(end), "{never}");
    }
    let asked = " waits (Resources): 2 nodes with 1 client each asked for; partition all has 2 nodes of 1 CPU\n";
    assert!(read("talk").contains(asked), "{}", read("talk"));
    assert!(read("found").contains("File creation"), "{}", read("found"));
}
