//! Programs whose work is known: each makes what it needs in a directory, and is a script for `sh -e`.

use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// PostgreSQL refuses to run as root.
pub const NOBODY: u32 = 65_534;

/// A number of files or operations, divided by `SEEKWELL_SMALLER`: an emulated machine takes twenty times
/// as long, and the tests claim the same of fewer.
#[allow(dead_code, reason = "benches measure whole sizes")]
pub fn sized(count: usize) -> usize {
    let smaller = std::env::var("SEEKWELL_SMALLER").ok().and_then(|text| text.parse().ok());
    (count / smaller.unwrap_or(1)).max(5)
}

/// Runs a script in a directory.
pub fn shell(work: &Path, script: &str) {
    let done = Command::new("sh").args(["-ec", script]).current_dir(work).status();
    assert!(done.unwrap().success(), "{script}");
}

/// tar packs files of 3000 bytes and unpacks them.
pub fn tar(work: &Path, files: usize) -> String {
    std::fs::create_dir_all(work.join("from")).unwrap();
    std::fs::create_dir(work.join("to")).unwrap();
    for nth in 0..files {
        std::fs::write(work.join(format!("from/{nth}")), vec![7; 3000]).unwrap();
    }
    format!("cd {} && tar -cf archive -C from . && tar -xf archive -C to", work.display())
}

/// Messages of 2000 bytes, each synced before it gets a name in `new`.
pub fn maildir(work: &Path, messages: usize) -> String {
    shell(work, "mkdir tmp new cur");
    std::fs::write(work.with_extension("message"), "x".repeat(1999) + "\n").unwrap();
    // A name must not be seen in new/ before its data is safe.
    format!(
        "cd {}; for n in $(seq {messages}); do cat ../work.message >tmp/$n; sync tmp/$n; \
         mv tmp/$n new/; done",
        work.display()
    )
}

/// rrdtool updates each of some files so many times.
pub fn rrdtool(work: &Path, files: usize, updates: usize) -> String {
    let create = "create 1.rrd --start 1699999800 DS:load:GAUGE:600:U:U RRA:AVERAGE:0.5:1:600";
    shell(work, &format!("rrdtool {create}"));
    for nth in 2..=files {
        std::fs::copy(work.join("1.rrd"), work.join(format!("{nth}.rrd"))).unwrap();
    }
    let times = (0..updates).map(|update| 1_700_000_100 + 300 * update);
    let updates: String = times
        .flat_map(|at| (1..=files).map(move |nth| format!("update {nth}.rrd {at}:{nth}\n")))
        .collect();
    std::fs::write(work.with_extension("updates"), updates).unwrap();
    format!("cd {}; rrdtool - <../work.updates >../work.log", work.display())
}

/// Settings by which git depends on the directory alone.
pub const GIT_ALONE: &str = "export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null HOME=/none";

/// git clones the repository at `from` in the directory, and packs the clone.
pub fn git(work: &Path) -> String {
    format!("{GIT_ALONE}\ncd {}; git clone -q from to; git -C to gc -q", work.display())
}

/// A PostgreSQL server, which ends with this value if it still runs: it is no child of the test.
pub struct Server {
    data: PathBuf,
    pub bench: String,
}

impl Server {
    /// A server in `work` with the tables of pgbench, and the script that starts it, runs pgbench with
    /// these options and stops it. `None` where no server is installed.
    pub fn create(work: &Path, scale: u32, options: &str) -> Option<Self> {
        let bin = installed()?;
        let outer = work.parent().unwrap();
        for folder in [outer, work] {
            chown(folder, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let start = format!(
            "export PATH={}:$PATH PGHOST={} PGUSER=bench PGDATABASE=postgres
             cd {}
             pg_ctl -D data -w -s -l log \
             -o \"-k $PGHOST -c listen_addresses= -c autovacuum=off\" start",
            bin.display(),
            outer.display(),
            work.display()
        );
        let stop = "pg_ctl -D data -w -s -m fast stop";
        let bench = format!("{start}\npgbench -n {options} >log.bench\n{stop}");
        let server = Self { data: work.join("data"), bench };
        let as_nobody = |program: &Path, arguments: &[&str]| {
            let mut command = Command::new(program);
            command.uid(NOBODY).gid(NOBODY).args(arguments).current_dir(work);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            assert!(command.status().unwrap().success(), "{}", program.display());
        };
        let made = ["-D", "data", "-N", "-U", "bench", "-A", "trust", "--no-locale"];
        as_nobody(&bin.join("initdb"), &made);
        let fill = format!("{start}\npgbench -i -q -s {scale} 2>log.fill\n{stop}");
        as_nobody(Path::new("/bin/sh"), &["-ec", &fill]);
        Some(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let text = std::fs::read_to_string(self.data.join("postmaster.pid")).unwrap_or_default();
        let process = text.lines().next().and_then(|line| line.parse().ok());
        let Some(process) = process.and_then(Pid::from_raw) else { return };
        let name = format!("/proc/{}/comm", process.as_raw_nonzero());
        let is_server = || std::fs::read_to_string(&name).is_ok_and(|name| name == "postgres\n");
        if is_server() {
            // The server's way to end at once, with its children.
            let _ = kill_process(process, Signal::QUIT);
        }
        // It still writes to the directory, which is about to be removed.
        for _ in 0..1000 {
            if !is_server() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Folder of the newest PostgreSQL server.
fn installed() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let folders = versions.map(|entry| entry.path().join("bin"));
    folders.filter(|folder| folder.join("initdb").exists()).max()
}
