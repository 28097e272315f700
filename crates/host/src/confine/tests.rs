use super::*;
use std::process::Stdio;

fn capabilities(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap()
}

/// Output of a shell script within the limits.
fn output(confinement: Confinement, script: &str) -> String {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut confined = confinement.spawn(&mut command).unwrap();
    drop(command);
    assert!(confined.began_ns().unwrap() > 0);
    let output = confined.child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    text(output.stdout) + &text(output.stderr)
}

fn skipped(test: &'static str) -> bool {
    let root = seekwell_testing::root();
    if !root {
        seekwell_testing::skip(test, "needs root to make a mount namespace");
    }
    !root
}

#[test]
fn a_program_of_a_workload_has_its_seven_capabilities_and_no_more() {
    if skipped("a_program_of_a_workload_has_its_seven_capabilities_and_no_more") {
        return;
    }
    let status = output(Confinement::new(&[]).unwrap(), "cat /proc/self/status");
    for name in ["CapPrm:", "CapEff:", "CapBnd:"] {
        assert_eq!(capabilities(&status, name), WORKLOAD.bits(), "{name}");
    }
    assert_eq!(capabilities(&status, "CapInh:"), 0);
    assert_eq!(capabilities(&status, "CapAmb:"), 0);
    assert_eq!(WORKLOAD.bits(), 0b1111_1011, "numbers 0, 1, 3 to 7 of linux/capability.h");
    let kept = Confinement::new(&[]).unwrap().keeping(CapabilitySet::SYS_NICE);
    let status = output(kept, "cat /proc/self/status");
    assert_eq!(capabilities(&status, "CapEff:"), (WORKLOAD | CapabilitySet::SYS_NICE).bits());
}

#[test]
fn a_program_of_a_workload_sees_no_block_device_but_those_given() {
    if skipped("a_program_of_a_workload_sees_no_block_device_but_those_given") {
        return;
    }
    let all = fs::read_dir("/dev").unwrap().map(|entry| entry.unwrap().path());
    let blocks: Vec<_> = all
        .filter(|path| fs::metadata(path).is_ok_and(|facts| facts.file_type().is_block_device()))
        .collect();
    let Some(given) = blocks.first() else {
        seekwell_testing::skip(
            "a_program_of_a_workload_sees_no_block_device_but_those_given",
            "needs a block device in /dev",
        );
        return;
    };
    let seen = output(Confinement::new(&[given]).unwrap(), "find /dev -type b");
    assert_eq!(seen.trim(), given.to_str().unwrap());
    assert_eq!(output(Confinement::new(&[]).unwrap(), "find /dev -type b"), "");
    let common = "for f in null zero full random urandom; do test -c /dev/$f || echo $f; done; \
                  test -d /dev/shm || echo shm; echo x > /dev/null || echo null";
    assert_eq!(output(Confinement::new(&[]).unwrap(), common), "");
}

#[test]
fn nodes_made_or_found_elsewhere_open_no_device() {
    if skipped("nodes_made_or_found_elsewhere_open_no_device") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let node = folder.path().join("zero");
    let number = rustix::fs::makedev(1, 5);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &node,
        rustix::fs::FileType::CharacterDevice,
        rustix::fs::Mode::from_raw_mode(0o666),
        number,
    )
    .unwrap();
    let read = format!("head -c 1 {} | wc -c", node.display());
    assert!(output(Confinement::new(&[]).unwrap(), &read).contains("Permission denied"));
    let made = format!("mknod {}/other c 1 5", folder.path().display());
    assert!(output(Confinement::new(&[]).unwrap(), &made).contains("Operation not permitted"));
    let mount = format!("mount -t tmpfs none {}", folder.path().display());
    assert!(!output(Confinement::new(&[]).unwrap(), &mount).is_empty());
    let flags = "awk '$5 != \"/dev\" && $5 !~ \"^/dev/\" && ($6 !~ /nosuid/ || $6 !~ /nodev/)' /proc/self/mountinfo";
    assert_eq!(output(Confinement::new(&[]).unwrap(), flags), "");
    let shown = Confinement::new(&[]).unwrap().with_mnt(folder.path()).unwrap();
    assert_eq!(output(shown, flags), "");
}

#[test]
fn settings_of_the_machine_are_read_only() {
    if skipped("settings_of_the_machine_are_read_only") {
        return;
    }
    // Opened to append and nothing written: should one ever open, it stays as it is.
    let settings = "/proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger";
    let queues = "/sys/block/*/queue/scheduler";
    let script = format!(
        "for file in {settings} {queues}; do if [ -e $file ]; then (: >> $file) && echo $file; fi; done"
    );
    let seen = output(Confinement::new(&[]).unwrap(), &script);
    let tried = seen.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>();
    assert!(tried.len() > 2, "{seen}");
    assert!(tried.iter().all(|line| line.contains("Read-only file system")), "{seen}");
    let read = output(Confinement::new(&[]).unwrap(), "cat /proc/sys/kernel/core_pattern");
    assert!(!read.trim().is_empty());
    // What belongs to the program itself stays its own.
    let own = "echo 500 > /proc/self/oom_score_adj && cat /proc/self/oom_score_adj";
    assert_eq!(output(Confinement::new(&[]).unwrap(), own).trim(), "500");
}

#[test]
fn the_dev_of_other_processes_is_out_of_reach() {
    if skipped("the_dev_of_other_processes_is_out_of_reach") {
        return;
    }
    let parent = std::process::id();
    let script = format!("ls /proc/{parent}/root/dev; echo $?");
    let seen = output(Confinement::new(&[]).unwrap(), &script);
    assert!(seen.contains("Permission denied"), "{seen}");
}

#[test]
fn files_stay_readable_and_tmp_writable() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("head -1 /etc/passwd; echo written > {}/file", folder.path().display());
    let seen = output(Confinement::new(&[]).unwrap(), &script);
    assert!(seen.starts_with("root:"), "{seen}");
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "written\n");
}

#[test]
fn a_directory_shown_as_mnt_is_that_directory() {
    if skipped("a_directory_shown_as_mnt_is_that_directory") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let confinement = Confinement::new(&[]).unwrap().with_mnt(folder.path()).unwrap();
    assert_eq!(output(confinement, "echo here > /mnt/file"), "");
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "here\n");
}

#[test]
fn a_missing_program_and_a_failed_step_are_told_apart() {
    let error = Confinement::new(&[]).unwrap().spawn(&mut Command::new("/no/program")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    if skipped("a_missing_program_and_a_failed_step_are_told_apart") {
        return;
    }
    let gone = Confinement::new(&[]).unwrap().with_mnt(Path::new("/no/directory")).unwrap();
    let error = gone.spawn(&mut Command::new("/bin/true")).unwrap_err().to_string();
    assert!(error.starts_with("cannot show the directory as /mnt: "), "{error}");
}

#[test]
fn a_program_of_a_workload_finds_nothing_of_ours_and_cannot_put_anything_there() {
    if skipped("a_program_of_a_workload_finds_nothing_of_ours") {
        return;
    }
    let state = tempfile::tempdir().unwrap();
    let (claims, work) = (state.path().join("claims"), state.path().join("undo/mnt"));
    fs::create_dir_all(&claims).unwrap();
    fs::create_dir_all(work.join("base")).unwrap();
    fs::write(claims.join("disk.json"), "{}").unwrap();
    let forge = "find . .. ../../.. -name '*.json' 2>/dev/null; find STATE -type f; \
                 echo forged > STATE/claims/x.json; echo forged > STATE/new; \
                 mkdir STATE/claims; mv STATE/undo STATE/claims; echo done > file; \
                 echo done > STATE/undo/mnt/base/other; pwd";
    let script = forge.replace("STATE", state.path().to_str().unwrap());
    let mut confinement = Confinement::new(&[]).unwrap();
    confinement.hidden = Some(Hidden::new(state.path(), Some(&work)).unwrap());
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(script).stdout(Stdio::piped()).stderr(Stdio::null());
    command.current_dir(work.join("base"));
    let said = confinement.spawn(&mut command).unwrap().child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(said.stdout).unwrap().trim(), work.join("base").to_str().unwrap());
    let names = |folder: &Path| {
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names(state.path()), ["claims", "undo"]);
    assert_eq!(names(&claims), ["disk.json"]);
    assert_eq!(names(&work.join("base")), ["file", "other"], "its own directory is writable");
}

/// Runs work in a forked process and returns its exit status.
fn forked(work: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child runs the work, which takes no lock of another thread, and ends at once.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let status = work();
        // SAFETY: ends the forked process alone.
        unsafe { libc::_exit(status) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    libc::WEXITSTATUS(status)
}

#[test]
fn a_reader_has_a_filter_no_capability_but_one_and_starts_nothing() {
    let limits = ReaderLimits { memory_bytes: 1 << 36, cpu_s: 60 };
    let reach = Reach::default().reading(Path::new("/proc"));
    let status = forked(|| {
        become_reader(limits, &reach).unwrap();
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let confined = ["Seccomp:\t2", "NoNewPrivs:\t1"].iter().all(|line| status.contains(line));
        let effective = capabilities(&status, "CapEff:");
        let few = effective & !CapabilitySet::DAC_OVERRIDE.bits() == 0;
        // SAFETY: socket takes numbers.
        let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) };
        let refused = io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
        i32::from(confined && few && socket < 0 && refused)
    });
    assert_eq!(status, 1);
}

#[test]
fn an_agent_keeps_its_rights_and_loses_the_others() {
    if skipped("an_agent_keeps_its_rights_and_loses_the_others") {
        return;
    }
    let status = forked(|| {
        let before = own_capabilities().unwrap().effective;
        keep_only(AGENT).unwrap();
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let kept = |name| capabilities(&status, name) == (before & AGENT).bits();
        i32::from(["CapEff:", "CapPrm:", "CapBnd:"].into_iter().all(kept))
    });
    assert_eq!(status, 1);
}

#[test]
fn a_reader_opens_its_input_and_its_output_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["input", "other", "out/earlier", "out/next-to-it"] {
        fs::create_dir_all(path("out")).unwrap();
        fs::write(path(name), name).unwrap();
    }
    let reach = Reach::default()
        .reading(&path("input"))
        .writing(&path("out/new"))
        .writing(&path("out/earlier"))
        .writing(Path::new("/dev/null"));
    let write = |name: &str| {
        crate::output::write(
            &path(name),
            crate::output::Kind::Lab,
            b"[lab]",
            crate::output::Replace::AnyFile,
        )
    };
    let status = forked(|| {
        let limits = ReaderLimits { memory_bytes: 1 << 36, cpu_s: 60 };
        become_reader(limits, &reach).unwrap();
        let is_denied = |error: io::Error| error.raw_os_error() == Some(libc::EACCES);
        let reads = |path: &Path| fs::read(path).map_err(is_denied);
        let checks = [
            reads(&path("input")) == Ok(b"input".to_vec()),
            reads(&path("other")) == Err(true),
            reads(Path::new("/etc/passwd")) == Err(true),
            reads(&path("out/next-to-it")) == Err(true),
            fs::read_dir(folder.path()).is_err_and(is_denied),
            fs::File::options().write(true).open(path("input")).is_err_and(is_denied),
            fs::File::options().write(true).open("/dev/zero").is_err_and(is_denied),
            fs::File::options().write(true).open("/dev/null").is_ok(),
            fs::write(path("beside"), "").is_err_and(is_denied),
            write("out/new").is_ok(),
            write("out/earlier").is_ok(),
            write("elsewhere").is_err(),
        ];
        checks.iter().position(|good| !good).map_or(0, |wrong| 1 + wrong as i32)
    });
    if !landlock::is_there() {
        return seekwell_testing::skip(
            "a_reader_opens_its_input_and_its_output_alone",
            "needs a kernel with Landlock",
        );
    }
    assert_eq!(status, 0, "number of the first check that fails");
    assert_eq!(fs::read(path("out/earlier")).unwrap(), b"[lab]");
    assert_eq!(fs::read(path("out/new")).unwrap(), b"[lab]");
}

/// Runs work in a forked process and returns the signal that ends it.
fn signal_of(work: impl FnOnce()) -> i32 {
    // SAFETY: the child runs the work, which takes no lock of another thread, and ends at once.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        work();
        // SAFETY: ends the forked process alone.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for the child just made.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    libc::WTERMSIG(status)
}

/// Computes for ever, as does the reading of an input that was made for it.
fn spin() {
    while std::hint::black_box(true) {}
}

#[test]
fn a_reader_gets_no_memory_and_no_time_beyond_its_limits() {
    let limits = ReaderLimits { memory_bytes: 1 << 30, cpu_s: 1 };
    let reach = Reach::default();
    let status = forked(|| {
        become_reader(limits, &reach).unwrap();
        let mut bytes = Vec::<u8>::new();
        let few = bytes.try_reserve_exact(1 << 20).is_ok();
        i32::from(is_limited() && few && bytes.try_reserve_exact(2 << 30).is_err())
    });
    assert_eq!(status, 1);
    let endless = || {
        become_reader(limits, &reach).unwrap();
        spin();
    };
    assert_eq!(signal_of(endless), libc::SIGXCPU);
    let in_a_thread = || reader::read_limited(limits, &reach, spin);
    assert_eq!(signal_of(in_a_thread), libc::SIGXCPU);
}

#[test]
fn limits_of_confined_threads_end_with_the_last_of_them() {
    use rustix::process::{Resource, getrlimit};
    let limits = ReaderLimits { memory_bytes: 1 << 30, cpu_s: 60 };
    let status = forked(|| {
        let now = || [Resource::As, Resource::Cpu].map(|resource| getrlimit(resource).current);
        let reserve = || Vec::<u8>::new().try_reserve_exact(2 << 30).is_ok();
        let (before, could) = (now(), reserve());
        let inside = reader::read_limited(limits, &Reach::default(), || {
            let first = now();
            // A second one neither adds to the limits nor takes them back.
            let second = reader::read_limited(limits, &Reach::default(), now);
            !reserve() && first == second && now() == first && first != before && is_limited()
        });
        i32::from(could && inside && now() == before && reserve() && !is_limited())
    });
    assert_eq!(status, 1);
}

/// The thread that reads a foreign file has no other one and no right; the rest of the process keeps all.
#[test]
fn a_confined_thread_reads_its_input_alone_and_gives_its_result_back() {
    use std::os::unix::fs::OpenOptionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("trace")).unwrap();
    fs::write(path("trace/segment"), "text").unwrap();
    fs::write(path("other"), "other").unwrap();
    let reach = Reach::default().reading_trace(&path("trace"));
    let (read, other, kept, status) = read_confined(&reach, || {
        let mut nameless = fs::File::options();
        nameless.read(true).write(true).custom_flags(libc::O_TMPFILE);
        (
            fs::read_to_string(path("trace/segment")),
            fs::read_to_string(path("other")),
            nameless.open(path("trace")),
            std::thread::spawn(|| {
                // SAFETY: socket takes numbers.
                unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) }
            })
            .join()
            .unwrap(),
        )
    });
    assert_eq!(read.unwrap(), "text");
    assert!(kept.is_ok(), "{kept:?}");
    assert_eq!(status, -1, "its threads are confined too");
    assert_eq!(fs::read_to_string(path("other")).unwrap(), "other", "this thread is not");
    if !landlock::is_there() {
        return seekwell_testing::skip("a_confined_thread", "needs a kernel with Landlock");
    }
    assert_eq!(other.unwrap_err().raw_os_error(), Some(libc::EACCES));
}
