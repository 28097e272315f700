//! Captures of real programs on this kernel. They need root and eBPF.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Row, captured, captured_until, captured_watched, of_command, rows};
use seekwell_capture::{Ended, Live, Target};
use seekwell_recordings::info::Summary;
use seekwell_testing::{Cgroup, NO_CGROUP};
use seekwell_trace::{Event, Trace};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn a_copy_is_seen_with_paths_sizes_and_results() {
    let test = "a_copy_is_seen_with_paths_sizes_and_results";
    let work = tempfile::tempdir().unwrap();
    let data = work.path().join("data");
    std::fs::create_dir_all(data.join("sub")).unwrap();
    std::fs::write(data.join("sub/from"), vec![7; 300_000]).unwrap();
    std::os::unix::fs::symlink("sub", data.join("link")).unwrap();
    let copy =
        "dd if=from of=../to bs=64k conv=fsync 2>/dev/null; rm ../to; ! cat none 2>/dev/null";
    let script = format!("cd {}/link && {copy}", data.display());
    let mut options = of_command(&work.path().join("trace"), &["sh", "-c", &script]);
    options.paths.push(data.clone());
    let Some(captured) = captured(test, &options) else { return };
    assert_eq!(captured.status.and_then(|status| status.code()), Some(0), "{script}");
    assert_eq!(captured.lost, []);
    let data = data.canonicalize().unwrap();
    let at = |name: &str| data.join(name).to_string_lossy().into_owned();
    let rows = rows(&Trace::open(&options.output).unwrap());
    let of = |name: &str, path: &str| -> Vec<Event> {
        let wanted = |row: &&Row| row.0.call.call().name == name && row.1 == path;
        rows.iter().filter(wanted).map(|row| row.0).collect()
    };
    let read: Vec<_> = of("read", &at("sub/from"))
        .iter()
        .map(|event| (event.offset.unwrap(), event.result.unwrap()))
        .collect();
    let blocks = (0..4).map(|block| (block * 65_536, 65_536));
    let expected: Vec<_> = blocks.chain([(262_144, 37_856), (300_000, 0)]).collect();
    assert_eq!(read, expected);
    let written: i64 = of("write", &at("to")).iter().filter_map(|event| event.result).sum();
    assert_eq!(written, 300_000);
    assert_eq!(of("fsync", &at("to")).len(), 1);
    assert_eq!(of("unlinkat", &at("to")).len() + of("unlink", &at("to")).len(), 1);
    assert!(rows.iter().any(|(event, path, _)| event.failed() && path.ends_with("/none")));
}

#[test]
fn a_capture_that_fails_leaves_no_program_of_its_test() {
    let test = "a_capture_that_fails_leaves_no_program_of_its_test";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to load eBPF programs");
    }
    let work = tempfile::tempdir().unwrap();
    let path = |name: &str| work.path().join(name);
    let (trace, said, gone) = (path("trace"), path("said"), path("gone"));
    let script = "sleep 1000 & echo $$ $! >said; rm -r trace; : >gone; wait";
    let script = format!("cd {}; {script}", work.path().display());
    let options = of_command(&trace, &["sh", "-c", &script]);
    let stop = AtomicBool::new(false);
    let failed = std::thread::scope(|scope| {
        let recording = scope.spawn(|| captured_until(test, &options, &stop).is_some());
        while !gone.exists() && !recording.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Without its folder the trace cannot be finished.
        stop.store(true, Ordering::Relaxed);
        recording.join()
    });
    if matches!(failed, Ok(false)) {
        return;
    }
    assert!(failed.is_err(), "the capture has not failed");
    let said = std::fs::read_to_string(said).unwrap();
    let processes: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(processes.len(), 2, "{said}");
    // A process that was killed may take a moment, and be reaped later.
    let is_alive = |process: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let left = || processes.iter().copied().filter(is_alive).collect::<Vec<_>>();
    let started = std::time::Instant::now();
    while !left().is_empty() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(left(), [""; 0]);
}

/// The kernel names what a number of a descriptor leads to when it is asked, which is later.
#[test]
fn ends_of_a_pair_of_sockets_are_not_taken_for_later_files() {
    let test = "ends_of_a_pair_of_sockets_are_not_taken_for_later_files";
    let work = tempfile::tempdir().unwrap();
    let script = r#"use Socket;
        socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die;
        syswrite(A, "xy"); sysread(B, $b, 2); close A; close B;
        open(F, ">", "f") or die; open(G, ">", "g") or die;
        mkdir "sub"; symlink("f", "sub/link") or die;
        select(undef, undef, undef, 0.3);"#;
    let whole = format!("cd {} && perl -e '{script}'", work.path().display());
    let trace = work.path().join("trace");
    let options = of_command(&trace, &["sh", "-c", &whole]);
    if captured(test, &options).is_none() {
        return;
    }
    let rows = rows(&Trace::open(&trace).unwrap());
    let moved =
        |length| move |row: &&Row| row.0.call.call().moves_data() && row.0.result == Some(length);
    let pair: Vec<&str> = rows.iter().filter(moved(2)).map(|row| row.1.as_str()).collect();
    assert_eq!(pair.len(), 2, "{pair:?}");
    assert!(pair.iter().all(|path| path.starts_with("socket:")), "{pair:?}");
    let link = rows.iter().find(|row| row.0.call.call().is_symlink()).unwrap();
    assert_eq!(link.0.length, Some(1));
    assert!(link.1.ends_with("/sub/link") && link.2.ends_with("/sub/f"), "{link:?}");
}

/// fio and other programs ask for the end of a child every few milliseconds, and do not block.
#[test]
fn a_parent_that_polls_for_the_end_of_its_child_waits_for_it() {
    let test = "a_parent_that_polls_for_the_end_of_its_child_waits_for_it";
    let work = tempfile::tempdir().unwrap();
    let start = r#"use POSIX ":sys_wait_h";
        my $child = fork;
        if (!$child) { select(undef, undef, undef, 0.4); open(F, ">", "child"); exit; }"#;
    let polls = "select(undef, undef, undef, 0.01) while waitpid($child, WNOHANG) == 0;";
    // As fio: what it looks at between is elsewhere, and the last time it waits.
    let looks = "for (1..8) { waitpid($child, WNOHANG); stat(\"/\"); select(undef, undef, undef, 0.01); } \
                 waitpid($child, 0);";
    let sleeps = "select(undef, undef, undef, 0.8); waitpid($child, 0);";
    for (waits, is_poll) in [(polls, true), (looks, true), (sleeps, false)] {
        let script = format!("{start} {waits} open(F, \">\", \"parent\");");
        let whole = format!("cd {} && perl -e '{script}'", work.path().display());
        let trace = work.path().join("trace");
        if captured(test, &of_command(&trace, &["sh", "-c", &whole])).is_none() {
            return;
        }
        let rows = rows(&Trace::open(&trace).unwrap());
        std::fs::remove_dir_all(&trace).unwrap();
        let makes = |name: &str| &rows.iter().find(|row| row.1.ends_with(name)).unwrap().0;
        let (child, parent) = (makes("/child"), makes("/parent"));
        assert_eq!(parent.waker, is_poll.then_some(child.thread), "{waits}");
        let awaited_ns = parent.awaited_ns.unwrap_or(0);
        assert_eq!(
            (200_000_000..4_000_000_000).contains(&awaited_ns),
            is_poll,
            "{waits}: {awaited_ns}"
        );
        assert_eq!(child.waker, None);
    }
}

/// Calls that the strace of most machines does not know.
const YOUNG: [&str; 6] =
    ["listxattrat", "removexattrat", "getxattrat", "file_getattr", "setxattrat", "file_setattr"];

/// The strace of most machines does not know them: the program itself says what the kernel answered.
#[test]
fn calls_that_are_younger_than_strace_are_recorded() {
    let test = "calls_that_are_younger_than_strace_are_recorded";
    let work = tempfile::tempdir().unwrap();
    let script = r#"open(F, ">", "f"); close F; my $b = "\0" x 64;
        sub said {
            my ($call, $path, $third, $fourth, $fifth) = @_;
            my $result = syscall($call, -100, $path, $third, $fourth, $fifth, 0);
            $result < 0 ? -int($!) : $result
        }
        open(S, ">", "said");
        print S join(" ", said(465, "f", 0, $b, 64), said(466, "f", 256, "user.none", 0),
            said(464, "none", 0, "user.none", 0), said(468, "none", 0, 24, 0),
            said(463, "none", 0, "user.none", 0), said(469, "none", $b, 24, 0)), "\n";"#;
    let whole = format!("cd {} && perl -e '{script}'", work.path().display());
    let trace = work.path().join("trace");
    if captured(test, &of_command(&trace, &["sh", "-c", &whole])).is_none() {
        return;
    }
    let said = std::fs::read_to_string(work.path().join("said")).unwrap();
    let said: Vec<i64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let unknown = -i64::from(libc::ENOSYS);
    if said.contains(&unknown) {
        return seekwell_testing::skip(test, "needs Linux 6.17");
    }
    let rows = rows(&Trace::open(&trace).unwrap());
    let rows = rows.iter().filter(|row| YOUNG.contains(&row.0.call.call().name));
    let found: Vec<_> = rows
        .map(|row| {
            let path = row.1.rsplit('/').next().unwrap();
            (row.0.call.call().name, path, row.2.as_str(), row.0.flags, row.0.result.unwrap())
        })
        .collect();
    let of = |nth: usize, path, name, flags| (YOUNG[nth], path, name, Some(flags), said[nth]);
    let none = "xattr:[user.none]";
    let expected = [
        of(0, "f", "", 0),
        of(1, "f", none, 256),
        of(2, "none", none, 0),
        of(3, "none", "", 0),
        of(4, "none", none, 0),
        of(5, "none", "", 0),
    ];
    assert_eq!(found, expected);
}

/// A shell that adds lines to `log` until it is dropped. Between them it waits by itself: starting a
/// program takes an emulated machine longer than a test.
struct Shell(std::process::Child);

impl Shell {
    /// Runs `first` before the lines.
    fn start(work: &Path, first: &str) -> Self {
        Self::start_by(&["sh"], work, first)
    }

    /// The same, with the shell started by these words.
    fn start_by(words: &[&str], work: &Path, first: &str) -> Self {
        std::fs::write(work.join("log"), "").unwrap();
        let wait = "n=0; while [ $n -lt 5000 ]; do n=$((n + 1)); done";
        let script = format!("{first}\nexec 7>>log; while :; do echo line >&7; {wait}; done");
        let mut shell = std::process::Command::new(words[0]);
        Self(shell.args(&words[1..]).args(["-c", &script]).current_dir(work).spawn().unwrap())
    }

    /// Waits until it has written a line: it is where it is to be then.
    fn wait(&mut self, work: &Path) {
        while std::fs::metadata(work.join("log")).is_ok_and(|metadata| metadata.len() == 0) {
            assert!(self.0.try_wait().unwrap().is_none(), "the shell has ended");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Records a target until there are 20 calls of it, and returns the lines that were added to `log` in
/// `work`, with all rows; `None` after a skip.
fn lines_of(test: &str, target: Target, work: &Path, paths: &[&Path]) -> Option<(usize, Vec<Row>)> {
    let outside = tempfile::tempdir().unwrap();
    let log = work.canonicalize().unwrap().join("log");
    lines_at(test, target, &log, paths, &outside.path().join("trace"))
}

/// The same of the file `log` as the target sees it, with the trace at `trace`.
fn lines_at(
    test: &str,
    target: Target,
    log: &Path,
    paths: &[&Path],
    trace: &Path,
) -> Option<(usize, Vec<Row>)> {
    let mut options = of_command(trace, &[]);
    options.target = target;
    options.paths = paths.iter().map(|path| path.to_path_buf()).collect();
    options.time = Some(Duration::from_secs(300));
    // The recording itself says when it has enough: calls, and no requests of others.
    options.block = false;
    let stop = AtomicBool::new(false);
    let enough = |live: &Live| stop.store(live.events >= 20, Ordering::Relaxed);
    let captured = captured_watched(test, &options, &stop, enough)?;
    assert_eq!((captured.status, captured.ended), (None, Ended::Stopped));
    let rows = rows(&Trace::open(trace).unwrap());
    let is_line = |row: &&Row| {
        row.0.call.call().name == "write" && Path::new(&row.1) == log && row.0.result == Some(5)
    };
    Some((rows.iter().filter(is_line).count(), rows))
}

#[test]
fn a_running_process_is_recorded_with_descriptors_that_were_open() {
    let test = "a_running_process_is_recorded_with_descriptors_that_were_open";
    let work = tempfile::tempdir().unwrap();
    let shell = Shell::start(work.path(), "");
    let target = Target::Process(shell.id());
    let Some((lines, rows)) = lines_of(test, target, work.path(), &[]) else { return };
    assert!(lines > 3, "{}", rows.len());
}

#[test]
fn a_cgroup_is_recorded_and_no_process_outside() {
    let test = "a_cgroup_is_recorded_and_no_process_outside";
    let Some(cgroup) = Cgroup::make(&format!("recorded-test-{}", std::process::id())) else {
        return seekwell_testing::skip(test, NO_CGROUP);
    };
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let shell = Shell::start(inside.path(), &cgroup.enter());
    let _other = Shell::start(outside.path(), "");
    let target = Target::Cgroup(cgroup.path().to_owned());
    let Some((lines, rows)) = lines_of(test, target, inside.path(), &[]) else { return };
    assert!(lines > 3, "{}", rows.len());
    assert_eq!(processes(&rows), [shell.id()]);
}

fn processes(rows: &[Row]) -> Vec<u32> {
    let mut processes: Vec<u32> = rows.iter().map(|row| row.0.process).collect();
    processes.sort_unstable();
    processes.dedup();
    processes
}

#[test]
fn a_unit_is_recorded_by_its_name() {
    let test = "a_unit_is_recorded_by_its_name";
    let name = format!("seekwell-test{}", std::process::id());
    // As systemd places a service, and one of a template.
    let slice = format!("system-{}.slice", name.replace('-', "\\x2d"));
    let places = [format!("{name}.service"), format!("{slice}/{name}@main.service")];
    for place in places {
        let Some(cgroup) = Cgroup::make(&format!("system.slice/{place}")) else {
            return seekwell_testing::skip(test, NO_CGROUP);
        };
        let work = tempfile::tempdir().unwrap();
        let mut shell = Shell::start(work.path(), &cgroup.enter());
        shell.wait(work.path());
        let target = Target::Cgroup(seekwell_capture::cgroup_of(&name).unwrap());
        let Some((lines, rows)) = lines_of(test, target, work.path(), &[]) else { return };
        assert!(lines > 3, "{place}: {}", rows.len());
        assert_eq!(processes(&rows), [shell.id()], "{place}");
    }
}

/// The cgroup of a unit that starts again is another one of the same name.
#[test]
fn a_unit_that_is_started_again_is_still_recorded() {
    let test = "a_unit_that_is_started_again_is_still_recorded";
    let name = format!("seekwell-again-{}", std::process::id());
    let Some(first) = Cgroup::make(&name) else {
        return seekwell_testing::skip(test, NO_CGROUP);
    };
    let work = tempfile::tempdir().unwrap();
    let folder = |nth: u32| {
        let folder = work.path().join(format!("{nth}"));
        std::fs::create_dir(&folder).unwrap();
        folder
    };
    let outside = tempfile::tempdir().unwrap();
    let mut options = of_command(&outside.path().join("trace"), &[]);
    options.target = Target::Cgroup(first.path().to_owned());
    options.time = Some(Duration::from_secs(300));
    options.block = false;
    let shell = Shell::start(&folder(1), &first.enter());
    let mut ids = vec![shell.id()];
    let mut running = Some((shell, first));
    let stop = AtomicBool::new(false);
    let watch = |live: &Live| {
        let newest = ids.last().map(u32::to_string).unwrap_or_default();
        match live.processes.iter().any(|(name, _)| name.contains(&newest)) {
            false => {}
            true if ids.len() == 2 => stop.store(true, Ordering::Relaxed),
            true => {
                drop(running.take());
                let again = Cgroup::make(&name).unwrap();
                let shell = Shell::start(&folder(2), &again.enter());
                ids.push(shell.id());
                running = Some((shell, again));
            }
        }
    };
    let Some(captured) = captured_watched(test, &options, &stop, watch) else { return };
    assert_eq!((captured.status, captured.ended), (None, Ended::Stopped));
    let found = processes(&rows(&Trace::open(&options.output).unwrap()));
    ids.sort_unstable();
    assert_eq!(found, ids);
}

#[test]
fn a_container_is_recorded_with_paths_inside_and_outside() {
    let test = "a_container_is_recorded_with_paths_inside_and_outside";
    if seekwell_testing::tool("unshare").is_none() {
        return seekwell_testing::skip(test, "unshare is not installed");
    }
    let id = format!("{:08x}{}", std::process::id(), "5eec".repeat(14));
    // docker with systemd and without, podman, Kubernetes.
    let pod = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod5eec.slice";
    let places = [
        format!("system.slice/docker-{id}.scope"),
        format!("docker/{id}"),
        format!("machine.slice/libpod-{id}.scope/container"),
        format!("{pod}/cri-containerd-{id}.scope"),
    ];
    // Rootless containers have users of their own.
    let users = ["unshare", "--user", "--map-root-user", "--mount", "sh"];
    let has_users = std::process::Command::new(users[0]).args(&users[1..4]).arg("true").status();
    if !has_users.is_ok_and(|status| status.success()) {
        return seekwell_testing::skip(test, "user namespaces are not allowed here");
    }
    for (nth, place) in places.into_iter().enumerate() {
        let Some(cgroup) = Cgroup::make(&place) else {
            return seekwell_testing::skip(test, NO_CGROUP);
        };
        let work = tempfile::tempdir().unwrap();
        let volume = work.path().canonicalize().unwrap().join("volume");
        std::fs::create_dir(&volume).unwrap();
        let seen = volume.with_file_name("seen");
        std::fs::create_dir(&seen).unwrap();
        // Its own mounts, in which the volume is another directory.
        let (from, to) = (volume.display(), seen.display());
        let first = format!("{}; mount --bind {from} {to} && cd {to} || exit", cgroup.enter());
        let alone: &[&str] = if nth % 2 == 1 { &users } else { &["unshare", "--mount", "sh"] };
        let mut shell = Shell::start_by(alone, &volume, &first);
        shell.wait(&volume);
        let target = Target::Cgroup(seekwell_capture::cgroup_of_container(&id[..20]).unwrap());
        let trace = work.path().join("trace");
        let found = lines_at(test, target, &seen.join("log"), &[&volume], &trace);
        let Some((lines, rows)) = found else { return };
        assert!(lines > 3, "{place}: {}", rows.len());
        assert_eq!(processes(&rows), [shell.id()], "{place}");
        let trace = Trace::open(&trace).unwrap();
        let outside = trace.meta().mounts.iter().find(|mount| Path::new(&mount.inside) == seen);
        assert_eq!(
            outside.map(|mount| Path::new(&mount.outside)),
            Some(volume.as_path()),
            "{place}"
        );
        let text = seekwell_recordings::info::text(&Summary::of(&trace).unwrap());
        let said = format!("  {} is {}\n", seen.display(), volume.display());
        assert!(text.contains("In the container and outside\n") && text.contains(&said), "{text}");
    }
}

#[test]
fn the_system_is_recorded_below_a_directory_and_not_elsewhere() {
    let test = "the_system_is_recorded_below_a_directory_and_not_elsewhere";
    let (below, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let _shell = Shell::start(below.path(), "");
    let _other = Shell::start(elsewhere.path(), "");
    let found = lines_of(test, Target::System, below.path(), &[below.path()]);
    let Some((lines, rows)) = found else { return };
    assert!(lines > 3, "{}", rows.len());
    let root = below.path().canonicalize().unwrap();
    let is_below = |path: &str| Path::new(path).starts_with(&root);
    let others: Vec<&Row> =
        rows.iter().filter(|row| !is_below(&row.1) && !is_below(&row.2)).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_call_in_progress_at_the_end_is_counted_and_a_wait_for_a_pipe_is_not() {
    let test = "a_call_in_progress_at_the_end_is_counted_and_a_wait_for_a_pipe_is_not";
    let work = tempfile::tempdir().unwrap();
    let held = work.path().join("held");
    let file = std::fs::File::create(&held).unwrap();
    // `flock` waits for the lock that this process has, `cat` for a pipe.
    rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let script = "sleep 60 | cat & (flock 9; :) 9>>held & : >ready; wait";
    let script = format!("cd {} && {{ {script}; }}", work.path().display());
    let options = of_command(&work.path().join("trace"), &["sh", "-c", &script]);
    let (ready, stop) = (work.path().join("ready"), AtomicBool::new(false));
    let captured = std::thread::scope(|scope| {
        let recording = scope.spawn(|| captured_until(test, &options, &stop));
        while !ready.exists() && !recording.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(500));
        stop.store(true, Ordering::Relaxed);
        recording.join().unwrap()
    });
    if captured.is_none() {
        return;
    }
    let unfinished = Trace::open(&options.output).unwrap().meta().unfinished.clone();
    let names: Vec<(&str, u64)> =
        unfinished.iter().map(|one| (one.call.as_str(), one.count)).collect();
    assert!(names.contains(&("flock", 1)), "{unfinished:?}");
    assert!(!names.iter().any(|(name, _)| *name == "read"), "{unfinished:?}");
    let longest_ns = unfinished.iter().map(|one| one.longest_ns).max().unwrap();
    assert!(longest_ns >= 100_000_000, "{unfinished:?}");
}

/// `write` of 32 bits has the number of `stat`.
#[test]
fn calls_of_a_32_bit_program_are_counted_and_not_taken_for_others() {
    let test = "calls_of_a_32_bit_program_are_counted_and_not_taken_for_others";
    let work = tempfile::tempdir().unwrap();
    let code = ".globl _start\n_start: mov $100, %esi\nagain: mov $4, %eax\nmov $9, %ebx\n\
                int $0x80\ndec %esi\njnz again\nmov $1, %eax\nmov $0, %ebx\nint $0x80\n";
    std::fs::write(work.path().join("code.s"), code).unwrap();
    let made = |words: &[&str]| {
        let mut command = std::process::Command::new(words[0]);
        let status = command.args(&words[1..]).current_dir(work.path()).status();
        status.is_ok_and(|status| status.success())
    };
    let linked = made(&["as", "--32", "code.s", "-o", "code.o"])
        && made(&["ld", "-m", "elf_i386", "code.o", "-o", "program"]);
    let program = work.path().join("program");
    let program = program.to_str().unwrap();
    if !linked || !made(&[program]) {
        return seekwell_testing::skip(test, "needs as and ld, and a kernel that runs 32-bit code");
    }
    let options = of_command(&work.path().join("trace"), &[program]);
    let Some(captured) = captured(test, &options) else { return };
    let counted = |kind: &str| -> u64 {
        captured.lost.iter().filter(|lost| lost.kind == kind).map(|lost| lost.count).sum()
    };
    assert_eq!(counted("calls of 32-bit programs"), 101, "{:?}", captured.lost);
    let rows = rows(&Trace::open(&options.output).unwrap());
    assert!(rows.iter().all(|row| row.0.call.call().name != "stat"), "{}", rows.len());
}

#[test]
fn a_ring_that_is_too_small_loses_events_and_counts_them() {
    let test = "a_ring_that_is_too_small_loses_events_and_counts_them";
    let work = tempfile::tempdir().unwrap();
    let words = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=200000", "status=none"];
    let mut options = of_command(&work.path().join("trace"), &words);
    options.ring_bytes = 4096;
    let Some(captured) = captured(test, &options) else { return };
    let lost: u64 =
        captured.lost.iter().filter(|lost| lost.kind == "calls").map(|lost| lost.count).sum();
    assert!(lost > 0);
    let trace = Trace::open(&options.output).unwrap();
    assert_eq!(trace.meta().lost, captured.lost);
    let moved = rows(&trace).iter().filter(|row| row.0.call.call().moves_data()).count() as u64;
    assert!(moved + lost >= 400_000, "{moved} recorded, {lost} lost");
}

#[test]
fn an_anonymous_trace_has_no_names() {
    let test = "an_anonymous_trace_has_no_names";
    let work = tempfile::tempdir().unwrap();
    let script = format!("cd {}; echo x >secretfile; cat secretfile", work.path().display());
    let mut options = of_command(&work.path().join("trace"), &["sh", "-c", &script]);
    options.paths.push(work.path().to_owned());
    options.anonymize = true;
    std::fs::write(work.path().join("secretfile"), "before").unwrap();
    if captured(test, &options).is_none() {
        return;
    }
    let trace = Trace::open(&options.output).unwrap();
    let mut initial = Vec::new();
    let each = |entry| {
        initial.push(entry);
        Ok(())
    };
    trace.initial(each).unwrap();
    let (files, processes) = (trace.files().unwrap(), trace.processes().unwrap());
    let text = format!("{files:?} {processes:?} {initial:?} {:?}", trace.meta());
    let folder = work.path().file_name().unwrap().to_str().unwrap();
    for name in ["secretfile", "\"sh\"", "\"cat\"", folder] {
        assert!(!text.contains(name), "{name} in {text}");
    }
    // The same file has the same name in both tables.
    assert_eq!((initial.len(), initial[1].bytes), (2, 6));
    assert!(files.iter().any(|file| file.path.as_ref() == Some(&initial[1].path)));
}

#[test]
fn a_capture_ends_at_its_largest_size() {
    let test = "a_capture_ends_at_its_largest_size";
    let work = tempfile::tempdir().unwrap();
    let mut dd = std::process::Command::new("dd");
    let mut dd = dd.args(["if=/dev/zero", "of=/dev/null", "bs=1"]).spawn().unwrap();
    let mut options = of_command(&work.path().join("trace"), &[]);
    options.target = Target::Process(dd.id());
    options.max_bytes = Some(1000);
    options.time = Some(Duration::from_secs(60));
    let captured = captured(test, &options);
    dd.kill().unwrap();
    dd.wait().unwrap();
    let Some(captured) = captured else { return };
    assert_eq!(captured.ended, Ended::Size);
}

/// Calls of the program between its first and its last one, whose results do not depend on the run.
fn between(rows: Vec<Row>, work: &Path) -> Vec<Row> {
    let marks = |row: &Row, name: &str| row.0.call.call().name == "access" && row.1.ends_with(name);
    let from = rows.iter().position(|row| marks(row, "/first")).expect("the first call");
    let process = rows[from].0.process;
    let to = rows.iter().position(|row| marks(row, "/last")).expect("the last call");
    let root = work.canonicalize().unwrap().to_string_lossy().into_owned();
    let relative = |path: String| {
        let short = path.strip_prefix(&root).unwrap_or(&path).to_owned();
        // Pipes have another number in each run.
        short.split(':').next().unwrap_or_default().to_owned()
    };
    let own = rows.into_iter().take(to + 1).skip(from).filter(|row| row.0.process == process);
    own.map(|(event, file, to)| (event, relative(file), relative(to))).collect()
}

/// A call as text, without what strace does not tell of it.
fn comparable(row: &Row, theirs: &Row) -> String {
    let (event, call) = (&row.0, row.0.call.call());
    let named = ["mmap", "mremap", "fork", "vfork", "clone", "clone3"];
    let result = match event.result {
        Some(result) if named.contains(&call.name) => i64::from(result > 0),
        result => result.unwrap_or(i64::MIN),
    };
    let told = |own: Option<u64>, theirs: Option<u64>| own.filter(|_| theirs.is_some());
    // Of a call that this strace does not know it tells no path.
    let path =
        |own: &str, theirs: &str| if theirs.is_empty() { String::new() } else { own.to_owned() };
    format!(
        "{} fd {:?} offset {:?} length {:?} flags {:?} result {result} {} {}",
        call.name,
        event.fd,
        told(event.offset, theirs.0.offset),
        told(event.length, theirs.0.length),
        told(event.flags, theirs.0.flags),
        path(&row.1, &theirs.1),
        path(&row.2, &theirs.2),
    )
}

#[test]
fn every_call_is_recorded_as_strace_sees_it() {
    let test = "every_call_is_recorded_as_strace_sees_it";
    let (Some(cc), Some(strace)) = (seekwell_testing::tool("cc"), seekwell_testing::tool("strace"))
    else {
        return seekwell_testing::skip(test, "cc or strace is not installed");
    };
    let work = tempfile::tempdir().unwrap();
    let program = work.path().join("every_call");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/every_call.c");
    let built = std::process::Command::new(cc).arg("-o").args([&program, &source]).status();
    assert!(built.unwrap().success());
    let (ours, theirs) = (work.path().join("ours"), work.path().join("theirs"));
    std::fs::create_dir(&ours).unwrap();
    std::fs::create_dir(&theirs).unwrap();
    let script = format!("cd {} && exec {}", ours.display(), program.display());
    let options = of_command(&work.path().join("trace"), &["sh", "-c", &script]);
    let Some(captured) = captured(test, &options) else { return };
    assert_eq!(captured.lost, []);
    let (log, imported) = (work.path().join("log"), work.path().join("imported"));
    let mut run = std::process::Command::new(strace);
    run.args(["-X", "raw", "-ttt", "-T", "-yy", "-o"]).arg(&log).arg(&program);
    assert!(run.current_dir(&theirs).status().unwrap().success());
    let read = seekwell_recordings::import::strace(&log, &imported).unwrap();
    assert_eq!(read.damaged, 0);

    let open = |path: &Path| rows(&Trace::open(path).unwrap());
    let (operations, ours): (Vec<_>, Vec<_>) = between(open(&options.output), &ours)
        .into_iter()
        .partition(|row| row.0.call.call().number >= seekwell_trace::calls::OPERATIONS);
    let read = |(event, _, _): &Row| (event.call.call().name, event.fd, event.offset, event.result);
    let expected =
        [("page_fault", None, Some(4096), None), ("aio_read", Some(3), Some(0), Some(4096))];
    // Pages of the program's libraries depend on the machine.
    let own = |row: &&Row| row.0.call.call().name != "page_fault" || !row.1.contains(".so");
    assert_eq!(operations.iter().filter(own).map(read).collect::<Vec<_>>(), expected);
    let theirs = between(open(&imported), &theirs);
    for (own, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(comparable(own, theirs), comparable(theirs, theirs));
    }
    assert_eq!(ours.len(), theirs.len());
    let calls = seekwell_trace::calls::CALLS
        .iter()
        .filter(|call| call.number < seekwell_trace::calls::OPERATIONS);
    let mut missing: Vec<_> = calls.map(|call| call.name).collect();
    missing.retain(|name| !YOUNG.contains(name));
    missing.retain(|name| !ours.iter().any(|row| row.0.call.call().name == *name));
    assert_eq!(missing, [""; 0], "calls that the program does not make");
}
