//! Owners of lists, and processes that hold locks on them.

use super::*;
use crate::undo::owners::is_dying;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};

const OTHER: Owner = Owner { pid: 4711, started_ticks: 900 };

/// Puts a process into procfs: its state and flags as in `stat`, its pending signals.
fn process(machine: &Machine, state: &str, flags: u32, pending: &str) {
    let stat = format!(
        "4711 (run) {state} 1 1 1 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 {} 0 0",
        OTHER.started_ticks
    );
    machine.write("proc/4711/stat", &stat);
    machine.write("proc/4711/status", &format!("Name:\trun\n{pending}\nSigBlk:\t0000000000000000"));
    machine.write("proc/4711/comm", "seekwell");
}

#[test]
fn a_killed_process_restores_nothing_and_is_waited_for_until_it_is_gone() {
    // State, flags and pending signals; then whether it is alive, and whether it is dying.
    let none = "SigPnd:\t0000000000000000\nShdPnd:\t0000000000000000";
    let cases = [
        ("S", 0x40_0000, none, true, false),
        ("R", 0, "SigPnd:\t0000000000000200", true, false),
        ("D", 0, "SigPnd:\t0000000000000100", false, true),
        ("S", 0, "ShdPnd:\t0000000000000102", false, true),
        ("S", 4, none, false, true),
        ("Z", 0, none, false, false),
        ("X", 0, none, false, false),
        ("Z", 4, "SigPnd:\t0000000000000100", false, false),
    ];
    for (state, flags, pending, alive, dying) in cases {
        let (machine, system) = machine();
        process(&machine, state, flags, pending);
        let found = (is_alive(&system, OTHER), is_dying(&system, OTHER));
        assert_eq!(found, (alive, dying), "{state} {flags:#x} {pending:?}");
        let later = Owner { started_ticks: 901, ..OTHER };
        assert_eq!((is_alive(&system, later), is_dying(&system, later)), (false, false));
    }
    let (_machine, system) = machine();
    assert_eq!((is_alive(&system, OTHER), is_dying(&system, OTHER)), (false, false));
}

/// A process whose first thread has ended is a zombie with all its descriptors until the others end.
#[test]
fn a_killed_process_is_waited_for_until_its_last_thread_has_ended() {
    let test = "a_killed_process_is_waited_for_until_its_last_thread_has_ended";
    let Some(python) = seekwell_testing::tool("python3") else {
        return seekwell_testing::skip(test, "python3 is not installed");
    };
    let script = "import ctypes, threading, time\n\
                  threading.Thread(target=time.sleep, args=(60,)).start()\n\
                  ctypes.CDLL(None).syscall(ctypes.c_long(EXIT), 0)\n"
        .replace("EXIT", &libc::SYS_exit.to_string());
    let mut child = Command::new(python).args(["-c", &script]).spawn().unwrap();
    let system = System::host();
    let stat = || fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    assert!(soon(|| stat().contains(") Z ")), "{}", stat());
    let owner = Owner { pid: child.id(), started_ticks: start_ticks(&stat()).unwrap() };
    assert_eq!((is_alive(&system, owner), is_dying(&system, owner)), (false, true));
    child.kill().unwrap();
    assert!(soon(|| !is_dying(&system, owner)));
    child.wait().unwrap();
}

#[test]
fn nothing_is_put_back_before_a_killed_process_has_ended() {
    let (machine, system) = machine();
    process(&machine, "D", 0, "SigPnd:\t0000000000000100");
    let has_ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            has_ended.store(true, Ordering::SeqCst);
            process(&machine, "Z", 0, "");
        });
        wait_until_gone(&system, &[OTHER]);
        assert!(has_ended.load(Ordering::SeqCst));
    });
}

#[test]
fn an_owner_without_a_start_time_is_not_added() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    let before = fs::read(&path).unwrap();
    machine.write("proc/4711/stat", "4711 (run) S 1 1");
    let error = undo.add_owner(4711).unwrap_err();
    assert!(matches!(error, Error::Format { .. }), "{error}");
    assert!(matches!(undo.add_owner(4712).unwrap_err(), Error::Io { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn the_machine_is_locked_while_another_process_will_put_something_back() {
    let (machine, system) = machine();
    let folder = machine.path("run");
    process(&machine, "S", 0, "");
    let mut undo = Undo::create(&system, &folder.join("one.undo"), "run-1").unwrap();
    // A list of this process alone is no reason, nor is a file that is no list.
    machine.write("run/notes.txt", "no list");
    drop(lock(&system, &folder).unwrap().expect("only this process has a list"));
    undo.add_owner(OTHER.pid).unwrap();
    assert!(lock(&system, &folder).unwrap().is_none());
    assert_eq!(holder(&system, &folder), "process 4711 (seekwell)");
    fs::remove_file(machine.path("proc/4711/comm")).unwrap();
    assert_eq!(holder(&system, &folder), "process 4711");
    process(&machine, "Z", 0, "");
    assert!(soon(|| lock(&system, &folder).unwrap().is_some()));
}

#[test]
fn the_holder_of_the_lock_is_named_by_the_kernel_or_by_its_descriptor() {
    let (machine, system) = machine();
    let folder = machine.path("run");
    assert_eq!(holder(&system, &folder), "an unknown process", "there is no lock");
    drop(lock(&system, &folder).unwrap());
    let file = folder.join("machine.lock");
    let number = fs::metadata(&file).unwrap().ino();
    // This process has it open too, and is not the one that is waited for.
    let open = |process: u32, path: &Path| {
        let descriptors = machine.path(&format!("proc/{process}/fd"));
        fs::create_dir_all(&descriptors).unwrap();
        std::os::unix::fs::symlink(path, descriptors.join("9")).unwrap();
        machine.write(&format!("proc/{process}/comm"), "sleep");
    };
    open(std::process::id(), &file);
    machine.write("run/other", "");
    open(4710, &folder.join("other"));
    assert_eq!(holder(&system, &folder), "an unknown process");
    open(4712, &file);
    assert_eq!(holder(&system, &folder), "process 4712 (sleep)");
    machine.write("proc/4711/comm", "flock");
    let line =
        |kind: &str, number: u64| format!("1: {kind} ADVISORY WRITE 4711 00:1a:{number} 0 EOF");
    for (kind, number) in [("POSIX", number), ("FLOCK", number + 1)] {
        machine.write("proc/locks", &line(kind, number));
        assert_eq!(holder(&system, &folder), "process 4712 (sleep)", "{kind}");
    }
    machine.write("proc/locks", &format!("{}\n{}", line("POSIX", 1), line("FLOCK", number)));
    assert_eq!(holder(&system, &folder), "process 4711 (flock)");
}

#[test]
fn a_line_of_the_locks_names_its_process_for_its_file_alone() {
    let line = "1: FLOCK  ADVISORY  WRITE 42 fe:00:1308 0 EOF";
    assert_eq!(lock::lock_owner(line, 1308), Some(42));
    assert_eq!(lock::lock_owner(line, 1309), None);
    assert_eq!(lock::lock_owner(&line.replace("FLOCK", "POSIX"), 1308), None);
    assert_eq!(lock::lock_owner("1: FLOCK", 1308), None);
    assert_eq!(lock::lock_owner(&line.replace("42", "?"), 1308), None);
}

#[test]
fn a_list_that_another_process_restores_is_waited_for() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    Undo::create(&system, &path, "run-1").unwrap().record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    let held = File::open(&path).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let is_free = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            is_free.store(true, Ordering::SeqCst);
            drop(held);
        });
        assert_eq!(restore(&system, &path).unwrap().done.len(), 1);
        assert!(is_free.load(Ordering::SeqCst), "restored under the lock of another process");
    });
    assert_eq!(value(&machine, "nr_requests"), "256");
}

#[test]
fn a_list_that_another_process_has_put_back_is_done() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    Undo::create(&system, &path, "run-1").unwrap().record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    // Between the opening of the list and the lock.
    let list = state::open_own(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(
        restore_opened(&system, &path, list, Default::default()).unwrap(),
        Restored::default()
    );
    assert_eq!(value(&machine, "nr_requests"), "32", "the other process has decided on it");
    assert!(damage(&path).is_none(), "a list that is gone is not damaged");
}
