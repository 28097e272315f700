//! `seekwell capture` and `seekwell trace` from outside. Captures need root and eBPF.

use super::{data, seekwell, talk};
use seekwell_testing::{Cgroup, NO_CGROUP};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// User and group of nobody.
const NOBODY: u32 = 65_534;
const NOGROUP: u32 = 65_534;

/// The output of a capture, or `None` with a counted skip where this machine cannot.
fn possible(test: &str, output: &Output) -> Option<()> {
    let said = talk(output);
    // Not for programs that the kernel does not accept: that is a failure.
    let impossible =
        ["this build has no capture", "cannot use the kernel's types", "Operation not permitted"];
    match impossible.iter().find(|reason| said.contains(**reason)) {
        Some(_) => {
            seekwell_testing::skip(test, said.trim());
            None
        }
        None => Some(()),
    }
}

#[test]
fn a_recorded_command_is_summarized() {
    let test = "a_recorded_command_is_summarized";
    let directory = tempfile::tempdir().unwrap();
    let mut command = seekwell(directory.path());
    command.args(["capture", "--same-device", "--no-block", "-o", "t.trace", "--", "sh", "-c"]);
    let output = command.arg("echo hello > greeting; sync greeting; exit 3").output().unwrap();
    if possible(test, &output).is_none() {
        return;
    }
    let said = talk(&output);
    assert_eq!(output.status.code(), Some(1), "the status of a command that failed: {said}");
    let place = directory.path().canonicalize().unwrap();
    let begins = format!(
        "reading names and sizes of the files in {}\nrecording until the command ends\nwrote t.trace: ",
        place.display()
    );
    assert!(said.starts_with(&begins), "{said}");
    assert!(
        said.ends_with(
            ", none lost\nthe command ended with exit status: 3\n\
             see what kind of load it is: seekwell trace info t.trace\n"
        ),
        "{said}"
    );
    let shown = seekwell(directory.path()).args(["trace", "info", "t.trace"]).output().unwrap();
    let shown = data(&shown);
    assert!(shown.contains("\nA device without any delay would save at most "), "{shown}");
    // A slow machine starts programs for so long that files hardly matter; then no cause is named.
    let is_brief = shown.starts_with("It spends only ");
    assert!(is_brief || shown.contains(" of that in "), "{shown}");
    let greeting = directory.path().canonicalize().unwrap().join("greeting");
    assert!(shown.contains(&*greeting.to_string_lossy()), "{shown}");
    let mut json = seekwell(directory.path());
    let json = data(&json.args(["trace", "info", "--json", "t.trace"]).output().unwrap());
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["created"], 1);
}

#[test]
fn a_trace_on_the_traced_device_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("data")).unwrap();
    let refused = |arguments: &[&str]| {
        let mut command = seekwell(directory.path());
        let output = command.arg("capture").args(arguments).args(["--", "true"]).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{}", talk(&output));
        let root = directory.path().canonicalize().unwrap();
        talk(&output).replace(&*root.to_string_lossy(), "DIR")
    };
    assert_eq!(
        refused(&["-o", "t"]),
        "seekwell: refused: the output DIR/t is on the device of the traced directory DIR and \
         would add to its load; write it elsewhere with -o, or accept that with --same-device\n"
    );
    assert_eq!(
        refused(&["-o", "data/t", "--path", "data"]),
        "seekwell: refused: the output DIR/data/t is inside the traced directory DIR/data; write \
         it elsewhere with -o, or accept that with --same-device\n"
    );
    assert!(!directory.path().join("t").exists());
    // A process that runs elsewhere and has a file here open, and everything.
    let log = directory.path().join("log");
    let script = format!("cd /proc; exec sleep 60 >{}", log.display());
    let sleeper = Ending(Command::new("sh").args(["-c", &script]).spawn().unwrap());
    until("it sleeps", || log.exists());
    for target in [format!("--pid={}", sleeper.0.id()), "--system".to_owned()] {
        let mut command = seekwell(directory.path());
        let output = command.args(["capture", &target, "-o", "t", "--for", "1s"]).output().unwrap();
        let said = talk(&output);
        assert!(output.status.code() == Some(3), "{target}: {said}");
        assert!(said.contains("would add to its load"), "{target}: {said}");
    }
}

#[test]
fn a_size_of_zero_and_a_thread_of_the_kernel_are_refused_in_words() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = seekwell(directory.path());
    let words = ["capture", "-o", "t", "--max-size", "0", "--", "true"];
    let output = command.args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", talk(&output));
    assert!(talk(&output).contains("the size must be above 0"), "{}", talk(&output));
    let kernel = std::fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n");
    let test = "a_size_of_zero_and_a_thread_of_the_kernel_are_refused_in_words";
    if !kernel || !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root and to see kthreadd");
    }
    let mut command = seekwell(directory.path());
    let output =
        command.args(["capture", "--same-device", "--pid", "2", "-o", "t"]).output().unwrap();
    if possible(test, &output).is_none() {
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{}", talk(&output));
    assert!(talk(&output).contains("process 2 is a thread of the kernel"), "{}", talk(&output));
}

#[test]
fn what_a_recording_lost_is_told_at_every_use() {
    let directory = tempfile::tempdir().unwrap();
    let log = "8,16 0 1 5.000003000 99 D R 4096 + 256 [cat]\n\
               8,16 0 2 5.000103000 0 C R 4096 + 256 [0]\n\
               You have 2 ( 0.1%) dropped events\n";
    std::fs::write(directory.path().join("log"), log).unwrap();
    let run = |words: &str| {
        let output = seekwell(directory.path()).args(words.split(' ')).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{words}: {}", talk(&output));
        (data(&output), talk(&output))
    };
    run("trace import blkparse log -o t");
    let (_, said) = run("trace filter t -o filtered");
    assert!(said.contains("\nlost by the recording: 2 blktrace events"), "{said}");
    let (shown, _) = run("trace info filtered");
    assert!(
        shown.contains("\n  - 2 blktrace events: lost. Counts, bytes and times are "),
        "{shown}"
    );
    let (shown, _) = run("trace requests t");
    assert!(shown.contains("\n2 events were lost: calls and requests may be missing\n"), "{shown}");
}

#[test]
fn mistakes_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let failed = |arguments: &[&str]| {
        let output = seekwell(directory.path()).args(arguments).output().unwrap();
        (output.status.code(), talk(&output))
    };
    let (code, said) = failed(&["trace", "info", "."]);
    assert_eq!(code, Some(1));
    assert_eq!(
        said,
        "seekwell: error: . is not a trace: trace.json not found; give the folder that capture or \
         import wrote\n"
    );
    let (code, said) = failed(&["trace", "filter", ".", "-o", "u", "--from", "10s", "--to", "5s"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        said,
        "seekwell: usage: the part ends (5.0 s) before it begins (10.0 s): write a --to that is later \
         than --from\n"
    );
    assert!(!directory.path().join("u").exists());
    let (code, said) = failed(&["capture", "-o", "t"]);
    assert_eq!(code, Some(2));
    assert!(said.contains("required arguments were not provided"), "{said}");
    let (code, said) = failed(&["capture", "-o", "t", "--unit", "no-such-unit"]);
    assert_eq!(code, Some(1));
    assert!(said.starts_with("seekwell: error: no cgroup of no-such-unit below "), "{said}");
}

/// Numbers of the links that a process holds.
fn links(process: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten();
    let texts = entries.flatten().filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let number = |text: String| {
        let line = text.lines().find_map(|line| line.strip_prefix("link_id:"))?;
        line.trim().parse().ok()
    };
    texts.filter_map(number).collect()
}

/// True when the kernel has a link with this number.
fn is_attached(link: u32) -> bool {
    const LINK_BY_ID: i64 = 30;
    let mut attributes = [0_u32; 38];
    attributes[0] = link;
    // SAFETY: the attributes are 152 bytes that live until the call returns.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, LINK_BY_ID, attributes.as_ptr(), 152) };
    if fd >= 0 {
        // SAFETY: the kernel just made this descriptor, and nothing else owns it.
        unsafe { libc::close(i32::try_from(fd).unwrap()) };
    }
    fd >= 0
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_capture_ends_on_ctrl_c_and_when_its_time_is_over() {
    let test = "a_capture_ends_on_ctrl_c_and_when_its_time_is_over";
    let directory = tempfile::tempdir().unwrap();
    for (name, more) in [("interrupted", ""), ("over", "--for 1s")] {
        let mut command = seekwell(directory.path());
        command.args(["capture", "--system", "--no-block", "--same-device", "-o", name]);
        command.args(more.split_whitespace()).stderr(Stdio::piped());
        let mut capture = command.spawn().unwrap();
        if more.is_empty() {
            until("the programs are attached", || {
                links(capture.id()).len() >= 5 || capture.try_wait().unwrap().is_some()
            });
            let number = i32::try_from(capture.id()).unwrap();
            // It may have ended, where this machine cannot.
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(number).unwrap(),
                rustix::process::Signal::INT,
            );
        }
        let output = capture.wait_with_output().unwrap();
        if possible(test, &output).is_none() {
            return;
        }
        let said = talk(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let begins = match more {
            "" => "recording; end with Ctrl-C\n",
            _ => "recording for 1.0 s; end earlier with Ctrl-C\n",
        };
        assert!(said.starts_with(begins), "{said}");
        assert!(said.contains(&format!("wrote {name}: ")), "{said}");
        let mut json = seekwell(directory.path());
        let json = data(&json.args(["trace", "info", "--json", name]).output().unwrap());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        let length_ns = json["duration_ns"].as_u64().unwrap();
        assert!(length_ns > 0 && (more.is_empty() || length_ns >= 1_000_000_000), "{length_ns}");
    }
}

#[test]
fn a_capture_ends_before_its_filesystem_is_full() {
    let test = "a_capture_ends_before_its_filesystem_is_full";
    if !seekwell_testing::root() || seekwell_testing::tool("unshare").is_none() {
        return seekwell_testing::skip(test, "needs root and unshare to mount a small filesystem");
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("full")).unwrap();
    // 3 % are left; the mount ends with its namespace.
    let program = env!("CARGO_BIN_EXE_seekwell");
    let script = format!(
        "mount -t tmpfs -o size=64m none full && head -c 65000000 /dev/zero >full/fill || exit 77
         sleep 60 & '{program}' capture --no-block --same-device -o full/t --for 50s --pid $!
         code=$?; kill $!; [ -s full/t/trace.json ] && exit $code"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script]).current_dir(directory.path());
    let output = command.env("NO_COLOR", "1").env("TERM", "dumb").output().unwrap();
    if output.status.code() == Some(77) {
        return seekwell_testing::skip(test, "cannot mount tmpfs here");
    }
    if possible(test, &output).is_none() {
        return;
    }
    let said = talk(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let reason = "ended: the filesystem of the trace has less than 5 % and less than 1 GiB free\n";
    assert!(said.contains(reason), "{said}");
}

#[test]
fn without_capabilities_strace_is_named_and_nothing_is_left() {
    let test = "without_capabilities_strace_is_named_and_nothing_is_left";
    let Some(setpriv) = seekwell_testing::tool("setpriv").filter(|_| seekwell_testing::root())
    else {
        return seekwell_testing::skip(test, "needs root and setpriv to give up capabilities");
    };
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(setpriv);
    command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_seekwell")]);
    command.args(["capture", "--same-device", "-o", "t", "--", "touch", "ran"]);
    let output = command.current_dir(directory.path()).output().unwrap();
    let said = talk(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    // Where the build has no programs, or the kernel no types, it says so before.
    let way = "record with `strace -f -ttt -T -yy -o FILE` and `seekwell trace import strace`";
    assert!(said.contains(way) && said.starts_with("seekwell: error: "), "{said}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn nothing_stays_attached_when_a_capture_is_killed() {
    let test = "nothing_stays_attached_when_a_capture_is_killed";
    let directory = tempfile::tempdir().unwrap();
    let mut command = seekwell(directory.path());
    command.args(["capture", "--same-device", "-o", "t.trace", "--", "sleep", "20"]);
    let errors = std::fs::File::create(directory.path().join("said")).unwrap();
    let mut capture = command.stderr(Stdio::from(errors)).spawn().unwrap();
    let mut held = Vec::new();
    until("the programs are attached", || {
        held = links(capture.id());
        held.len() >= 5 || capture.try_wait().unwrap().is_some()
    });
    if let Some(status) = capture.try_wait().unwrap() {
        let stderr = std::fs::read(directory.path().join("said")).unwrap();
        let output = Output { status, stdout: Vec::new(), stderr };
        assert!(possible(test, &output).is_none(), "{}", talk(&output));
        return;
    }
    assert!(held.iter().all(|link| is_attached(*link)));
    let slept = children(capture.id());
    capture.kill().unwrap();
    capture.wait().unwrap();
    until("nothing is attached", || !held.iter().any(|link| is_attached(*link)));
    assert_eq!(slept.len(), 1, "the command lives on without its recorder");
    assert!(Path::new(&format!("/proc/{}", slept[0])).exists());
    let ended = Command::new("kill").arg(slept[0].to_string()).status().unwrap();
    assert!(ended.success());
}

fn children(process: u32) -> Vec<u32> {
    let mut found = Vec::new();
    until("the command runs", || {
        let path = format!("/proc/{process}/task/{process}/children");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        found = text.split_whitespace().filter_map(|child| child.parse().ok()).collect();
        !found.is_empty()
    });
    found
}

/// Ends a process of a test.
struct Ending(std::process::Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_unit_and_a_container_are_recorded_by_name() {
    let test = "a_unit_and_a_container_are_recorded_by_name";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to load eBPF programs");
    }
    let (unit, id) = (format!("seekwell-cli{}", std::process::id()), std::process::id());
    let id = format!("{id:08x}{}", "c11e".repeat(14));
    let places = [
        (format!("system.slice/{unit}.service"), ["--unit", unit.as_str()]),
        (format!("system.slice/docker-{id}.scope"), ["--container", &id[..12]]),
    ];
    let directory = tempfile::tempdir().unwrap();
    let mut recorded = Vec::new();
    for (nth, (place, target)) in places.iter().enumerate() {
        let Some(cgroup) = Cgroup::make(place) else {
            return seekwell_testing::skip(test, NO_CGROUP);
        };
        let log = directory.path().canonicalize().unwrap().join(format!("log{nth}"));
        let script = format!("{}; while :; do echo line >>{}; done", cgroup.enter(), log.display());
        let shell = Ending(Command::new("sh").args(["-c", &script]).spawn().unwrap());
        until("the shell writes", || log.exists());
        let trace = format!("t{nth}.trace");
        let mut command = seekwell(directory.path());
        command.args(["capture", "--same-device", "--no-block", "--for", "1s"]);
        command.args(target).args(["-o", &trace]).stderr(Stdio::piped());
        recorded.push((cgroup, shell, log, trace, command.spawn().unwrap()));
    }
    for (_cgroup, shell, log, trace, capture) in recorded {
        let output = capture.wait_with_output().unwrap();
        drop(shell);
        if possible(test, &output).is_none() {
            return;
        }
        assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
        let mut json = seekwell(directory.path());
        let json = data(&json.args(["trace", "info", "--json", &trace]).output().unwrap());
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            (&json["top_files"][0]["name"], &json["processes"]),
            (&log.to_str().into(), &1.into())
        );
    }
}

/// Words of a file, one for each line.
fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn a_recorded_command_gets_three_descriptors() {
    let test = "a_recorded_command_gets_three_descriptors";
    let directory = tempfile::tempdir().unwrap();
    let capture = "exec 7</etc/passwd 8>left; exec \"$0\" capture --same-device --no-walk -o t.trace -- \
                   sh -c '(ls /proc/$$/fd >said); :'";
    let program = seekwell(directory.path());
    let output = Command::new("sh")
        .args(["-c", capture])
        .arg(program.get_program())
        .current_dir(directory.path())
        .output()
        .unwrap();
    if possible(test, &output).is_none() {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    // The shell waits, so that nothing of its own is open at that moment.
    assert_eq!(lines(&directory.path().join("said")), ["0", "1", "2"]);
}

#[test]
fn a_command_is_not_run_as_root_when_sudo_names_no_user() {
    let test = "a_command_is_not_run_as_root_when_sudo_names_no_user";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root, as sudo gives it");
    }
    for (user, group) in [
        (Some("65534"), Some("staff")),
        (Some("65534"), None),
        (None, Some("65534")),
        (Some(""), Some("65534")),
        (Some("65534"), Some("4294967295")),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut command = seekwell(directory.path());
        command.args(["capture", "--same-device", "--no-walk", "-o", "t.trace", "--"]);
        command.args(["sh", "-c", "id -u >said"]);
        command.env_remove("SUDO_UID").env_remove("SUDO_GID");
        for (name, value) in [("SUDO_UID", user), ("SUDO_GID", group)] {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{user:?} {group:?}: {}", talk(&output));
        assert!(talk(&output).contains("as which user to run the command"), "{}", talk(&output));
        assert!(!directory.path().join("said").exists(), "{user:?} {group:?}");
    }
}

#[test]
fn under_sudo_the_command_runs_as_the_user_who_called_it() {
    let test = "under_sudo_the_command_runs_as_the_user_who_called_it";
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root to load eBPF programs");
    }
    let directory = tempfile::tempdir().unwrap();
    let own = directory.path();
    std::fs::set_permissions(own, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = own.join("said");
    std::fs::write(&said, "").unwrap();
    chown(&said, Some(NOBODY), Some(NOGROUP)).unwrap();
    let show = "id -u; id -g; id -G; echo $HOME; echo $USER; echo $LOGNAME; echo ${MINE-none}; echo ${SUDO_UID-none}";
    let capture = |directory: &Path| {
        let mut command = seekwell(directory);
        command.args(["capture", "--same-device", "--no-walk", "-o", "t.trace", "--", "sh", "-c"]);
        command.arg(format!("({show}) >said"));
        for (name, value) in [("SUDO_UID", "65534"), ("SUDO_GID", "65534"), ("SUDO_USER", "nobody")]
        {
            command.env(name, value);
        }
        command.env("HOME", "/root").env("USER", "root").env("LOGNAME", "root").env_remove("MINE");
        command
    };
    // Only what sudo says: this process is not sudo.
    let output = capture(own).output().unwrap();
    if possible(test, &output).is_none() {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let expected = ["65534", "65534", "65534", "/nonexistent", "nobody", "nobody", "none", "65534"];
    assert_eq!(lines(&said), expected);
    // The trace is root's alone, and the program's directory is as before.
    let mode = std::fs::metadata(own.join("t.trace")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    // A child of a program of that name, whose own variables are those of the user.
    std::fs::remove_dir_all(own.join("t.trace")).unwrap();
    let program = capture(own);
    let words = program.get_args().map(|word| format!("'{}'", word.to_str().unwrap()));
    let words: Vec<String> = words.collect();
    let kept = "PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root SUDO_UID=65534 SUDO_GID=65534 SUDO_USER=nobody";
    let script = format!(
        "#!/bin/sh\nenv -i {kept} {} {}\nexit $?\n",
        program.get_program().to_str().unwrap(),
        words.join(" ")
    );
    seekwell_testing::program(&own.join("sudo"), &script);
    let mut sudo = Command::new(own.join("sudo"));
    sudo.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", "/home/mine").env("USER", "nobody");
    let output = sudo.env("MINE", "a b=c").env("LOGNAME", "me").current_dir(own).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let expected = ["65534", "65534", "65534", "/home/mine", "nobody", "me", "a b=c", "none"];
    assert_eq!(lines(&said), expected);
}
