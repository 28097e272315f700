use super::*;
use crate::fixture;
use seekwell_model::stack::{DataMode, Journal, Overlay, WriteBack};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::verdict::StackDurability;

/// `xfs/none` wins; its stack and records are changed by the test.
fn changed(stack: impl FnOnce(&mut Stack), record: impl Fn(&mut Record)) -> Permanent {
    let mut view = fixture::winner();
    stack(&mut view.plan.stacks[1]);
    view.plan.lab.journals = vec![view.plan.stacks[1].journal.clone()];
    view.records.iter_mut().filter(|(trial, _)| trial.candidate == 1).for_each(|(_, r)| record(r));
    permanent(&view).remove(0)
}

fn lines(permanent: &Permanent) -> Vec<&str> {
    permanent.steps.iter().flat_map(|(_, lines)| lines).map(String::as_str).collect()
}

#[test]
fn a_real_disk_is_named_by_its_stable_path() {
    let permanent = changed(
        |stack| {
            stack.device.backing = Backing::Disk { path: "/dev/disk/by-id/ata-X_1".into() };
            stack.filesystem.mount = vec!["noatime".to_owned(), "logbsize=256k".to_owned()];
            stack.scheduler.kind = "bfq".to_owned();
            stack.scheduler.tunables.insert("low_latency".to_owned(), "0".to_owned());
            stack.device.settings.max_sectors_kb = Some(512);
        },
        |record| {
            record.in_force.device.kernel_name = "sdb".to_owned();
            record.in_force.device.serial = Some("S3Z9NB0K".to_owned());
            record.in_force.device.queue.scheduler = Some("bfq".to_owned());
        },
    );
    assert_eq!(
        lines(&permanent),
        [
            "mkfs.xfs /dev/disk/by-id/ata-X_1",
            "/dev/disk/by-id/ata-X_1 /MOUNT-POINT xfs noatime,logbsize=256k 0 0",
            "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", SYMLINK==\"disk/by-id/ata-X_1\", ATTR{queue/scheduler}=\"bfq\", ATTR{queue/nr_requests}=\"128\", ATTR{queue/iosched/low_latency}=\"0\", ATTR{queue/max_sectors_kb}=\"512\", ATTR{queue/read_ahead_kb}=\"128\"",
            "udevadm control --reload",
            "udevadm trigger --action=change /dev/disk/by-id/ata-X_1",
        ]
    );
    assert_eq!(permanent.notes, [""; 0]);
}

#[test]
fn an_external_journal_is_in_every_line() {
    let permanent = changed(
        |stack| {
            *stack = Stack { label: "xfs/none".to_owned(), ..fixture::stack("ext4", "none") };
            let external = Backing::Ram { size: Bytes::mib(128), sector: Bytes(512) };
            stack.journal = Journal {
                name: "on-ram".to_owned(),
                external: Some(external),
                size: None,
                data: Some(DataMode::Writeback),
            };
        },
        |record| {
            let journal =
                DeviceInForce { kernel_name: "loop4".to_owned(), ..DeviceInForce::default() };
            record.in_force.journal = Some(journal);
        },
    );
    assert_eq!(
        lines(&permanent)[..7],
        [
            "mke2fs -b 4096 -O journal_dev /dev/JOURNAL-DISK",
            "mkfs.ext4 -b 4096 -J device=/dev/JOURNAL-DISK /dev/DISK",
            "/dev/DISK /MOUNT-POINT ext4 data=writeback,noatime 0 2",
            "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", KERNEL==\"DISK\", ATTR{queue/scheduler}=\"none\", ATTR{queue/nr_requests}=\"128\", ATTR{queue/read_ahead_kb}=\"128\"",
            "ACTION==\"add|change\", SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", KERNEL==\"JOURNAL-DISK\", ATTR{queue/scheduler}=\"none\"",
            "udevadm control --reload",
            "udevadm trigger --action=change /dev/DISK /dev/JOURNAL-DISK",
        ]
    );
}

#[test]
fn an_xfs_log_device_is_a_mount_option_too() {
    let permanent = changed(
        |stack| {
            let external = Backing::Partition { path: "/dev/disk/by-id/nvme-L part1".into() };
            stack.journal.external = Some(external);
        },
        |_| {},
    );
    assert_eq!(
        lines(&permanent)[..2],
        [
            "mkfs.xfs -l logdev='/dev/disk/by-id/nvme-L part1' /dev/DISK",
            "/dev/DISK /MOUNT-POINT xfs logdev='/dev/disk/by-id/nvme-L\\040part1',noatime 0 0",
        ]
    );
}

#[test]
fn a_raw_device_has_only_a_rule() {
    let permanent = changed(|stack| stack.filesystem.kind = "raw".to_owned(), |_| {});
    let purposes: Vec<&str> = permanent.steps.iter().map(|(purpose, _)| *purpose).collect();
    assert_eq!(purposes, ["udev rule, in /etc/udev/rules.d/60-seekwell.rules", "activate"]);
    assert_eq!(permanent.back.len(), 1);
}

/// Lines of mkfs of a filesystem that this changes.
fn made(kind: &str, change: impl Fn(&mut Stack)) -> Vec<String> {
    let permanent = changed(
        |stack| {
            *stack = Stack { label: "xfs/none".to_owned(), ..fixture::stack(kind, "none") };
            change(stack);
        },
        |_| {},
    );
    let is_format = |(what, _): &&(&str, Vec<String>)| what.starts_with("format");
    permanent.steps.iter().find(is_format).map(|(_, lines)| lines.clone()).unwrap_or_default()
}

#[test]
fn formatting_has_the_options_of_the_lab_and_none_of_the_laboratory() {
    // Journal size, block size, lazy initialisation, no discard: they make trials comparable.
    for (kind, line) in [
        ("ext4", "mkfs.ext4 /dev/DISK"),
        ("ext4-nojournal", "mkfs.ext4 -O ^has_journal /dev/DISK"),
        ("xfs", "mkfs.xfs /dev/DISK"),
        ("btrfs", "mkfs.btrfs /dev/DISK"),
        ("f2fs", "mkfs.f2fs /dev/DISK"),
        ("jfs", "mkfs.jfs /dev/DISK"),
        ("reiserfs", "mkfs.reiserfs /dev/DISK"),
        ("vfat", "mkfs.vfat /dev/DISK"),
    ] {
        assert_eq!(made(kind, |_| ()), [line], "{kind}");
    }
    let asked = |stack: &mut Stack| {
        stack.filesystem.mkfs = vec!["-O".to_owned(), "fast_commit".to_owned()];
        stack.journal.size = Some(Bytes::mib(8));
    };
    assert_eq!(made("ext4", asked), ["mkfs.ext4 -J size=8 -O fast_commit /dev/DISK"]);
    assert_eq!(
        made("bcachefs", |stack| stack.filesystem.discard = true),
        ["mkfs.bcachefs --discard /dev/DISK"]
    );
    let outside = |stack: &mut Stack| {
        stack.journal.external = Some(Backing::Ram { size: Bytes::mib(8), sector: Bytes(512) });
        stack.journal.size = Some(Bytes::mib(8));
    };
    assert_eq!(
        made("ext3", outside),
        [
            "mke2fs -b 4096 -O journal_dev /dev/JOURNAL-DISK 2048",
            "mkfs.ext3 -b 4096 -J device=/dev/JOURNAL-DISK /dev/DISK",
        ]
    );
    assert_eq!(made("reiserfs", outside), ["mkfs.reiserfs -j /dev/JOURNAL-DISK -s 2048 /dev/DISK"]);
}

#[test]
fn every_filesystem_is_mounted_without_nodiscard() {
    for definition in seekwell_model::filesystems::FILESYSTEMS {
        let stack = fixture::stack(definition.name, "none");
        let device = DISK.to_owned();
        let names = Names { stack: &stack, device, journal: None, layers: vec![], size: None };
        let options = mount_options(&names, definition);
        assert!(!options.iter().any(|option| option == "nodiscard"), "{options:?}");
    }
}

#[test]
fn what_no_line_can_say_is_a_note() {
    let permanent = changed(
        |stack| {
            stack.filesystem.overlay =
                Some(Overlay { upper: Some(Bytes::mib(256)), write_back: WriteBack::Never });
            stack.device.settings.apm = Some(127);
            stack.device.settings.hdparm = vec!["-M128".to_owned()];
        },
        |_| {},
    );
    assert_eq!(permanent.notes.len(), 4, "{:?}", permanent.notes);
    assert!(permanent.notes[1].contains("writes go to 256MiB of memory"));
    assert_eq!(permanent.notes[2], "the trials had hdparm -B 127; set it in /etc/hdparm.conf");
}

#[test]
fn an_overlay_is_mounted_above_its_read_only_filesystem() {
    let overlay = |write_back| {
        changed(
            |stack| {
                *stack = Stack { label: "xfs/none".to_owned(), ..fixture::stack("ext2", "none") };
                stack.filesystem.mount = vec!["noatime".to_owned()];
                stack.filesystem.overlay =
                    Some(Overlay { upper: Some(Bytes::mib(64)), write_back });
            },
            |_| {},
        )
    };
    let ended = overlay(WriteBack::End);
    assert_eq!(
        lines(&ended)[..5],
        [
            "mkfs.ext2 /dev/DISK",
            "/dev/DISK /MOUNT-POINT.lower ext2 noatime,ro 0 2",
            "tmpfs /MOUNT-POINT.upper tmpfs size=67108864,mode=0755 0 0",
            "mkdir /MOUNT-POINT.upper/upper /MOUNT-POINT.upper/work",
            "mount -t overlay overlay -o lowerdir=/MOUNT-POINT.lower,upperdir=/MOUNT-POINT.upper/upper,workdir=/MOUNT-POINT.upper/work,redirect_dir=off,metacopy=off,index=off /MOUNT-POINT",
        ]
    );
    let note =
        |permanent: &Permanent, says: &str| permanent.notes.iter().any(|note| note.contains(says));
    assert!(note(&ended, "copy the upper layer to the filesystem below at shutdown"));
    assert!(note(&overlay(WriteBack::Never), "lost at every shutdown"));
}

#[test]
fn an_overlay_on_its_own_filesystem_is_two_lines_of_fstab() {
    let made = changed(
        |stack| {
            *stack = Stack { label: "xfs/none".to_owned(), ..fixture::stack("ext2", "none") };
            stack.filesystem.overlay = Some(Overlay { upper: None, write_back: WriteBack::End });
        },
        |_| {},
    );
    assert_eq!(
        lines(&made)[..4],
        [
            "mkfs.ext2 /dev/DISK",
            "/dev/DISK /MOUNT-POINT.lower ext2 noatime 0 2",
            "overlay /MOUNT-POINT overlay lowerdir=/MOUNT-POINT.lower/lower,upperdir=/MOUNT-POINT.lower/upper,workdir=/MOUNT-POINT.lower/work,redirect_dir=off,metacopy=off,index=off 0 0",
            "mkdir /MOUNT-POINT.lower/lower /MOUNT-POINT.lower/upper /MOUNT-POINT.lower/work",
        ]
    );
}

#[test]
fn an_export_is_lines_of_the_server_and_of_the_client() {
    let made = changed(
        |stack| {
            *stack = Stack { label: "xfs/none".to_owned(), ..fixture::stack("ext2", "none") };
            stack.filesystem.nfs = Some(Nfs {
                version: "4.2".to_owned(),
                is_async: true,
                rsize: None,
                wsize: Some(Bytes::kib(256)),
                delay: Nanos(100_000),
                rate_mbit: 1000,
            });
        },
        |_| {},
    );
    assert_eq!(
        lines(&made)[1..4],
        [
            "/dev/DISK /MOUNT-POINT ext2 noatime 0 2",
            "/MOUNT-POINT CLIENT(rw,async,no_subtree_check,no_root_squash)",
            "SERVER:/MOUNT-POINT /MOUNT-POINT nfs hard,vers=4.2,wsize=262144 0 0",
        ]
    );
    let link = "a link of 1000 Mbit/s with 100 µs of delay in each direction";
    assert!(made.notes.iter().any(|note| note.contains(link)), "{:?}", made.notes);
}

#[test]
fn a_directory_of_a_server_is_one_line_without_a_disk() {
    let made = changed(
        |stack| {
            *stack = Stack { label: "xfs/none".to_owned(), ..fixture::stack("nfs", "none") };
            stack.filesystem.mount = vec!["noatime".to_owned()];
            stack.filesystem.export = Some(Export {
                from: "nas:/srv/bench".to_owned(),
                version: "4.2".to_owned(),
                rsize: None,
                wsize: Some(Bytes::kib(256)),
            });
        },
        |_| {},
    );
    assert_eq!(
        lines(&made),
        ["nas:/srv/bench /MOUNT-POINT nfs hard,vers=4.2,wsize=262144,noatime 0 0"]
    );
    assert_eq!(made.back, ["remove the line from /etc/fstab"]);
}

#[test]
fn files_in_memory_have_the_size_of_the_trials_and_no_device() {
    let made = changed(
        |stack| *stack = Stack { label: "xfs/none".to_owned(), ..fixture::stack("tmpfs", "none") },
        |record| {
            record.in_force.mount = Some("rw,nosuid,nodev,size=262144k,mode=755".to_owned());
        },
    );
    assert_eq!(lines(&made)[0], "tmpfs /MOUNT-POINT tmpfs mode=755,size=262144k,noatime 0 0");
    assert!(made.notes.iter().any(|note| note.contains("a restart loses them")));
    // No disk, and no rule for its queue.
    assert!(!made.steps.iter().any(|(what, _)| what.starts_with("udev rule")), "{made:#?}");
    assert!(!made.notes.iter().any(|note| note.contains("DISK")), "{made:#?}");
}

#[test]
fn nothing_is_made_permanent_without_a_verdict() {
    assert_eq!(permanent(&fixture::unresolved()), vec![]);
    assert_eq!(permanent(&fixture::tie()).len(), 2);
}

#[test]
fn values_cannot_leave_their_quotes() {
    assert_eq!(udev_value("a\"b\\c$d%e\n"), "abc$$d%%e");
    assert_eq!(shell_word("/dev/disk/by-id/a-1"), "/dev/disk/by-id/a-1");
    assert_eq!(shell_word("a'b c"), "'a'\\''b c'");
}

#[test]
fn layers_come_before_the_filesystem_with_the_files_that_make_them_last() {
    use seekwell_model::field::Values;
    use seekwell_model::layers::{Layer, Layers, layer_kind};
    let layer = |kind: &str| Layer::new(layer_kind(kind).unwrap(), None, None, &Values::default());
    let permanent = changed(
        |stack| {
            *stack = Stack { label: "xfs/none".to_owned(), ..fixture::stack("ext4", "none") };
            stack.layers =
                Layers { name: "safe".to_owned(), parts: vec![layer("raid1"), layer("crypt")] };
        },
        |record| {
            let known = record.in_force.device.clone();
            let device =
                |name: &str| DeviceInForce { kernel_name: name.to_owned(), ..known.clone() };
            record.in_force.members = vec![device("vda"), device("vdb")];
            record.in_force.device = device("dm-0");
        },
    );
    assert_eq!(
        lines(&permanent)[..9],
        [
            "mdadm --create /dev/md0 --level=1 --raid-devices=2 --metadata=1.2 --bitmap=internal /dev/DISK-1 /dev/DISK-2",
            "mdadm --detail --scan >> /etc/mdadm/mdadm.conf",
            "update-initramfs -u",
            "cryptsetup luksFormat --type luks2 --cipher=aes-xts-plain64 --key-size=512 --sector-size=4096 /dev/md0",
            "cryptsetup open /dev/md0 data",
            "data UUID=$(cryptsetup luksUUID /dev/md0) none luks",
            "update-initramfs -u",
            "mkfs.ext4 /dev/mapper/data",
            "/dev/mapper/data /MOUNT-POINT ext4 noatime 0 2",
        ]
    );
    let back: Vec<&str> = permanent.back.iter().map(String::as_str).collect();
    assert_eq!(
        back[1..4],
        [
            "cryptsetup close data, then remove its line from /etc/crypttab",
            "cryptsetup erase /dev/md0 (destroys what is on it)",
            "mdadm --stop /dev/md0",
        ]
    );
    assert!(permanent.notes[0].starts_with("replace each DISK with your own disk"));
}

#[test]
fn lines_of_a_stack_that_may_lose_synced_data_are_for_labs_that_ask() {
    let mut view = fixture::winner();
    view.verdict.evidence.durability = vec![StackDurability {
        stack: "xfs/none".to_owned(),
        class: DurabilityClass::Unsafe,
        reasons: vec!["mounted nobarrier".to_owned()],
        cuts: None,
        known: None,
    }];
    let found = permanent(&view).remove(0);
    assert_eq!((lines(&found).len(), found.back.len()), (0, 0));
    assert_eq!(
        found.notes,
        [
            "It may lose data that a sync returned for (mounted nobarrier), and so may every stack of this \
          lab. Its lines are shown for a lab with [judge] durability = \"any\"."
        ]
    );
    view.plan.lab.judge.durability = Eligible::Any;
    assert!(!lines(&permanent(&view).remove(0)).is_empty());
}

#[test]
fn a_journal_size_that_only_makes_stacks_comparable_is_no_option() {
    let mut view = fixture::winner();
    view.plan.stacks[1].journal.size = Some(Bytes::mib(64));
    view.plan.lab.journals = vec![Journal::internal()];
    assert_eq!(lines(&permanent(&view)[0])[0], "mkfs.xfs /dev/DISK");
}

#[test]
fn a_journal_of_the_plans_size_is_said_where_the_lines_leave_it_to_mkfs() {
    let with = |stated: Option<Bytes>| {
        let mut view = fixture::winner();
        view.plan.stacks[1].journal.size = Some(Bytes::mib(64));
        view.plan.lab.journals =
            vec![Journal { size: stated, ..view.plan.stacks[1].journal.clone() }];
        let permanent = permanent(&view).remove(0);
        let is_said = permanent
            .notes
            .iter()
            .any(|note| note.starts_with("the plan gave its journal 64MiB so that"));
        (is_said, lines(&permanent)[0].contains("64"))
    };
    assert_eq!(with(None), (true, false));
    assert_eq!(with(Some(Bytes::mib(64))), (false, true));
}
