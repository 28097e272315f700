use super::*;
use crate::fixture::Machine;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn program(machine: &Machine, name: &str, script: &str) {
    machine.write(&format!("bin/{name}"), &format!("#!/bin/sh\n{script}"));
    let path = machine.path(&format!("bin/{name}"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Two loop devices, a kernel with modules, a few programs.
fn machine() -> Machine {
    let mut machine = Machine::new();
    machine.disk("loop0", "7:0", 8192);
    machine.attribute("loop0", "queue/scheduler", "[none] mq-deadline");
    machine.attribute("sda", "queue/scheduler", "none [bfq]");
    machine.write("proc/sys/kernel/osrelease", "6.1.0-test");
    machine.write(
        "modules/6.1.0-test/modules.alias",
        "# aliases\nalias fs-xfs xfs\nalias bfq-iosched bfq\nalias kyber-iosched kyber_iosched",
    );
    machine.write("proc/filesystems", "nodev\ttmpfs\n\text4\n\text3");
    machine
        .write("proc/meminfo", "MemTotal: 1024 kB\nSwapTotal: 0 kB\nDirty: 8 kB\nWriteback: 0 kB");
    for name in ["mkfs.ext4", "mke2fs", "e2fsck", "mkfs.xfs"] {
        program(&machine, name, "echo $0 version 1.0");
    }
    machine
}

#[test]
fn the_disk_below_a_folder_is_found_through_partitions_layers_and_loops() {
    let mut machine = machine();
    let folder = |machine: &Machine, name: &str| {
        let path = machine.path(name);
        fs::create_dir_all(&path).unwrap();
        fs::canonicalize(path).unwrap()
    };
    let below = |machine: &Machine, path: &Path| disk_below(&machine.system(), path);
    let (root, inner) = (folder(&machine, "a"), folder(&machine, "a/b"));
    let sda = Some(machine.system().dev.join("sda"));
    assert_eq!(below(&machine, &inner), sda);
    // A volume over a disk, and in it an image that is mounted in turn.
    machine.disk("sdb", "8:16", 8192);
    machine.disk("dm-0", "252:0", 8192);
    machine.stack("dm-0", "sdb");
    machine.mount("thread-self", "252:0", root.to_str().unwrap(), "xfs", "/dev/mapper/v");
    let sdb = Some(machine.system().dev.join("sdb"));
    assert_eq!(below(&machine, &inner), sdb);
    fs::write(root.join("image"), "").unwrap();
    machine.attribute("loop0", "loop/backing_file", root.join("image").to_str().unwrap());
    machine.mount("thread-self", "7:0", inner.to_str().unwrap(), "ext4", "/dev/loop0");
    assert_eq!(below(&machine, &inner), sdb);
    machine.mount("thread-self", "0:40", inner.to_str().unwrap(), "tmpfs", "tmpfs");
    assert_eq!(below(&machine, &inner), None);
}

#[test]
fn a_plan_gets_what_the_machine_has_and_nothing_invented() {
    let machine = machine();
    let disk = machine.path("dev/sda1");
    let missing = machine.path("dev/sdz");
    let facts = gather(&machine.system(), &[disk.clone(), missing]);
    assert_eq!(
        facts,
        BackendFacts {
            schedulers: ["none", "mq-deadline", "kyber", "bfq"].map(str::to_owned).to_vec(),
            kernel_filesystems: ["ext3", "ext4", "xfs", "tmpfs"].map(str::to_owned).to_vec(),
            read_only_filesystems: vec![],
            nfs_lacks: [
                "NFS client (CONFIG_NFS_FS)",
                "NFS server (CONFIG_NFSD)",
                "delay of a link (CONFIG_NET_SCH_NETEM)",
                "network namespace (CONFIG_NET_NS)",
            ]
            .map(str::to_owned)
            .to_vec(),
            programs: ["e2fsck", "mke2fs", "mkfs.ext4", "mkfs.xfs"].map(str::to_owned).to_vec(),
            layers: vec![],
            lab_kernel: None,
            ram: Some(Bytes::kib(1024)),
            disk_sizes: vec![(disk.display().to_string(), Bytes(100_000 * 512))],
        }
    );
}

#[test]
fn a_server_behind_a_link_needs_four_parts_of_the_kernel() {
    let machine = machine();
    machine.write("proc/filesystems", "nodev\tnfs\n\text4");
    machine.write("proc/self/ns/net", "");
    machine.write("modules/6.1.0-test/modules.alias", "alias fs-nfsd nfsd");
    let modules = "kernel/net/sched/sch_netem.ko.xz: kernel/net/sched/sch_tbf.ko.xz";
    machine.write("modules/6.1.0-test/modules.dep", modules);
    let facts = gather(&machine.system(), &[]);
    assert_eq!(facts.nfs_lacks, [""; 0]);
    assert!(facts.kernel_filesystems.iter().any(|name| name == NFS_SERVER));
    machine.write("modules/6.1.0-test/modules.dep", "kernel/net/sched/sch_tbf.ko.xz:");
    let facts = gather(&machine.system(), &[]);
    assert_eq!(facts.nfs_lacks, ["delay of a link (CONFIG_NET_SCH_NETEM)"]);
    assert!(!facts.kernel_filesystems.iter().any(|name| name == NFS_SERVER));
}

#[test]
fn a_driver_that_only_reads_is_known_from_the_configuration_of_the_kernel() {
    let machine = machine();
    machine.write("proc/filesystems", "\text4\n\tufs");
    let facts = || gather(&machine.system(), &[]);
    let read_only = || facts().read_only_filesystems;
    assert_eq!(read_only(), [""; 0], "nothing is known");
    let folders = ["boot/config-6.1.0-test", "modules/6.1.0-test/config"];
    for (file, other) in [(folders[0], folders[1]), (folders[1], folders[0])] {
        machine.write(file, "CONFIG_UFS_FS=m\n# CONFIG_UFS_FS_WRITE is not set");
        assert_eq!(read_only(), ["ufs"], "{file}");
        machine.write(file, "CONFIG_UFS_FS=m\nCONFIG_UFS_FS_WRITE=y");
        assert_eq!(read_only(), [""; 0], "{file}");
        fs::remove_file(machine.path(file)).unwrap();
        assert!(!machine.path(other).exists());
    }
    assert!(facts().kernel_filesystems.contains(&"ufs".to_owned()));
}

#[test]
fn layers_are_those_that_the_kernel_has_or_would_load() {
    let machine = machine();
    let modules = |text: &str| machine.write("modules/6.1.0-test/modules.dep", text);
    let layers = || gather(&machine.system(), &[]).layers;
    modules(
        "kernel/drivers/md/raid456.ko.xz: kernel/crypto/xor.ko.xz\nkernel/drivers/md/dm-crypt.ko:",
    );
    assert_eq!(layers(), ["raid5", "raid6", "crypt"]);
    // The kernel numbers these itself: nothing would name those of a killed run.
    modules("kernel/drivers/md/bcache/bcache.ko:");
    assert_eq!(layers(), [""; 0]);
    machine.write("modules/6.1.0-test/modules.builtin", "kernel/drivers/md/raid1.ko");
    machine.write("sys/module/dm_mod/version", "1");
    assert_eq!(layers(), ["raid1", "linear", "striped"]);
}

#[test]
fn a_machine_that_tells_nothing_gives_nothing() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(gather(&System::rooted_at(folder.path()), &[]), BackendFacts::default());
}

#[test]
fn the_environment_names_kernel_cpu_memory_and_versions() {
    let machine = machine();
    machine.write("proc/sys/kernel/version", "#1 SMP");
    machine.write(
        "proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Test CPU 3000\nprocessor\t: 1\nmodel name\t: Other",
    );
    machine.write("sys/devices/system/cpu/online", "0-1");
    for cpu in ["cpu0", "cpu1"] {
        machine
            .write(&format!("sys/devices/system/cpu/{cpu}/cpufreq/scaling_governor"), "powersave");
    }
    program(&machine, "mkfs.xfs", "echo mkfs.xfs version 6.1.0 >&2; exit 1");
    program(&machine, "hdparm", "echo no number here");
    program(&machine, "postgres", "echo 'postgres (PostgreSQL) 15.18'");
    program(&machine, "db_bench", "echo db_bench version 7.8.3");
    let mut found = environment(&machine.system());
    assert!(found.programs.remove("mke2fs").unwrap().ends_with("bin/mke2fs version 1.0"));
    found.distribution = None;
    assert_eq!(
        found,
        Environment {
            kernel_release: Some("6.1.0-test".into()),
            kernel_version: Some("#1 SMP".into()),
            cpu_model: Some("Test CPU 3000".into()),
            cpus_online: Some("0-1".into()),
            cpu_governors: vec!["powersave".into()],
            ram: Some(Bytes::kib(1024)),
            swap: Some(Bytes(0)),
            memory_cgroup: None,
            distribution: None,
            programs: BTreeMap::from([
                ("db_bench".into(), "db_bench version 7.8.3".into()),
                ("mkfs.xfs".into(), "mkfs.xfs version 6.1.0".into()),
                ("postgres".into(), "postgres (PostgreSQL) 15.18".into()),
            ]),
        }
    );
}

#[test]
fn every_finding_that_is_not_ready_says_what_to_do() {
    let machine = machine();
    std::fs::remove_file(machine.path("bin/wipefs")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let found = findings(&machine.system(), folder.path());
    let lines: Vec<String> = found
        .iter()
        // These ask the kernel of this machine and not the fake one.
        .filter(|finding| !["root", "scratch images", "io_uring"].contains(&finding.what.as_str()))
        .map(|finding| {
            let remedy =
                finding.remedy.as_deref().map_or_else(String::new, |text| format!(" -> {text}"));
            let detail = finding.detail.replace(machine.root.path().to_str().unwrap(), "");
            format!("{:?} {}: {detail}{remedy}", finding.state, finding.what)
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(found.iter().all(|finding| finding.state == State::Ready || finding.remedy.is_some()));
}

#[test]
fn an_io_uring_and_a_scratch_folder_are_asked_of_the_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let found = findings(&System::host(), folder.path());
    let state = |what: &str| found.iter().find(|finding| finding.what == what).unwrap();
    assert_ne!(state("scratch images").state, State::Missing, "{:?}", state("scratch images"));
    assert!(!state("io_uring").detail.is_empty());
    let nowhere = findings(&System::host(), Path::new("/no/such/folder"));
    let images = nowhere.iter().find(|finding| finding.what == "scratch images").unwrap();
    assert_eq!(images.state, State::Missing);
}
