use super::*;

/// A tree in which `sda` has a partition and names itself.
fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let disk = root.path().join("sys/devices/sda");
    let part = disk.join("sda1");
    std::fs::create_dir_all(disk.join("device")).unwrap();
    std::fs::create_dir_all(&part).unwrap();
    let write = |path: PathBuf, text: &str| std::fs::write(path, text).unwrap();
    for (folder, number, size) in [(&disk, "8:0", "2000"), (&part, "8:1", "500")] {
        write(folder.join("dev"), number);
        write(folder.join("size"), size);
        write(folder.join("stat"), "0 0 0 0 0 0 0 0 0 0 0\n");
    }
    write(part.join("partition"), "1");
    write(part.join("start"), "100");
    write(disk.join("device/model"), "EXAMPLE 1  \n");
    write(disk.join("device/rev"), "B2\n");
    let class = root.path().join("sys/class/block");
    std::fs::create_dir_all(&class).unwrap();
    std::os::unix::fs::symlink(&disk, class.join("sda")).unwrap();
    std::os::unix::fs::symlink(&part, class.join("sda1")).unwrap();
    root
}

#[test]
fn a_disk_and_its_partition() {
    let root = machine();
    let disk = kernel_name(root.path(), Path::new("sda-none"));
    assert!(disk.is_err());
    let find = |name: &str| Watched::find(root.path(), Path::new(name));
    let Ok(disk) = find("sda") else {
        // A real /dev/sda of this machine goes before the bare name.
        return assert!(Path::new("/dev/sda").exists());
    };
    assert_eq!((disk.size_bytes, disk.sectors), (1_024_000, (0, 2000)));
    assert_eq!((disk.model.as_deref(), disk.firmware.as_deref()), (Some("EXAMPLE 1"), Some("B2")));
    let part = find("sda1").unwrap();
    assert_eq!(part.disk, DeviceNumber { major: 8, minor: 0 });
    assert_eq!(part.sectors, (100, 500));
    assert!(part.holds(100, 8) && part.holds(599, 1) && part.holds(0, 0));
    assert!(!part.holds(99, 1) && !part.holds(600, 8));
}

#[test]
fn what_is_no_block_device_is_refused_by_name() {
    let root = machine();
    for (name, expected) in [
        ("/dev/null", "'/dev/null' is not the kernel name of a block device"),
        ("nothere", "cannot find /dev/nothere"),
    ] {
        let message = Watched::find(root.path(), Path::new(name)).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
