//! Cost of a capture, as CSV on standard output: `cargo bench -p seekwell-capture --bench cost`,
//! as root on a quiet machine: `-- 5` is the number of rounds, `-- 5 pgbench untar` names the cases.
//! Each case whose name ends in `disk`, and `pgbench`, has a fresh ext4 in an image on the machine's
//! disk for every measurement; the others work in tmpfs. The case `empty` is the reads with a pair of
//! programs that do nothing instead of a capture.
//!
//! Columns: round, case, seconds of the program from its start to its end (of pgbench those of its
//! transactions: starts and stops of the server are seen in steps of 0.1 s), CPU seconds of the
//! program, CPU seconds of this process with loading its programs, events, lost events, bytes of the
//! trace, seconds of the whole capture, CPU seconds of this process from the start of the program to
//! the sealed trace.
//!
//! `-- table` makes `cost.md` from the rows kept in `benches/runs/capture`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

#[path = "../tests/common/cost_table.rs"]
mod cost_table;
#[path = "cost/pair.rs"]
mod pair;

use seekwell_capture::{Command, Options, Target, capture};
use seekwell_trace::Trace;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

const FOLDER: &str = "/dev/shm/seekwell-cost";
/// Folder of the filesystem on the disk of the machine. It is a fresh one each time: ext4 avoids inodes
/// that were freed less than a minute ago, and looks for others one by one.
const DISK: &str = "/var/tmp/seekwell-cost";
/// Its image.
const IMAGE: &str = "/var/tmp/seekwell-cost.img";
const INSERTS: u32 = 2_000;
const FILES: u32 = 120_000;
const READS: u32 = 2_000_000;
/// Name of the case without a capture.
const EMPTY: &str = "empty";
/// Of each of two clients.
const TRANSACTIONS: u32 = 3_000;
const CLIENT: &str = "-h $PWD/data -U bench postgres";
/// Commands of PostgreSQL as its own user, for it refuses to be root.
const POSTGRES: &str = r#"PATH="$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -1):$PATH"
user=$(id -u postgres || id -u nobody)
as() { setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; }
start() { as pg_ctl -D data/pg -w -l data/log -o "-c listen_addresses= -c unix_socket_directories=$PWD/data" start >/dev/null; }
stop() { as pg_ctl -D data/pg -m fast -w stop >/dev/null; }
"#;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("read") => return reads(words[2].parse().unwrap(), words[3].parse().unwrap()),
        Some("table") => return cost_table::write(),
        _ => {}
    }
    let rounds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(3);
    let _ = std::fs::remove_dir_all(FOLDER);
    std::fs::create_dir_all(FOLDER).unwrap();
    make_archive();
    println!("{}", cost_table::HEAD);
    let own = std::env::current_exe().unwrap().to_string_lossy().into_owned();
    let reads = |threads: &str| {
        [own.as_str(), "read", &READS.to_string(), threads].map(str::to_owned).to_vec()
    };
    let untar = ["tar", "xf", "files.tar", "-C", "out"].map(str::to_owned).to_vec();
    let untar_disk = vec!["tar".to_owned(), "xf".to_owned(), format!("{FOLDER}/files.tar")];
    let inserts = format!(
        "sqlite3 db 'create table t (a, b)' && \
         for n in $(seq {INSERTS}); do echo \"insert into t values ($n, 'x');\"; done | sqlite3 db"
    );
    let inserts = vec!["sh".to_owned(), "-c".to_owned(), inserts];
    let load = vec!["true".to_owned()];
    let transactions =
        format!("{POSTGRES} start; as pgbench {CLIENT} -c 2 -t {TRANSACTIONS} >said; stop");
    let transactions = ["sh", "-ec", &transactions].map(str::to_owned).to_vec();
    let cases = [
        ("load", load),
        ("untar", untar),
        ("untar-disk", untar_disk),
        ("sqlite-disk", inserts),
        ("pgbench", transactions),
        ("reads", reads("1")),
        ("reads2", reads("2")),
        (EMPTY, reads("1")),
    ];
    let is_named = |name: &str| words.iter().any(|word| word == name);
    let all = !cases.iter().any(|(name, _)| is_named(name));
    for round in 0..rounds {
        for (name, words) in cases.iter().filter(|(name, _)| all || is_named(name)) {
            // The order changes from round to round, so that neither side is always the first.
            for traced in [round % 2 == 0, round % 2 == 1] {
                measure(round, name, words, traced);
            }
        }
    }
    std::fs::remove_dir_all(FOLDER).unwrap();
}

fn make_archive() {
    let folders = FILES / 1000;
    shell(
        FOLDER,
        &format!(
            "mkdir f out; for d in $(seq {folders}); do mkdir f/$d; \
             for n in $(seq 1000); do echo $n > f/$d/$n; done; done; tar cf files.tar f; rm -r f"
        ),
    );
}

fn shell(folder: &str, script: &str) {
    let ended = std::process::Command::new("sh").args(["-ec", script]).current_dir(folder).status();
    assert!(ended.unwrap().success(), "{script}");
}

/// A fresh filesystem on the machine's disk, with a database for `pgbench`.
struct Disk;

impl Disk {
    fn new(name: &str) -> Self {
        std::fs::create_dir_all(DISK).unwrap();
        let make = format!(
            "truncate -s 3G {IMAGE}; mkfs.ext4 -q -N 200000 -E lazy_itable_init=0 {IMAGE}; \
             mount -o loop {IMAGE} {DISK}"
        );
        shell("/", &make);
        let disk = Self;
        if name == "pgbench" {
            let fill = format!(
                "{POSTGRES} mkdir -m 700 data; chown $user data; \
                 as initdb -D data/pg -A trust -U bench >/dev/null; start; \
                 as pgbench {CLIENT} -i -q -s 2 2>/dev/null; stop"
            );
            shell(DISK, &fill);
        }
        disk
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        std::env::set_current_dir("/").unwrap();
        let away = format!("umount {DISK} && rmdir {DISK} && rm {IMAGE}");
        let _ = std::process::Command::new("sh").args(["-c", &away]).status();
    }
}

/// Reads 4 KiB from the page cache, in each of some pinned threads.
fn reads(count: u32, threads: usize) {
    let path = Path::new(FOLDER).join("files.tar");
    let work = |cpu: usize| {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set).unwrap();
        let file = File::open(&path).unwrap();
        let mut page = [0; 4096];
        for nth in 0..count {
            file.read_exact_at(&mut page, u64::from(nth % 64) * 4096).unwrap();
        }
    };
    std::thread::scope(|scope| {
        for cpu in 0..threads {
            scope.spawn(move || work(cpu));
        }
    });
}

/// CPU time of this process, or of its children that have ended.
fn cpu_s(who: libc::c_int) -> f64 {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the structure lives until the call returns.
    assert_eq!(unsafe { libc::getrusage(who, &raw mut usage) }, 0);
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn measure(round: u32, name: &str, words: &[String], traced: bool) {
    std::env::set_current_dir(FOLDER).unwrap();
    let _ = std::fs::remove_dir_all("out");
    std::fs::create_dir("out").unwrap();
    let on_disk = name.ends_with("disk") || name == "pgbench";
    let _disk = on_disk.then(|| Disk::new(name));
    std::env::set_current_dir(if on_disk { DISK } else { FOLDER }).unwrap();
    // Neither side is to write back what the other left.
    rustix::fs::sync();
    let (child, own) = (cpu_s(libc::RUSAGE_CHILDREN), cpu_s(libc::RUSAGE_SELF));
    let pair = (traced && name == EMPTY).then(|| pair::Pair::attach().unwrap());
    let started = Instant::now();
    if !traced || pair.is_some() {
        let ended = std::process::Command::new(&words[0]).args(&words[1..]).status().unwrap();
        assert!(ended.success());
        let (s, cpu) = (started.elapsed().as_secs_f64(), cpu_s(libc::RUSAGE_CHILDREN) - child);
        let s = transactions_s(name).unwrap_or(s);
        match pair {
            Some(_) => println!("{round},{name}-traced,{s:.4},{cpu:.4},,{READS},,,,"),
            None => println!("{round},{name},{s:.4},{cpu:.4},,,,,,"),
        }
        return;
    }
    let words = words.iter().map(Into::into).collect();
    let target = Target::Command(Command { words, ..Command::default() });
    let output = Path::new(FOLDER).join("trace");
    let _ = std::fs::remove_dir_all(&output);
    let options = Options { same_device: true, ..Options::new(output.clone(), target) };
    let done = capture(&options, &AtomicBool::new(false), None).unwrap();
    let whole = started.elapsed().as_secs_f64();
    // Before the trace is read below, which is no part of a capture.
    let (child, own) = (cpu_s(libc::RUSAGE_CHILDREN) - child, cpu_s(libc::RUSAGE_SELF) - own);
    let lost: u64 = done.lost.iter().map(|lost| lost.count).sum();
    println!(
        "{round},{name}-traced,{:.4},{child:.4},{own:.4},{},{lost},{},{whole:.4},{:.4}",
        transactions_s(name).unwrap_or_else(|| program_s(&output)),
        done.events,
        Trace::open(&output).unwrap().bytes().unwrap(),
        done.recorder_cpu.as_secs_f64(),
    );
}

/// Time of the transactions of pgbench, from its own rate; `None` for other programs.
fn transactions_s(name: &str) -> Option<f64> {
    let said = (name == "pgbench").then(|| std::fs::read_to_string("said").unwrap())?;
    let rate = said.lines().find_map(|line| line.strip_prefix("tps = "));
    let rate: f64 = rate.unwrap().split(' ').next().unwrap().parse().unwrap();
    Some(f64::from(2 * TRANSACTIONS) / rate)
}

/// Time from the first exec to the last event.
fn program_s(output: &Path) -> f64 {
    let trace = Trace::open(output).unwrap();
    let (mut first, mut last) = (u64::MAX, 0);
    let each = |event: seekwell_trace::Event| {
        first = first.min(event.start_ns);
        last = last.max(event.start_ns + event.duration_ns.unwrap_or(0));
        Ok(())
    };
    trace.events(each).unwrap();
    last.saturating_sub(first) as f64 / 1e9
}
