use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use super::*;

const MOUNTS: &str = "/dev/vda / ext4 rw,relatime 0 0\nproc /proc proc rw 0 0\n";

/// A machine of files.
struct Fake {
    folder: tempfile::TempDir,
}

impl Fake {
    fn new() -> Self {
        let fake = Self { folder: tempfile::tempdir().unwrap() };
        fake.write("mounts", MOUNTS);
        fake.queue("loop0", "[none] bfq");
        fake.queue("vda", "[none] bfq");
        fake.write("vm/swappiness", "60");
        fake.write("vm/drop_caches", "0");
        fake
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    }

    fn queue(&self, device: &str, scheduler: &str) {
        self.write(&format!("block/{device}/queue/scheduler"), scheduler);
        self.write(&format!("block/{device}/queue/nr_requests"), "128");
        self.write(&format!("block/{device}/queue/read_ahead_kb"), "128");
    }

    fn attach(&self, device: &str, file: &str) {
        self.write(&format!("block/{device}/loop/backing_file"), file);
    }

    fn look(&self) -> Machine {
        let at = |name: &str| self.folder.path().join(name);
        Machine::look_at(&Places {
            sys_block: at("block"),
            mounts: at("mounts"),
            sysctls: at("vm"),
            groups: vec![at("cgroup"), at("cgroup/memory")],
            undo_lists: at("undo"),
        })
        .unwrap()
    }

    /// Lists everything that is new after `change`, without the machine's folder in the names.
    fn after(&self, change: impl FnOnce(&Self)) -> Vec<String> {
        let before = self.look();
        assert_eq!(self.look().new_since(&before), [""; 0]);
        change(self);
        let folder = format!("{}/", self.folder.path().display());
        self.look().new_since(&before).iter().map(|thing| thing.replace(&folder, "")).collect()
    }
}

#[test]
fn loop_devices_mounts_groups_and_undo_lists_left_behind_are_named() {
    let fake = Fake::new();
    fake.attach("loop1", "/old.img");
    let left = fake.after(|fake| {
        fake.attach("loop0", "/new image.img");
        fake.write("mounts", &format!("{MOUNTS}/dev/loop0 /mnt/a xfs rw 0 0"));
        fake.write("cgroup/memory/seekwell-run/tasks", "");
        fake.write("cgroup/memory/system.slice/tasks", "");
        fake.write("undo/run-1", "");
    });
    assert_eq!(
        left,
        [
            "loop device loop0 on /new image.img",
            "memory group cgroup/memory/seekwell-run",
            "mount /dev/loop0 /mnt/a xfs",
            "undo list undo/run-1",
        ]
    );
}

#[test]
fn settings_left_changed_are_named() {
    let left = Fake::new().after(|fake| {
        fake.queue("loop0", "none [bfq]");
        fake.queue("loop8", "none [bfq]");
        fake.queue("loop9", "[none] bfq");
        fake.write("block/loop0/queue/read_ahead_kb", "2560");
        fake.write("block/vda/queue/read_ahead_kb", "4096");
        fake.write("vm/swappiness", "0");
        fake.write("vm/drop_caches", "3");
    });
    assert_eq!(
        left,
        [
            "loop0 scheduler: `none [bfq]`, was `[none] bfq`",
            "loop8 scheduler: `none [bfq]`, was `[none] bfq`",
            "sysctl vm/swappiness: `0`, was `60`",
            "vda read_ahead_kb: `4096`, was `128`",
        ]
    );
}

#[test]
fn what_went_away_or_only_changed_its_mount_options_is_not_left_behind() {
    let fake = Fake::new();
    fake.attach("loop0", "/old.img");
    let left = fake.after(|fake| {
        fs::remove_file(fake.folder.path().join("block/loop0/loop/backing_file")).unwrap();
        fake.write("mounts", "/dev/vda / ext4 ro 0 0");
    });
    assert_eq!(left, [""; 0]);
}

#[test]
fn this_machine_can_be_read() {
    let machine = Machine::look().unwrap();
    assert!(machine.things.iter().any(|thing| thing.starts_with("mount ")), "{machine:?}");
}

#[test]
fn a_process_is_found_by_what_it_inherited() {
    let marker = format!("SEEKWELL_XTASK_TEST=m{}", std::process::id());
    let (name, value) = marker.split_once('=').unwrap();
    assert_eq!(processes_with(&marker).unwrap(), [""; 0]);
    // `cat` waits for its input, and ends when the test drops it. `spawn` returns while the kernel
    // still lays out the new program, whose environment reads as empty until then: an answer shows
    // that it runs.
    let mut child = Command::new("cat")
        .env(name, value)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.as_mut().unwrap().write_all(b"?").unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let found = processes_with(&marker).unwrap();
    drop(child.stdin.take());
    child.wait().unwrap();
    assert_eq!(found, [format!("process /proc/{} (cat)", child.id())]);
    assert_eq!(processes_with(&marker).unwrap(), [""; 0]);
}
