//! Trials in a claimed directory of an NFS server. The server is that of the kernel with Debian's own
//! programs, started here; `make test-layers` has a machine for it.

use super::machine::Machine;
use super::victims::{Run, Who};
use super::{Ground, SETTLE, SETTLE_ALONE, can_run, next_start, trials};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Version 4.2 sees the exported folder as its root.
const FOURTH: &str = "127.0.0.1:/bench";

const LAB: &str = r#"
[lab]
name = "export"
[[device]]
name = "scratch"
loop = { size = "32MiB", directory = "MEMORY" }
[[filesystem]]
name = "fourth"
type = "nfs"
export = { from = "127.0.0.1:/bench", version = "4.2", wsize = "64KiB" }
[[filesystem]]
name = "third"
type = "nfs"
export = { from = "127.0.0.1:EXPORTED/bench", version = "3", rsize = "32KiB" }
[scheduler]
choose = ["none"]
[[workload]]
kind = "command"
run = "mkdir {dir}/d; ln -s /etc {dir}/d/link; dd if=/dev/zero of={dir}/dirty bs=64k count=64 2>/dev/null; dd if=/dev/zero of={dir}/d/synced bs=64k count=16 conv=fsync 2>/dev/null; sleep 1"
[judge]
metric = "command.elapsed"
method = "rounds"
rounds = 6
"#;

/// Trials of that lab.
const TRIALS: usize = 12;

/// An NFS server of this machine; it ends when it is dropped.
struct Server {
    exported: PathBuf,
    daemons: Vec<Child>,
}

fn done(program: &str, arguments: &[&str]) {
    let output = Command::new(program).args(arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

impl Server {
    fn start(exported: &Path) -> Self {
        fs::create_dir_all(exported.join("bench")).unwrap();
        done("ip", &["link", "set", "lo", "up"]);
        done("mount", &["-t", "nfsd", "nfsd", "/proc/fs/nfsd"]);
        let daemon = |program: &str, foreground: &str| {
            let mut command = Command::new(program);
            command.arg(foreground).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut daemons = vec![daemon("rpcbind", "-f")];
        let begun = Instant::now();
        while std::net::TcpStream::connect("127.0.0.1:111").is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30), "rpcbind does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        let options = "rw,sync,no_root_squash,no_subtree_check,fsid=0";
        done("exportfs", &["-i", "-o", options, &format!("127.0.0.1:{}", exported.display())]);
        done("rpc.nfsd", &["--grace-time", "10", "4"]);
        daemons.push(daemon("rpc.mountd", "--foreground"));
        Self { exported: exported.to_owned(), daemons }
    }

    /// Names in the claimed folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.exported.join("bench")).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// Waits until only the claim is there.
    fn assert_only_the_claim(&self, after: &str) {
        let begun = Instant::now();
        while self.names() != [".seekwell-claim"] {
            assert!(begun.elapsed() < SETTLE_ALONE, "{after}: {:?}", self.names());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A test that failed before leaves its machine with the emulator.
        let _ = Command::new("rpc.nfsd").arg("0").status();
        let _ = Command::new("exportfs").args(["-a", "-u"]).status();
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = Command::new("umount").arg("/proc/fs/nfsd").status();
    }
}

fn seekwell(ground: &Ground, arguments: &[&str]) -> Output {
    Command::new(ground.program()).args(arguments).current_dir(ground.path()).output().unwrap()
}

fn refused(ground: &Ground, arguments: &[&str], why: &str) {
    let output = seekwell(ground, arguments);
    let said = String::from_utf8_lossy(&output.stderr).replace("\n  ", " ");
    assert_eq!(output.status.code(), Some(3), "{arguments:?}: {said}");
    assert!(said.contains(why), "{said}");
}

/// Trials that nobody disturbs, with what is not known of the server.
fn assert_trials(trials: &[serde_json::Value]) {
    assert_eq!(trials.len(), TRIALS);
    for trial in trials {
        assert_eq!(trial["status"], "ok", "{trial}");
        let mount = trial["in_force"]["mount"].as_str().unwrap();
        let is_third = mount.contains("vers=3");
        let size = if is_third { "rsize=32768" } else { "wsize=65536" };
        assert!(mount.contains(size) && (is_third || mount.contains("vers=4.2")), "{mount}");
        let warnings = trial["warnings"].to_string();
        assert!(warnings.contains("server-unknown"), "{warnings}");
        for step in trial["steps"].as_array().unwrap() {
            assert!(step["device"].is_null(), "{step}");
        }
        let metrics = trial["metrics"].as_object().unwrap();
        assert!(metrics.contains_key("command.elapsed"), "{metrics:?}");
        assert!(!metrics.keys().any(|name| name.contains("device_")), "{metrics:?}");
    }
}

#[test]
fn nothing_is_left_in_a_claimed_export_but_its_claim() {
    let test = "nothing_is_left_in_a_claimed_export_but_its_claim";
    if !can_run(test) {
        return;
    }
    if !Path::new("/sys/module/nfsd").exists() {
        return seekwell_testing::skip(test, "nfsd is not loaded: make test-layers has a kernel");
    }
    for program in ["rpcbind", "rpc.nfsd", "rpc.mountd", "exportfs"] {
        if seekwell_testing::tool(program).is_none() {
            return seekwell_testing::skip(test, &format!("{program} is not installed"));
        }
    }
    let folder =
        tempfile::Builder::new().prefix("seekwell-exported").tempdir_in("/dev/shm").unwrap();
    let server = Server::start(folder.path());
    fs::write(folder.path().join("thesis"), "").unwrap();
    let ground = Ground::new(&LAB.replace("EXPORTED", folder.path().to_str().unwrap()));

    refused(&ground, &["run", "lab.toml"], "it has no claim, so labs do not use it");
    refused(&ground, &["claim", "127.0.0.1:/", "--confirm", "127.0.0.1"], "not empty");
    let claimed = seekwell(&ground, &["claim", FOURTH, "--confirm", "bench"]);
    assert!(claimed.status.success(), "{}", String::from_utf8_lossy(&claimed.stderr));
    refused(&ground, &["claim", FOURTH, "--confirm", "bench"], "it was claimed on");

    let machine = Machine::look(ground.path());
    assert_trials(&super::trials_of_a_run(&ground, &machine));
    server.assert_only_the_claim("the run");
    println!("{TRIALS} trials in an export: nothing left");
    kills(&ground, &server);

    fs::write(folder.path().join("bench/results"), "").unwrap();
    refused(&ground, &["run", "lab.toml"], "files that are not Seekwell's (results)");
    assert!(seekwell(&ground, &["release", FOURTH]).status.success());
    assert_eq!(server.names(), ["results"]);
    let kept = fs::metadata(folder.path().join("thesis")).unwrap();
    assert_eq!((kept.size(), kept.nlink()), (0, 1));
}

/// Kills of each process and of all, while the workload writes.
fn kills(ground: &Ground, server: &Server) {
    let mut machine = Machine::look(ground.path());
    let run_file = ground.path().join("kill.seekwell");
    let groups: [&[Who]; 6] = [
        &[Who::Agent],
        &[Who::Runner],
        &[Who::Workload],
        &[Who::Agent, Who::Runner],
        &[Who::Agent, Who::Guardian],
        &Who::ALL,
    ];
    for who in groups {
        let mut run = Run::start(&ground.program(), ground.path(), &run_file);
        run.wait_for_program(&["dd"]);
        machine.note_devices();
        let found = server.names().len() > 1;
        assert!(run.kill(who) > 0, "{who:?}");
        run.end();
        if who.contains(&Who::Guardian) {
            next_start(ground);
        }
        let after = format!("kill of {who:?} with a directory there: {found}");
        machine.assert_restored_within(SETTLE_ALONE, &after);
        server.assert_only_the_claim(&after);
        println!("{after}: nothing left");
    }
    assert_eq!(trials(ground, &run_file).len(), TRIALS);
    machine.assert_restored_within(SETTLE, "the completed run");
    server.assert_only_the_claim("the completed run");
}
