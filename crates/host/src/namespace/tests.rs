use super::*;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Instant;

const LONG: Duration = Duration::from_secs(20);

fn words(arguments: &[&str]) -> Vec<OsString> {
    arguments.iter().map(OsString::from).collect()
}

/// Runs a shell line to its end; what it wrote to descriptor 5.
fn shell(line: &str, options: &Options) -> (Ended, String) {
    let (mut reader, writer) = pipe();
    let arguments = words(&["/bin/sh", "-c", line]);
    let environment = [(OsString::from("PATH"), OsString::from("/usr/bin:/bin:/usr/sbin:/sbin"))];
    let child = spawn(&arguments, &environment, &[(5, writer.as_fd())], options).unwrap();
    drop(writer);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    (wait(&child.pidfd).unwrap(), text)
}

fn pipe() -> (File, File) {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
    (File::from(reader), File::from(writer))
}

const CONFINED: Options = Options {
    pid_namespace: true,
    mount_namespace: true,
    network_namespace: false,
    die_with_parent: true,
    new_session: false,
};

#[test]
fn a_program_gets_its_arguments_environment_and_descriptors_and_nothing_else() {
    // 3 is the folder that ls reads.
    let (ended, text) = shell("exec ls /proc/self/fd >&5", &Options::default());
    assert_eq!(ended, Ended::Exited(0));
    assert_eq!(text.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3", "5"]);
    let (_, text) = shell("exec env >&5", &Options::default());
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    // PWD is the shell's own.
    assert_eq!(names, ["PATH", "PWD"], "{text}");
}

#[test]
fn descriptors_arrive_under_their_numbers_even_when_these_are_in_the_way_of_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<File> = ["a", "b", "c"]
        .iter()
        .map(|name| {
            fs::write(folder.path().join(name), name).unwrap();
            File::open(folder.path().join(name)).unwrap()
        })
        .collect();
    // Wanted numbers that are the sources of others, in a circle.
    let numbers: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
    let wanted = [numbers[1], numbers[2], numbers[0]];
    let (mut reader, writer) = pipe();
    let mut descriptors: Vec<(RawFd, BorrowedFd<'_>)> =
        wanted.iter().zip(&files).map(|(number, file)| (*number, file.as_fd())).collect();
    descriptors.push((1, writer.as_fd()));
    let line = wanted.map(|number| format!("cat /proc/self/fd/{number}")).join("; ");
    let child =
        spawn(&words(&["/bin/sh", "-c", &line]), &[], &descriptors, &Options::default()).unwrap();
    drop(writer);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(wait(&child.pidfd).unwrap(), Ended::Exited(0));
    assert_eq!(text, "abc");
}

#[test]
fn the_end_of_a_program_is_told_as_it_was() {
    assert_eq!(shell("exit 7", &Options::default()).0, Ended::Exited(7));
    assert_eq!(shell("kill -TERM $$", &Options::default()).0, Ended::Killed(15));
}

#[test]
fn a_program_that_cannot_be_run_is_an_error_with_the_step() {
    let error = spawn(&words(&["/no/such/program"]), &[], &[], &Options::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot run the program for /no/such/program: No such file or directory (os error 2); \
         check that the program exists and that this is root"
    );
    assert!(spawn(&[], &[], &[], &Options::default()).is_err());
}

#[test]
fn a_confined_program_is_process_one_with_mounts_of_its_own() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_confined_program_is_process_one",
            "needs root for namespaces",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let line = format!(
        "echo $$ >&5; mount -t tmpfs inside {0} && touch {0}/seen && ls {0} >&5; \
         grep -c shared: /proc/self/mountinfo >&5; ls /proc/1/comm >&5",
        folder.path().display()
    );
    let (ended, text) = shell(&line, &CONFINED);
    assert_eq!(ended, Ended::Exited(0), "{text}");
    assert_eq!(text, "1\nseen\n0\n/proc/1/comm\n");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing reaches the outside");
    let outside = fs::read_to_string("/proc/self/mountinfo").unwrap();
    assert!(!outside.contains(folder.path().to_str().unwrap()));
}

#[test]
fn the_mounts_that_the_guard_looks_at_are_the_hosts() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "the_mounts_that_the_guard_looks_at",
            "needs root for namespaces",
        );
    }
    let count = |options: &Options| {
        let (ended, text) = shell("ls -d /proc/[0-9]* | wc -l >&5", options);
        assert_eq!(ended, Ended::Exited(0));
        text.trim().parse::<u32>().unwrap()
    };
    assert!(count(&CONFINED) > 5, "all processes of the host");
}

#[test]
fn killing_process_one_ends_everything_that_it_started() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "killing_process_one_ends_everything",
            "needs root for namespaces",
        );
    }
    let (mut reader, writer) = pipe();
    // Descriptor 5 stays open in the grandchild, which leaves its session.
    let arguments = words(&["/bin/sh", "-c", "setsid sleep 300 & echo started >&5; wait"]);
    let child = spawn(
        &arguments,
        &[(OsString::from("PATH"), OsString::from("/usr/bin:/bin"))],
        &[(5, writer.as_fd())],
        &CONFINED,
    )
    .unwrap();
    drop(writer);
    let mut started = [0; 8];
    reader.read_exact(&mut started).unwrap();
    assert!(!ended(&child.pidfd, Duration::ZERO).unwrap());
    send_signal(&child.pidfd, Signal::KILL).unwrap();
    assert!(ended(&child.pidfd, LONG).unwrap());
    assert_eq!(wait(&child.pidfd).unwrap(), Ended::Killed(9));
    // The end of the pipe is the end of the last process that held it.
    assert_eq!(reader.read(&mut started).unwrap(), 0);
    send_signal(&child.pidfd, Signal::KILL).unwrap();
    assert!(wait(&child.pidfd).is_err(), "reaped once");
}

#[test]
fn a_program_dies_with_the_thread_that_started_it() {
    let (mut reader, writer) = pipe();
    let options = Options { die_with_parent: true, ..Options::default() };
    let child = std::thread::spawn(move || {
        spawn(&words(&["/bin/sleep", "300"]), &[], &[(5, writer.as_fd())], &options).unwrap()
    })
    .join()
    .unwrap();
    assert!(ended(&child.pidfd, LONG).unwrap());
    assert_eq!(wait(&child.pidfd).unwrap(), Ended::Killed(9));
    assert_eq!(reader.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_session_of_its_own_has_another_number() {
    // As /proc shows it: 0 where the session's leader is outside of this PID namespace, which
    // the C library's number type for processes may not be.
    let field = |stat: &str| stat.split(' ').nth(5).unwrap().parse::<i32>().unwrap();
    let own = field(&std::fs::read_to_string("/proc/thread-self/stat").unwrap());
    let session = |options: &Options| field(&shell("cat /proc/self/stat >&5", options).1);
    assert_eq!(session(&Options::default()), own);
    assert_ne!(session(&Options { new_session: true, ..Options::default() }), own);
}

#[test]
fn a_program_begins_with_no_signal_blocked_and_sigpipe_deadly() {
    let (_, text) = shell("grep -E 'SigBlk|SigIgn' /proc/self/status >&5", &Options::default());
    for line in text.lines() {
        let mask = u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap();
        assert_eq!(mask & 1 << 12, 0, "SIGPIPE: {line}");
        assert!(!line.starts_with("SigBlk") || mask == 0, "{line}");
    }
}

#[test]
fn many_threads_may_start_programs_at_once() {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            scope.spawn(move || {
                for round in 0..10 {
                    let line = format!("echo {thread}-{round} >&5");
                    // Memory in use in every thread, as the allocator's locks are then.
                    let _held: Vec<Vec<u8>> = (0..100).map(|size| vec![0; size * 64]).collect();
                    assert_eq!(
                        shell(&line, &Options::default()),
                        (Ended::Exited(0), format!("{thread}-{round}\n"))
                    );
                }
            });
        }
    });
    assert!(begin.elapsed() < Duration::from_secs(120), "nothing waits for a lock for ever");
}

#[test]
fn a_process_that_does_not_exist_is_not_watched() {
    assert!(pidfd_open(0).is_err());
    let (ended_already, _) = shell("exit 0", &Options::default());
    assert_eq!(ended_already, Ended::Exited(0));
    let own = pidfd_open(std::process::id()).unwrap();
    assert!(!ended(&own, Duration::ZERO).unwrap());
}

#[test]
fn a_pinned_thread_may_run_only_there() {
    std::thread::spawn(|| {
        let allowed = allowed_cpus().unwrap();
        let last = *allowed.last().unwrap();
        set_affinity(&[last]).unwrap();
        assert_eq!(allowed_cpus().unwrap(), [last]);
        assert_eq!(default_cpus().unwrap(), [last]);
        assert!(set_affinity(&[]).is_err());
        assert!(set_affinity(&[1 << 20]).unwrap_err().to_string().contains("does not exist"));
    })
    .join()
    .unwrap();
    let cpus = default_cpus().unwrap();
    assert!(!cpus.is_empty() && cpus.len() <= allowed_cpus().unwrap().len().div_ceil(2));
}
