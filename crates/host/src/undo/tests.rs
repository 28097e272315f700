use super::*;
use crate::fixture::Machine;
use seekwell_model::stack::VM_SETTINGS;
use seekwell_testing::soon;
use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

mod processes;
mod values;

fn scheduler(device: &str) -> Target {
    Target::Queue { device: device.into(), attribute: "scheduler".into() }
}

fn requests(device: &str) -> Target {
    Target::Queue { device: device.into(), attribute: "nr_requests".into() }
}

/// A machine with this process in its procfs, and a disk with a queue.
fn machine() -> (Machine, System) {
    let machine = Machine::new();
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    machine.write(&format!("proc/{}/stat", std::process::id()), stat.trim_end());
    machine.attribute("sda", "queue/scheduler", "none");
    machine.attribute("sda", "queue/nr_requests", "256");
    let system = machine.system();
    (machine, system)
}

fn value(machine: &Machine, attribute: &str) -> String {
    sysfs::read(&machine.path(&format!("sys/class/block/sda/queue/{attribute}"))).unwrap()
}

#[test]
fn the_first_old_value_is_the_one_that_comes_back() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    for next in ["64", "32"] {
        assert!(undo.record(&requests("sda")).unwrap());
        machine.attribute("sda", "queue/nr_requests", next);
    }
    // Another process of the run opens the same list and records the same setting once more.
    let mut second = Undo::open(&system, &path).unwrap();
    second.record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "16");

    let restored = restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "256");
    assert_eq!(restored.done.len(), 1);
    assert_eq!(restored.problems, [""; 0]);
    assert!(!path.exists(), "nothing is left to do");
    assert_eq!(restore(&system, &path).unwrap(), Restored::default(), "again is harmless");
}

#[test]
fn the_old_value_is_on_disk_when_record_returns() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record(&scheduler("sda")).unwrap();
    let lines: Vec<serde_json::Value> = fs::read_to_string(&path)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["line"], "header");
    assert_eq!(lines[0]["boot"], "boot-1");
    assert_eq!(lines[0]["run"], "run-1");
    assert_eq!(lines[1]["pid"], std::process::id());
    assert_eq!(
        lines[2],
        serde_json::json!({
            "line": "change",
            "target": { "kind": "queue", "device": "sda", "attribute": "scheduler" },
            "old": "none",
        })
    );
}

#[test]
fn a_list_is_never_seen_without_its_owner_and_never_replaced() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let seen = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut seen = false;
            while !seen {
                assert!(pending(&system, &machine.path("run")).unwrap().is_empty());
                seen = path.exists();
            }
            seen
        });
        Undo::create(&system, &path, "run-1").unwrap();
        looking.join().unwrap()
    });
    assert!(seen);
    let before = fs::read(&path).unwrap();
    assert!(Undo::create(&system, &path, "run-2").is_err());
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn nothing_is_put_back_before_what_resets_it() {
    let change =
        |target| Change { target, old: Some("1".into()), disk: None, free: false, set: None };
    let folder = |path: &str| Target::Directory { path: path.into() };
    let queue =
        |attribute: &str| Target::Queue { device: "sda".into(), attribute: attribute.into() };
    let changes = [
        change(queue("read_ahead_kb")),
        change(requests("sda")),
        change(queue("max_sectors_kb")),
        change(folder("/outer")),
        change(scheduler("sda")),
        change(folder("/outer/inner")),
        change(Target::File { path: "/proc/sys/vm/x".into() }),
    ];
    let order: Vec<&Target> = put_back::in_order(&changes).iter().map(|one| &one.target).collect();
    assert_eq!(
        order,
        [
            &scheduler("sda"),
            &queue("max_sectors_kb"),
            &requests("sda"),
            &queue("read_ahead_kb"),
            &Target::File { path: "/proc/sys/vm/x".into() },
            &folder("/outer/inner"),
            &folder("/outer"),
        ]
    );
}

#[test]
fn a_line_cut_off_by_a_crash_is_as_if_never_begun() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record(&scheduler("sda")).unwrap();
    let whole = fs::read(&path).unwrap();
    machine.attribute("sda", "queue/scheduler", "[none]");
    undo.record(&requests("sda")).unwrap();
    let longer = fs::read(&path).unwrap();

    for length in whole.len()..longer.len() {
        fs::write(&path, &longer[..length]).unwrap();
        let content = load(&mut File::open(&path).unwrap(), &path).unwrap();
        let complete = length + 1 == longer.len();
        assert_eq!(content.changes.len(), if complete { 2 } else { 1 }, "{length}");

        // Whoever opens it next writes on a line of his own.
        let mut next = Undo::open(&system, &path).unwrap();
        next.record(&Target::Directory { path: machine.path("run/new") }).unwrap();
        let content = load(&mut File::open(&path).unwrap(), &path).unwrap();
        assert_eq!(content.changes.len(), if complete { 3 } else { 2 }, "{length}");
        assert!(!content.torn);
    }
}

#[test]
fn values_of_another_boot_are_forgotten() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record(&requests("sda")).unwrap();
    let left = machine.path("run/left");
    undo.record(&Target::Directory { path: left.clone() }).unwrap();
    fs::create_dir(&left).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    machine.write("proc/sys/kernel/random/boot_id", "boot-2");

    assert_eq!(pending(&system, &machine.path("run")).unwrap(), std::slice::from_ref(&path));
    restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "32", "another kernel's value is not ours to set");
    assert!(!left.exists(), "folders outlive a boot");
    assert!(!path.exists());
}

#[test]
fn a_list_is_pending_only_when_all_its_owners_are_dead() {
    let machine = Machine::new();
    let mut system = machine.system();
    system.proc = "/proc".into();
    let path = machine.path("run/one.undo");
    // Both owners live: this process and a child.
    let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.add_owner(child.id()).unwrap();
    machine.write("run/other.txt", "no list");
    assert!(pending(&system, &machine.path("run")).unwrap().is_empty());

    // Only the child lives.
    let text = fs::read_to_string(&path).unwrap();
    let own = format!("\"pid\":{},", std::process::id());
    let without_us: Vec<&str> = text.lines().filter(|line| !line.contains(&own)).collect();
    fs::write(&path, without_us.join("\n") + "\n").unwrap();
    assert!(pending(&system, &machine.path("run")).unwrap().is_empty());

    // A zombie puts nothing back.
    child.kill().unwrap();
    while !fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap().contains(") Z ") {
        std::thread::yield_now();
    }
    assert_eq!(pending(&system, &machine.path("run")).unwrap(), std::slice::from_ref(&path));
    let drafts = [child.id(), std::process::id()]
        .map(|pid| machine.path(&format!("run/.{pid}-lab.undo.{pid}-0.draft")));
    drafts.iter().for_each(|draft| fs::write(draft, "").unwrap());
    child.wait().unwrap();
    assert_eq!(pending(&system, &machine.path("run")).unwrap(), [path]);
    remove_drafts(&system, &machine.path("run"));
    assert_eq!(drafts.each_ref().map(|draft| draft.exists()), [false, true]);
    assert!(machine.path("run/other.txt").exists());
    assert!(pending(&system, Path::new("/no/such/folder")).unwrap().is_empty());
}

/// A served device is there to be measured: its list is not one of another run.
#[test]
fn a_served_device_leaves_the_machine_to_a_run() {
    let machine = Machine::new();
    let mut system = machine.system();
    system.proc = "/proc".into();
    let folder = machine.path("run");
    let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
    let owned = |name: &str| {
        let path = folder.join(name);
        Undo::create(&system, &path, "run-1").unwrap().add_owner(child.id()).unwrap();
        path
    };
    owned(&format!("12{OF_SERVED}1.undo"));
    let ours = lock(&system, &folder).unwrap();
    assert!(ours.is_some());
    drop(ours);
    let of_a_run = owned("12-1.undo");
    assert!(lock(&system, &folder).unwrap().is_none());
    fs::remove_file(of_a_run).unwrap();
    assert!(soon(|| lock(&system, &folder).unwrap().is_some()));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_later_process_of_the_same_number_is_not_the_owner() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    Undo::create(&system, &path, "run-1").unwrap();
    assert!(pending(&system, &machine.path("run")).unwrap().is_empty());
    let stat = format!("proc/{}/stat", std::process::id());
    let text = sysfs::read(&machine.path(&stat)).unwrap();
    let ticks = start_ticks(&text).unwrap();
    machine.write(&stat, &text.replace(&format!(" {ticks} "), &format!(" {} ", ticks + 1)));
    assert_eq!(pending(&system, &machine.path("run")).unwrap(), [path]);
}

#[test]
fn the_name_of_a_process_may_hold_anything() {
    let fields: Vec<String> = (3..=52).map(|number| number.to_string()).collect();
    let stat = format!("7 (a ) b) {}", fields.join(" "));
    assert_eq!(start_ticks(&stat), Some(22));
    assert_eq!(start_ticks("7 (sh"), None);
}

#[test]
fn what_cannot_be_put_back_is_told_and_stays_in_the_list() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    let occupied = machine.path("run/occupied");
    undo.record(&Target::Directory { path: occupied.clone() }).unwrap();
    undo.record(&requests("sda")).unwrap();
    fs::create_dir_all(occupied.join("inner")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");

    let restored = restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "256", "one problem does not stop the rest");
    assert_eq!(restored.problems.len(), 1);
    assert!(restored.problems[0].starts_with("cannot remove the folder"), "{restored:?}");
    assert!(path.exists());

    fs::remove_dir(occupied.join("inner")).unwrap();
    assert_eq!(restore(&system, &path).unwrap().problems, [""; 0]);
    assert!(!path.exists() && !occupied.exists());
}

#[test]
fn a_value_that_does_not_come_back_says_how_to_do_it_by_hand() {
    // A file that the kernel would clamp: here one that cannot be changed.
    let (machine, system) = machine();
    let file = machine.path("proc/sys/vm/dirty_ratio");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "5\n").unwrap();
    let mut undo = Undo::in_memory(&system);
    undo.record(&Target::File { path: file.clone() }).unwrap();
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/proc/sys/kernel/osrelease", &file).unwrap();
    let restored = undo.restore_where(|_| true).unwrap();
    let text = restored.problems[0].replace(&file.display().to_string(), "FILE");
    assert!(text.contains("restore it by hand: echo '5' > FILE"), "{text}");
}

#[test]
fn a_device_that_is_gone_took_its_settings_with_it() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record(&requests("sda")).unwrap();
    fs::remove_file(machine.path("sys/class/block/sda")).unwrap();
    assert_eq!(restore(&system, &path).unwrap(), Restored::default());
    assert!(!path.exists());
}

#[test]
fn another_disk_of_the_same_name_is_left_alone() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    machine.attribute("sda", "device/vendor", "SCRIPTED");
    machine.attribute("sda", "diskseq", "7");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "64");
    machine.attribute("sda", "diskseq", "8");
    assert_eq!(restore(&system, &path).unwrap(), Restored::default());
    assert_eq!(value(&machine, "nr_requests"), "64", "this disk had that before");
    assert!(!path.exists());
}

#[test]
fn the_settings_of_a_loop_device_come_back_whatever_is_attached_to_it() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    machine.attribute("sda", "diskseq", "7");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "64");
    machine.attribute("sda", "diskseq", "8");
    assert_eq!(restore(&system, &path).unwrap().done.len(), 1);
    assert_eq!(value(&machine, "nr_requests"), "256");
}

#[test]
fn what_is_not_there_is_not_recorded() {
    let (machine, system) = machine();
    let mut undo = Undo::in_memory(&system);
    let missing = Target::Queue { device: "sda".into(), attribute: "wbt_lat_usec".into() };
    assert!(!undo.record(&missing).unwrap());
    let existing = Target::Directory { path: machine.path("run") };
    assert!(!undo.record(&existing).unwrap(), "a folder that was there is not ours to remove");
}

#[test]
fn a_forgotten_change_begins_anew() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    undo.forget(&requests("sda")).unwrap();
    undo.record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "16");
    restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "32");
}

#[test]
fn a_list_of_a_newer_format_is_left_alone() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    machine.write("run/one.undo", r#"{"line":"header","format":2,"run":"r","boot":"boot-1"}"#);
    let error = restore(&system, &path).unwrap_err();
    assert!(error.to_string().contains("a newer seekwell wrote this list"), "{error}");
    assert!(path.exists());
}

#[test]
fn several_restore_at_once_and_each_value_is_written_once() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    let mut undo = Undo::create(&system, &path, "run-1").unwrap();
    undo.record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    let done: usize = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| restore(&system, &path).unwrap().done.len())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(done, 1);
    assert_eq!(value(&machine, "nr_requests"), "256");
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_list_with_a_damaged_header_is_kept_and_reported() {
    let (machine, system) = machine();
    let folder = machine.path("run");
    for damage in
        ["", "garbage\n", "\0\0\0\0", "{\"line\":\"owner\",\"pid\":1,\"started_ticks\":1}\n"]
    {
        let path = machine.path("run/one.undo");
        fs::write(&path, damage).unwrap();
        assert!(pending(&system, &folder).unwrap().is_empty(), "{damage:?}");
        let error = restore(&system, &path).unwrap_err().to_string();
        assert!(error.contains("nothing was restored from it and it is kept"), "{error}");
        assert_eq!(unreadable(&folder).len(), 1);
        assert_eq!(fs::read_to_string(&path).unwrap(), damage, "it is kept as it is");
    }
}

#[test]
fn a_list_that_another_user_could_have_written_is_not_believed() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    Undo::create(&system, &path, "run-1").unwrap().record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    // Made under umask 0 by an earlier version.
    mode(&path, 0o666);
    assert!(matches!(restore(&system, &path).unwrap_err(), Error::Untrusted { .. }));
    assert!(pending(&system, &machine.path("run")).unwrap().is_empty());
    assert_eq!(unreadable(&machine.path("run")).len(), 1);
    assert_eq!(value(&machine, "nr_requests"), "32");
    // What that version wrote for all to read and only root to write is honoured.
    mode(&path, 0o644);
    restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "256");
}

#[test]
fn a_forged_target_is_left_alone_and_the_rest_is_put_back() {
    let (machine, system) = machine();
    let path = machine.path("run/one.undo");
    Undo::create(&system, &path, "run-1").unwrap().record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    machine.write("etc/shadow", "precious");
    fs::create_dir_all(machine.path("home/empty")).unwrap();
    let canary = machine.path("etc/shadow");
    let shadow = canary.display();
    let forged = [
        format!(r#"{{"kind":"file","path":"{shadow}"}}"#),
        format!(
            r#"{{"kind":"file","path":"{}/proc/sys/vm/../../../etc/shadow"}}"#,
            machine.root.path().display()
        ),
        format!(r#"{{"kind":"queue","device":"sda","attribute":"../../../../../..{shadow}"}}"#),
        format!(r#"{{"kind":"queue","device":"../../../..{shadow}","attribute":"x"}}"#),
        format!(
            r#"{{"kind":"tunable","device":"sda","scheduler":"none","name":"../../../../../../..{shadow}"}}"#
        ),
        r#"{"kind":"hdparm","device":"sda","flag":"--security-erase"}"#.to_owned(),
        format!(r#"{{"kind":"directory","path":"{}"}}"#, machine.path("home/empty").display()),
        format!(
            r#"{{"kind":"directory","path":"{}/../home/empty"}}"#,
            machine.path("run").display()
        ),
        format!(
            r#"{{"kind":"cgroup-directory","path":"{}"}}"#,
            machine.path("home/empty").display()
        ),
    ];
    let lines: Vec<String> = forged
        .iter()
        .map(|target| format!(r#"{{"line":"change","target":{target},"old":"root::0:0"}}"#))
        .collect();
    let text = fs::read_to_string(&path).unwrap() + &lines.join("\n") + "\n";
    fs::write(&path, text).unwrap();
    let restored = restore(&system, &path).unwrap();
    assert_eq!(restored.problems.len(), forged.len(), "{restored:?}");
    assert_eq!(value(&machine, "nr_requests"), "256");
    assert_eq!(fs::read_to_string(&canary).unwrap(), "precious\n");
    assert!(machine.path("home/empty").exists() && path.exists());
    // Nor is such a target ever recorded.
    let mut undo = Undo::in_memory(&system);
    assert!(undo.record(&Target::File { path: canary.clone() }).is_err());
}

#[test]
fn a_lock_that_any_user_may_hold_stops_nobody() {
    let (machine, system) = machine();
    let folder = machine.path("run");
    // A lock file and a list of an earlier version, both held by somebody who may read them.
    machine.write("run/lock", "");
    let path = machine.path("run/one.undo");
    Undo::create(&system, &path, "run-1").unwrap().record(&requests("sda")).unwrap();
    machine.attribute("sda", "queue/nr_requests", "32");
    mode(&path, 0o644);
    let held = [File::open(folder.join("lock")).unwrap(), File::open(&path).unwrap()];
    for file in &held {
        rustix::fs::flock(file, rustix::fs::FlockOperation::LockShared).unwrap();
    }
    let ours = lock(&system, &folder).unwrap().expect("nobody of this version has it");
    assert!(lock(&system, &folder).unwrap().is_none(), "one run at a time");
    drop(ours);
    restore(&system, &path).unwrap();
    assert_eq!(value(&machine, "nr_requests"), "256");
    let bits = fs::metadata(folder.join("machine.lock")).unwrap().permissions().mode() & 0o777;
    assert_eq!(bits, 0o600);
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_wait_for_a_lock_ends_and_names_who_has_it() {
    let machine = Machine::new();
    let mut system = machine.system();
    system.proc = "/proc".into();
    let path = machine.path("run/one.undo");
    Undo::create(&system, &path, "run-1").unwrap();
    let script = format!("exec 9<{}; flock 9; echo ready; exec sleep 60", path.display());
    let mut holder = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ready = [0; 6];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut ready).unwrap();
    let list = state::open_own(&path).unwrap();
    let waited = lock::lock_within(&system, &list, &path, Duration::from_millis(50));
    holder.kill().unwrap();
    holder.wait().unwrap();
    let error = waited.unwrap_err().to_string();
    // The lock was taken by `flock`, which has ended; its parent still has the descriptor.
    assert!(error.contains(&format!("still locked by process {} (sleep)", holder.id())), "{error}");
}

mod model {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Set(usize, u8),
        Restore(usize),
        Reopen,
        Tear,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..4_usize, any::<u8>()).prop_map(|(file, value)| Step::Set(file, value)),
            1 => (0..4_usize).prop_map(Step::Restore),
            1 => Just(Step::Reopen),
            1 => Just(Step::Tear),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// Whatever is set, restored in part, reopened and torn in between, everything is as it was
        /// before.
        #[test]
        fn everything_is_as_it_was_before(steps in prop::collection::vec(step(), 0..24)) {
            let (machine, system) = machine();
            let file = |index: usize| machine.path(&format!("proc/sys/vm/{}", VM_SETTINGS[index]));
            fs::create_dir_all(machine.path("proc/sys/vm")).unwrap();
            for index in 0..4 {
                fs::write(file(index), format!("before {index}\n")).unwrap();
            }
            let path = machine.path("run/one.undo");
            let mut undo = Undo::create(&system, &path, "run-1").unwrap();
            for step in steps {
                match step {
                    Step::Set(index, value) => {
                        undo.record(&Target::File { path: file(index) }).unwrap();
                        fs::write(file(index), format!("{value}\n")).unwrap();
                    }
                    Step::Restore(index) => {
                        let restored =
                            undo.restore_where(|target| *target == Target::File { path: file(index) });
                        prop_assert!(restored.unwrap().problems.is_empty());
                    }
                    Step::Reopen => undo = Undo::open(&system, &path).unwrap(),
                    Step::Tear => {
                        // A crash in the middle of a line, and a new process that goes on.
                        let mut list = OpenOptions::new().append(true).open(&path).unwrap();
                        list.write_all(br#"{"line":"change","target":{"kind":"fi"#).unwrap();
                        undo = Undo::open(&system, &path).unwrap();
                    }
                }
            }
            drop(undo);
            prop_assert!(restore(&system, &path).unwrap().problems.is_empty());
            for index in 0..4 {
                let now = sysfs::read(&file(index)).unwrap();
                prop_assert_eq!(now, format!("before {index}"));
            }
        }
    }
}

#[test]
fn the_folder_of_the_mounts_is_private_also_where_it_was_open() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let undo = folder.path().join("undo");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let path = mount_folder(&undo).unwrap();
    assert_eq!((mode(&undo), mode(&path)), (0o700, 0o700));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(mount_folder(&undo).unwrap(), path);
    assert_eq!(mode(&path), 0o700);
}
