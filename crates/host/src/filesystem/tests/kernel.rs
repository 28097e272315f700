//! Every mkfs, mount and fsck that this machine has, on scratch images. No spare disk is needed:
//! every device here is a loop device on an image of its own.

use super::super::*;
use super::{filesystem, plain, strings};
use crate::fixture::with_own_mounts;
use crate::guard::{self, WriteToken};
use crate::image::{self, Image};
use crate::loop_device::{self, LoopDevice};
use rustix::fs::{FallocateFlags, fallocate};
use seekwell_model::filesystems::FILESYSTEMS;
use seekwell_testing::{root, skip};
use std::fs;
use std::time::Duration;
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(20);

/// A scratch device with the right to write to it.
struct Scratch {
    image: Image,
    device: LoopDevice,
    token: WriteToken,
}

impl Scratch {
    fn attach(image: Image, limit: Option<Bytes>) -> Self {
        let system = System::host();
        let device = loop_device::attach(&system, image.file(), Bytes(512), limit).unwrap();
        let token = guard::scratch(&system, &device, image.file()).unwrap();
        Self { image, device, token }
    }

    fn in_ram(size: Bytes) -> Self {
        let image = image::create_in_ram(&System::host(), size, 1, &mut |_| {}).unwrap();
        Self::attach(image, None)
    }

    /// On the disk of the temporary folder, where extents can be looked at.
    fn on_disk(folder: &TempDir, size: Bytes) -> Self {
        Self::attach(image::create(folder.path(), size, 1, &mut |_| {}).unwrap(), None)
    }

    fn path(&self) -> &Path {
        self.device.path()
    }

    fn is_unchanged(&self) -> Option<String> {
        crate::caches::flush_device(self.device.file()).unwrap();
        let now = image::layout(self.image.file()).unwrap();
        image::difference(self.image.layout(), &now)
    }
}

fn build(
    kind: &str,
    stack: &Filesystem,
    data: &Scratch,
    journal: Option<&Scratch>,
) -> Result<Vec<String>> {
    let tokens = (&data.token, journal.map(|scratch| &scratch.token));
    make(
        &System::host(),
        filesystem(kind).unwrap(),
        stack,
        &Journal::internal(),
        tokens.0,
        tokens.1,
    )
}

/// Filesystems whose programs are installed; the others are counted as skipped.
fn with_programs(test: &str) -> Vec<&'static FilesystemDefinition> {
    let system = System::host();
    FILESYSTEMS
        .iter()
        .filter(|definition| !definition.is_raw())
        .filter(|definition| {
            let missing = definition.maker().filter(|name| system.program(name).is_none());
            if let Some(name) = missing {
                skip(&format!("{test}: {}", definition.name), &format!("{name} is not installed"));
            }
            missing.is_none()
        })
        .collect()
}

/// Large enough for the definition and its internal journal.
fn enough(definition: &FilesystemDefinition) -> Bytes {
    let journal = definition.journal.map_or(0, |own| own.default.0 * own.internal_divisor);
    Bytes(definition.minimum.0.max(journal).next_multiple_of(1 << 20))
}

#[test]
fn every_mkfs_makes_what_was_asked_without_touching_the_images_extents() {
    const TEST: &str = "every_mkfs_makes_what_was_asked";
    if !root() {
        return skip(TEST, "needs root to attach a loop device");
    }
    let system = System::host();
    for definition in with_programs(TEST) {
        let folder = tempfile::tempdir().unwrap();
        let data = Scratch::on_disk(&folder, enough(definition));
        let stack = plain(definition.name);
        let name = definition.name;
        build(name, &stack, &data, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(data.is_unchanged(), None, "{name}");

        let found = read_back(&system, definition, data.path(), None, None).unwrap();
        let journal = definition.journal.map(|own| own.default);
        assert_eq!(found.journal_bytes, journal, "{name}");
        let known =
            ["ext2", "ext3", "ext4", "ext4-nojournal", "xfs", "jfs", "reiserfs"].contains(&name);
        assert_eq!(found.block_bytes, known.then_some(4096), "{name}");

        if let Some(checked) =
            fsck(&system, definition, definition.fsck, data.path(), None).unwrap()
        {
            assert!(checked.clean, "{name}: {checked:?}");
        }
    }
}

#[test]
fn every_external_journal_has_the_size_of_the_internal_one() {
    const TEST: &str = "every_external_journal_has_the_size";
    if !root() {
        return skip(TEST, "needs root to attach a loop device");
    }
    let system = System::host();
    for definition in with_programs(TEST) {
        let Some(own) = definition.journal else { continue };
        let name = definition.name;
        let data = Scratch::in_ram(enough(definition));
        // The image is larger than the journal; the device shows just the journal's size.
        let image =
            image::create_in_ram(&system, Bytes(own.default.0 * 2), 2, &mut |_| {}).unwrap();
        let journal = Scratch::attach(image, Some(own.default));
        let stack = plain(name);
        build(name, &stack, &data, Some(&journal))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let found =
            read_back(&system, definition, data.path(), Some(journal.path()), None).unwrap();
        assert_eq!(
            (found.journal_bytes, found.block_bytes),
            (Some(own.default), Some(4096)),
            "{name}"
        );
        assert_eq!(data.is_unchanged(), None, "{name}");
        assert_eq!(journal.is_unchanged(), None, "{name}");
        let checked = fsck(&system, definition, definition.fsck, data.path(), Some(journal.path()))
            .unwrap()
            .unwrap();
        assert!(checked.clean, "{name}: {checked:?}");
        // A superblock that contradicts the stack is not believed.
        let without = read_back(&system, definition, data.path(), None, None).unwrap();
        assert_eq!(without.journal_bytes, None, "{name}");
    }
}

#[test]
fn what_this_kernel_mounts_holds_files_over_a_cold_remount() {
    const TEST: &str = "what_this_kernel_mounts_holds_files";
    if !root() {
        return skip(TEST, "needs root to mount");
    }
    let system = System::host();
    for definition in with_programs(TEST) {
        let name = definition.name;
        if !crate::facts::mounts(&system, definition.kernel_type.unwrap()) {
            skip(&format!("{TEST}: {name}"), "this kernel does not mount it");
            continue;
        }
        for external in [false, true] {
            if external && definition.journal.is_none() {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let data = Scratch::on_disk(&folder, enough(definition));
            let journal = external.then(|| Scratch::in_ram(definition.journal.unwrap().default));
            let stack = plain(name);
            let name = &format!("{name}, external: {external}");
            build(definition.name, &stack, &data, journal.as_ref())
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let journal_path = journal.as_ref().map(Scratch::path);
            let options =
                mount_options(definition, &stack, &Journal::internal(), journal_path).unwrap();
            with_own_mounts(|| {
                let point = folder.path().join("mnt");
                fs::create_dir(&point).unwrap();
                mount(definition, data.path(), &point, &options)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                for index in 0..200 {
                    fs::write(point.join(format!("file{index}")), vec![index as u8; 9000]).unwrap();
                }
                let found = read_back(&system, definition, data.path(), journal_path, Some(&point))
                    .unwrap();
                assert_eq!(found.block_bytes, Some(4096), "{name}");
                assert_eq!(
                    found.journal_bytes,
                    definition.journal.map(|own| own.default),
                    "{name}"
                );
                assert!(found.mount.unwrap().starts_with("rw,nosuid,nodev,relatime"), "{name}");
                remount_cold(definition, data.path(), &point, &options)
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
                for index in 0..200 {
                    let content = fs::read(point.join(format!("file{index}"))).unwrap();
                    assert!(content == vec![index as u8; 9000], "{name}: file{index}");
                    fs::remove_file(point.join(format!("file{index}"))).unwrap();
                }
                unmount(&point, TIMEOUT).unwrap_or_else(|error| panic!("{name}: {error}"));
            });
            let checked =
                fsck(&system, definition, definition.fsck, data.path(), journal_path).unwrap();
            assert!(checked.as_ref().is_none_or(|found| found.clean), "{name}: {checked:?}");
            assert_eq!(data.is_unchanged(), None, "{name}");
        }
    }
}

#[test]
fn a_discard_reaches_the_image_only_when_it_is_the_axis() {
    if !root() || System::host().program("mkfs.ext4").is_none() {
        return skip(
            "a_discard_reaches_the_image_only_when_it_is_the_axis",
            "needs root and mkfs.ext4",
        );
    }
    for kind in ["ext4", "xfs", "btrfs"] {
        if System::host().program(filesystem(kind).unwrap().mkfs[0]).is_none() {
            continue;
        }
        let data = Scratch::in_ram(enough(filesystem(kind).unwrap()));
        let mut stack = plain(kind);
        build(kind, &stack, &data, None).unwrap();
        assert_eq!(data.is_unchanged(), None, "{kind}");
        // Not even by the user's own arguments, because that would hide in a list of options.
        if kind == "ext4" {
            stack.mkfs = strings(&["-E", "discard"]);
            build(kind, &stack, &data, None).unwrap();
            assert_eq!(data.is_unchanged(), None, "{kind}");
            stack.mkfs.clear();
        }
        stack.discard = true;
        build(kind, &stack, &data, None).unwrap();
        assert!(data.is_unchanged().is_some(), "{kind}");
    }
}

#[test]
fn a_small_device_or_journal_is_said_before_mkfs_runs() {
    if !root() {
        return skip(
            "a_small_device_or_journal_is_said_before_mkfs_runs",
            "needs root to attach a loop device",
        );
    }
    let data = Scratch::in_ram(Bytes::mib(40));
    let journal = Scratch::in_ram(Bytes::mib(2));
    let said = |kind: &str, journal: Option<&Scratch>| {
        let error = build(kind, &plain(kind), &data, journal).unwrap_err().to_string();
        let named = error.replace(data.path().to_str().unwrap(), "DATA");
        let path = journal.map_or("-", |scratch| scratch.path().to_str().unwrap());
        named.replace(path, "JOURNAL")
    };
    insta::assert_snapshot!(said("xfs", None), @"DATA of 40MiB is too small for xfs; make it at least 300MiB");
    insta::assert_snapshot!(said("ext4", None), @"an internal journal of 64MiB is too large for ext4 on 40MiB; make the device at least 192MiB or the journal smaller");
    insta::assert_snapshot!(said("ext4", Some(&journal)), @"the journal device JOURNAL of 2MiB is too small for a journal of 64MiB");
    let larger = Scratch::in_ram(Bytes::mib(65));
    insta::assert_snapshot!(said("jfs", Some(&larger)), @"jfs fills its journal device JOURNAL of 65MiB, so its journal would not have the 64MiB of the other stacks; make the device that size");
}

#[test]
fn a_failing_mkfs_tells_its_command_line_and_what_it_said() {
    if !root() || System::host().program("mkfs.ext4").is_none() {
        return skip("a_failing_mkfs_tells_its_command_line", "needs root and mkfs.ext4");
    }
    let data = Scratch::in_ram(Bytes::mib(200));
    let mut stack = plain("ext4");
    stack.mkfs = strings(&["-O", "no_such_feature"]);
    let error = build("ext4", &stack, &data, None).unwrap_err().to_string();
    let error = error.replace(data.path().to_str().unwrap(), "DATA");
    insta::assert_snapshot!(error, @"'mkfs.ext4 -q -F -b 4096 -E lazy_itable_init=0,lazy_journal_init=0,nodiscard -J size=64 -O no_such_feature DATA' failed (exit status 1): Invalid filesystem option set: no_such_feature");
}

#[test]
fn a_missing_mkfs_names_its_package() {
    if !root() {
        return skip("a_missing_mkfs_names_its_package", "needs root to attach a loop device");
    }
    let data = Scratch::in_ram(Bytes::mib(200));
    let mut system = System::host();
    system.programs = vec!["/nowhere".into()];
    let definition = filesystem("btrfs").unwrap();
    let made = make(&system, definition, &plain("btrfs"), &Journal::internal(), &data.token, None);
    insta::assert_snapshot!(made.unwrap_err(), @"mkfs.btrfs is not installed; install it with: apt-get install btrfs-progs");
}

#[test]
fn nothing_is_made_on_a_device_that_came_into_use() {
    if !root() || System::host().program("mkfs.ext4").is_none() {
        return skip("nothing_is_made_on_a_device_that_came_into_use", "needs root and mkfs.ext4");
    }
    let data = Scratch::in_ram(Bytes::mib(200));
    let definition = filesystem("ext4").unwrap();
    build("ext4", &plain("ext4"), &data, None).unwrap();
    with_own_mounts(|| {
        let point = tempfile::tempdir().unwrap();
        mount(definition, data.path(), point.path(), &[]).unwrap();
        fs::write(point.path().join("precious"), "data").unwrap();
        let error = build("ext4", &plain("ext4"), &data, None).unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error}");
        assert_eq!(fs::read(point.path().join("precious")).unwrap(), b"data");
        unmount(point.path(), TIMEOUT).unwrap();
    });
    let checked =
        fsck(&System::host(), definition, definition.fsck, data.path(), None).unwrap().unwrap();
    assert!(checked.clean);
}

#[test]
fn the_kernel_says_why_it_does_not_mount() {
    if !root() || System::host().program("mkfs.ext4").is_none() {
        return skip("the_kernel_says_why_it_does_not_mount", "needs root and mkfs.ext4");
    }
    let data = Scratch::in_ram(Bytes::mib(200));
    build("ext4", &plain("ext4"), &data, None).unwrap();
    with_own_mounts(|| {
        let point = tempfile::tempdir().unwrap();
        let said = |kind: &str, options: &[&str]| {
            let definition = filesystem(kind).unwrap();
            let error =
                mount(definition, data.path(), point.path(), &strings(options)).unwrap_err();
            error.to_string().replace(data.path().to_str().unwrap(), "DATA")
        };
        insta::assert_snapshot!(said("ext4", &["no_such_option"]), @"cannot mount DATA as ext4: the kernel rejects the option 'no_such_option': ext4: Unknown parameter 'no_such_option'");
        insta::assert_snapshot!(said("xfs", &[]), @"cannot mount DATA as xfs: Invalid argument (os error 22); the kernel's log (dmesg) may say more");
        insta::assert_snapshot!(said("raw", &[]), @"raw is not mounted; use the device itself");
        if !crate::facts::mounts(&System::host(), "jfs") {
            insta::assert_snapshot!(said("jfs", &[]), @"cannot mount DATA as jfs: this kernel has no jfs; use a kernel with CONFIG_JFS_FS");
        }
    });
}

#[test]
fn attributes_options_and_words_of_fstab_are_each_given_where_they_belong() {
    if !root() || System::host().program("mkfs.ext4").is_none() {
        return skip("attributes_options_and_words_of_fstab", "needs root and mkfs.ext4");
    }
    let system = System::host();
    let data = Scratch::in_ram(Bytes::mib(200));
    let definition = filesystem("ext4").unwrap();
    build("ext4", &plain("ext4"), &data, None).unwrap();
    with_own_mounts(|| {
        let point = tempfile::tempdir().unwrap();
        let options =
            ["defaults", "ro", "noatime", "nodev", "commit=17", "nofail", "x-gvfs-hide", ""];
        mount(definition, data.path(), point.path(), &strings(&options)).unwrap();
        let found = read_back(&system, definition, data.path(), None, Some(point.path())).unwrap();
        let shown = found.mount.unwrap();
        for word in ["ro", "noatime", "nodev", "commit=17"] {
            assert!(shown.split(',').any(|option| option == word), "{word} in {shown}");
        }
        assert!(fs::write(point.path().join("x"), "").is_err());
        unmount(point.path(), TIMEOUT).unwrap();
        assert!(unmount(point.path(), TIMEOUT).is_err(), "it is mounted no more");
    });
}

#[test]
fn a_mount_in_use_is_waited_for_and_its_users_are_named() {
    if !root() || System::host().program("mkfs.ext4").is_none() {
        return skip("a_mount_in_use_is_waited_for", "needs root and mkfs.ext4");
    }
    let data = Scratch::in_ram(Bytes::mib(200));
    build("ext4", &plain("ext4"), &data, None).unwrap();
    with_own_mounts(|| {
        let point = tempfile::tempdir().unwrap();
        mount(filesystem("ext4").unwrap(), data.path(), point.path(), &[]).unwrap();
        let held = fs::File::create(point.path().join("held")).unwrap();
        let error = unmount(point.path(), Duration::from_millis(30)).unwrap_err();
        let own = format!("{} (", std::process::id());
        assert!(error.to_string().contains(&own), "{error}");
        // Let go while somebody waits.
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                drop(held);
            });
            unmount(point.path(), TIMEOUT).unwrap();
        });
    });
}

#[test]
fn a_damaged_filesystem_is_not_clean() {
    if !root() || System::host().program("mkfs.ext4").is_none() {
        return skip("a_damaged_filesystem_is_not_clean", "needs root and mkfs.ext4");
    }
    let data = Scratch::in_ram(Bytes::mib(200));
    build("ext4", &plain("ext4"), &data, None).unwrap();
    // The block bitmap and inode table of the first group, below the filesystem.
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    fallocate(data.image.file(), punch, 4096, 4 << 20).unwrap();
    crate::caches::drop_device_buffers(data.device.file()).unwrap();
    let checked = fsck(
        &System::host(),
        filesystem("ext4").unwrap(),
        filesystem("ext4").unwrap().fsck,
        data.path(),
        None,
    )
    .unwrap()
    .unwrap();
    assert!(!checked.clean);
    assert!(checked.command.starts_with("e2fsck -f -n /dev/loop"));
    assert!(!checked.output.is_empty());
    assert_eq!(
        fsck(
            &System::host(),
            filesystem("nilfs2").unwrap(),
            filesystem("nilfs2").unwrap().fsck,
            data.path(),
            None
        )
        .unwrap(),
        None
    );
}

#[test]
fn a_raw_device_is_made_by_nothing() {
    if !root() {
        return skip("a_raw_device_is_made_by_nothing", "needs root to attach a loop device");
    }
    let data = Scratch::in_ram(Bytes::mib(1));
    assert_eq!(build("raw", &plain("raw"), &data, None).unwrap(), [""; 0]);
    let found =
        read_back(&System::host(), filesystem("raw").unwrap(), data.path(), None, None).unwrap();
    assert_eq!(found, ReadBack::default());
}
