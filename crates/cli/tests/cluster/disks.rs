//! Labs on the nodes' own kernels, and the scripts for sites whose disks labs may destroy.

use super::{can_have_cluster, on_cluster, on_cluster_with, root_folder, seekwell};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// A lab on the nodes' own kernels, in rounds of three trials.
const HOST_LAB: &str = r#"
[lab]
name = "h"
[[device]]
name = "image"
loop = "64MiB"
[[filesystem]]
type = "ext4"
[[filesystem]]
type = "ext2"
[scheduler]
choose = ["none"]
[[workload]]
kind = "mail"
files = 50
steps = []
[judge]
metric = "unpack.elapsed_durable"
rounds = 6
"#;

/// The nodes of each round of a run whose trials all went well.
fn rounds_by_node(folder: &Path, file: &str) -> (Value, BTreeMap<u64, BTreeSet<String>>) {
    let run = seekwell(folder, &["report", file, "--json"]);
    let run: Value = serde_json::from_slice(&run.stdout).unwrap();
    let mut rounds: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    for trial in run["trials"].as_array().unwrap() {
        assert_eq!(trial["status"], "ok", "{trial:#}");
        let node = trial["in_force"]["node"]["name"].as_str().unwrap().to_owned();
        rounds.entry(trial["round"].as_u64().unwrap()).or_default().insert(node);
    }
    (run["verdict"].clone(), rounds)
}

/// Rounds of a lab on the host backend go to nodes whole, each record tells its node, and the nodes are put back.
#[test]
fn rounds_on_the_nodes_own_kernels_stay_on_one_node() {
    let test = "rounds_on_the_nodes_own_kernels_stay_on_one_node";
    if !can_have_cluster(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lab.toml"), HOST_LAB).unwrap();
    let script = r#"
        status=0
        "$SEEKWELL" run lab.toml --place host --on slurm --nodes 2 -o lab.seekwell --no-screen >short 2>talk || status=$?
        "$SEEKWELL" report lab.seekwell --all >report
        echo "status $status"
        for try in $(seq 100); do [ -z "$(squeue --noheader)" ] && break; sleep 0.1; done
        squeue --noheader
        find "$CLUSTER"/state-node* -name "*.undo"
    "#;
    let Some(output) = on_cluster(test, folder.path(), script) else { return };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    assert!(["status 0\n", "status 4\n"].contains(&&*said), "{said}\n{}\n{output:?}", read("talk"));
    let (verdict, rounds) = rounds_by_node(folder.path(), "lab.seekwell");
    assert_eq!(rounds.len(), 6);
    assert!(rounds.values().all(|nodes| nodes.len() == 1), "{rounds:?}");
    let used: BTreeSet<String> = rounds.into_values().flatten().collect();
    assert_eq!(used.into_iter().collect::<Vec<_>>(), ["node1", "node2"]);
    let nodes = verdict["evidence"]["nodes"].as_array().unwrap();
    assert_eq!(nodes.iter().map(|node| node["rounds"].as_u64().unwrap()).sum::<u64>(), 6);
    assert!(read("report").contains("On each node"), "{}", read("report"));
}

/// The scripts for sites with disks, with a program that writes down how it is called: only jobs of the partition get
/// claims, a refused claim keeps the job away, and the claims are taken back.
#[test]
fn prolog_and_epilog_claim_the_disks_of_their_partition() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let program =
        "#!/bin/sh\necho \"$@\" >>\"$LOG\"\ncat >/dev/null\ncase $2 in */bad) exit 3 ;; esac\n";
    std::fs::write(path("seekwell"), program).unwrap();
    let run = |script: &str, partition: &str, disks: &str| {
        std::fs::write(path("disks"), disks).unwrap();
        let _ = std::fs::remove_file(path("log"));
        let ended = Command::new("sh")
            .arg(root_folder().join("scripts/slurm").join(script))
            .env("SLURM_JOB_PARTITION", partition)
            .env("SEEKWELL", path("run-seekwell"))
            .env("SEEKWELL_DISKS", path("disks"))
            .env("LOG", path("log"))
            .output()
            .unwrap();
        let log = std::fs::read_to_string(path("log")).unwrap_or_default();
        (ended.status.code(), log)
    };
    // A program that a test has just written may still be open in a child of another test.
    let shell = format!("exec sh '{}' \"$@\"\n", path("seekwell").display());
    Command::new("sh")
        .args(["-c", "printf '#!/bin/sh\\n%s' \"$1\" >\"$2\"; chmod 755 \"$2\"", "sh", &shell])
        .arg(path("run-seekwell"))
        .status()
        .unwrap();
    let disks = "# node 7\n/dev/disk/by-id/a Z9NB0K\n\n/dev/disk/by-id/b 1953525168\n";
    let claims = "doctor\nclaim /dev/disk/by-id/a --confirm Z9NB0K\nclaim /dev/disk/by-id/b --confirm 1953525168\n";
    assert_eq!(run("prolog", "seekwell-disks", disks), (Some(0), claims.to_owned()));
    let releases = "doctor\nrelease /dev/disk/by-id/a\nrelease /dev/disk/by-id/b\n";
    assert_eq!(run("epilog", "seekwell-disks", disks), (Some(0), releases.to_owned()));
    for script in ["prolog", "epilog"] {
        assert_eq!(run(script, "batch", disks), (Some(0), String::new()), "{script}");
    }
    let bad = "/dev/disk/by-id/bad X\n/dev/disk/by-id/b Y\n";
    let refused = "doctor\nclaim /dev/disk/by-id/bad --confirm X\n";
    assert_eq!(run("prolog", "seekwell-disks", bad), (Some(3), refused.to_owned()));
    let (status, log) = run("epilog", "seekwell-disks", bad);
    assert_eq!((status, log.lines().count()), (Some(1), 3), "the others are released: {log}");
}

/// A disk for labs.
struct Attached(String);

impl Attached {
    fn to(image: &Path) -> Self {
        std::fs::File::create(image).unwrap().set_len(64 << 20).unwrap();
        let output = Command::new("losetup").args(["--find", "--show"]).arg(image).output();
        Self(String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned())
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// Commands by which a site installs both scripts on a node, as the how-to on clusters says: below /etc, with the list of
/// the node's disks. Nothing of this machine's own /etc and /usr/local/bin is changed.
fn installed() -> String {
    let scripts = root_folder().join("scripts/slurm");
    format!(
        r#"
        etc=$CLUSTER/etc-$(uname -n)
        mkdir -p $etc
        mount -t tmpfs tmpfs $etc
        mkdir $etc/upper $etc/work
        mount -t overlay overlay -o lowerdir=/etc,upperdir=$etc/upper,workdir=$etc/work /etc
        cp $CLUSTER/hosts /etc/hosts
        mkdir -p /etc/slurm /etc/seekwell
        cp {scripts}/prolog /etc/slurm/seekwell-prolog
        cp {scripts}/epilog /etc/slurm/seekwell-epilog
        cp $TMPDIR/disks-$(uname -n) /etc/seekwell/slurm-disks
        mount -t tmpfs tmpfs /usr/local/bin
        ln -s "$SEEKWELL" /usr/local/bin/seekwell
        "#,
        scripts = scripts.display()
    )
}

/// Slurm with both scripts: a node claims its disk for a job of the partition and takes the claim back. A node on whose
/// list the disk is another one gets no job, and one without a claim refuses the lab.
#[test]
fn a_site_offers_the_disks_of_a_node_to_one_partition() {
    let test = "a_site_offers_the_disks_of_a_node_to_one_partition";
    if !can_have_cluster(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let disk = Attached::to(&path.join("image"));
    std::fs::write(path.join("disk.toml"), HOST_LAB).unwrap();
    // 131072 sectors: of the second node's disk another size is listed. With one disk for both, each claim may find it
    // opened by the other one.
    let other = Attached::to(&path.join("other"));
    std::fs::write(path.join("disks-node1"), format!("{} 131072\n", disk.0)).unwrap();
    std::fs::write(path.join("disks-node2"), format!("{} 262144\n", other.0)).unwrap();
    let conf = "Prolog=/etc/slurm/seekwell-prolog\nEpilog=/etc/slurm/seekwell-epilog\n\
                PartitionName=seekwell-disks Nodes=ALL OverSubscribe=EXCLUSIVE State=UP";
    let install = installed();
    let variables = [("SHARE_PIDS", "1"), ("SLURM_LINES", conf), ("NODE_LINES", install.as_str())];
    let script = r#"
        run="timeout 150 $SEEKWELL run disk.toml --place host --device $disk --on slurm --nodes 2 --no-screen"
        # A person has to see the plan of a disk first.
        $run --partition all -o all.seekwell >/dev/null 2>talk || echo "first $?"
        $run --partition all -o all.seekwell >/dev/null 2>>talk &
        all=$!
        until cat all.seekwell.nodes/logs/1.txt 2>/dev/null | grep "was not claimed" || ! kill -0 "$all"; do sleep 0.1; done
        kill "$all"
        wait "$all" || echo "second $?"
        status=0
        $run --partition seekwell-disks -o disks.seekwell >/dev/null 2>>talk || status=$?
        echo "third $status"
        for try in $(seq 100); do [ -z "$(squeue --noheader --states=R,CG)" ] && break; sleep 0.1; done
        sinfo --noheader --Node --partition all --format "%N %t %E"
        for node in node1 node2; do
            echo "$node: $(ls "$CLUSTER/state-$node/claims" 2>/dev/null | grep -v "saved$" | xargs)"
        done
    "#;
    let script = format!("disk={}\n{script}", disk.0);
    let Some(output) = on_cluster_with(test, path, &variables, &script) else { return };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = |name: &str| std::fs::read_to_string(path.join(name)).unwrap_or_default();
    let talk = read("talk");
    let refused = format!("first 3\nseekwell: refused: {} is not written: ", disk.0);
    assert!(said.starts_with(&refused), "{said}\n{talk}\n{output:?}");
    assert!(said.contains("\nsecond 1\nthird "), "{said}\n{talk}");
    assert!(said.contains("node1 idle none\n"), "{said}\n{talk}");
    assert!(said.contains("node2 drain Prolog error\n"), "{said}\n{talk}");
    // The copy of the ends of the disk from before the claim stays.
    assert!(said.ends_with("node1: \nnode2: \n"), "{said}\n{talk}");
    let (_, rounds) = rounds_by_node(path, "disks.seekwell");
    assert_eq!(rounds.len(), 6, "{said}\n{talk}");
    assert!(rounds.values().all(|nodes| nodes.iter().eq(["node1"])), "{rounds:?}");
}

/// Two nodes see one disk: one of them writes to it, the other one refuses in words. When the worker that writes is
/// killed, the disk is released and the run goes on, on the node whose claim knows the contents.
#[test]
fn two_nodes_never_write_to_one_disk() {
    let test = "two_nodes_never_write_to_one_disk";
    if !can_have_cluster(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let disk = Attached::to(&path.join("image"));
    std::fs::write(path.join("disk.toml"), HOST_LAB).unwrap();
    let script = r#"
        # A loop device has no world-wide name but what udev says.
        mount -t tmpfs tmpfs /run
        mkdir -p /run/udev/data
        echo "E:ID_WWN=0x6001405aabbccdd0" >"/run/udev/data/b$(cat /sys/block/${disk#/dev/}/dev)"
        for node in node1 node2; do
            srun --nodelist $node "$SEEKWELL" claim $disk --confirm 131072 >/dev/null 2>>talk
        done
        run="timeout 150 $SEEKWELL run disk.toml --place host --device $disk --on slurm --nodes 2 --no-screen -o disk.seekwell"
        $run >/dev/null 2>>talk || true
        $run >/dev/null 2>>talk &
        run=$!
        until cat disk.seekwell.nodes/logs/*.txt 2>/dev/null | grep "writes to this disk" || ! kill -0 "$run"; do sleep 0.1; done
        # To the other node's claim the filesystem of this one is strange: there the run must not go on.
        other=$(cat disk.seekwell.nodes/disks/*/* | grep -o '"task":"[^"]*"' | grep -q node1 && echo node2 || echo node1)
        scontrol update NodeName=$other State=DRAIN Reason="strange contents"
        # The name of a worker ends with its process and its job.
        cat disk.seekwell.nodes/disks/*/* 2>/dev/null | grep -o '"task":"[^"]*"'
        kill -9 $(cat disk.seekwell.nodes/disks/*/* | sed 's/.*"task":"[^"]*-\([0-9]*\)-[0-9]*".*/\1/') && echo killed
        status=0
        wait "$run" || status=$?
        echo "status $status"
    "#;
    let script = format!("disk={}\n{script}", disk.0);
    let Some(output) = on_cluster_with(test, path, &[("SHARE_PIDS", "1")], &script) else { return };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let talk = std::fs::read_to_string(path.join("talk")).unwrap_or_default();
    let lines: Vec<&str> = said.lines().collect();
    assert!(["status 0", "status 4"].contains(lines.last().unwrap()), "{said}\n{talk}\n{output:?}");
    let refused = format!("seekwell: refused: {} is not written: node", disk.0);
    assert!(lines[0].starts_with(&refused), "{said}");
    let words = " writes to this disk (0x6001405aabbccdd0) for the same run, as worker ";
    assert!(lines[0].contains(words), "{said}");
    assert!(said.contains("\nkilled\n"), "{said}");
    let (_, rounds) = rounds_by_node(path, "disk.seekwell");
    assert_eq!(rounds.len(), 6);
    assert!(rounds.values().all(|nodes| nodes.len() == 1), "{rounds:?}");
    assert!(!path.join("disk.seekwell.nodes").exists(), "no disk is locked");
}
