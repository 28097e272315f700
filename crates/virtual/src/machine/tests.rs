use super::*;

fn root(keeping: Keeping) -> RootImage {
    let builder = crate::RootBuilder::new(&std::env::current_exe().unwrap()).unwrap();
    builder.build(keeping).unwrap()
}

#[test]
fn disks_are_named_by_position() {
    assert_eq!(device_path(0), Path::new("/dev/vda"));
    assert_eq!(device_path(25), Path::new("/dev/vdy"));
}

#[test]
fn the_command_line_depends_on_the_trial_alone() {
    let one = tempfile::tempdir().unwrap();
    let settings = Settings {
        seed: 9,
        memory_bytes: 64 << 20,
        charge: CpuCharge { syscall_ns: 300, copy_ns_per_kib: 40, ..CpuCharge::default() },
        ..Settings::new(one.path())
    };
    let root = root(settings.keeping());
    let disks = vec![
        DiskSetup::empty("data", Box::new(Instant::new(100)), &settings),
        DiskSetup::empty("journal", Box::new(Instant::new(100)), &settings),
    ];
    let kernel = Path::new("/any/where/linux");
    let trial = Trial { kernel, root: &root, disks, task: Task::Agent, input: &[], settings };
    let expected = "mem=65536K uml_dir=u umid=g con=null con0=null,fd:1 loglevel=5 norandmaps noreboot panic=-1 \
        init_on_alloc=1 uml_seed=9 tt_syscall_ns=300 tt_copy_ns_per_kib=40 time-travel=ext:1:t virtio_blk.queue_depths=256,256 \
        virtio_uml.device=d0:2 virtio_uml.device=d1:2 virtio_uml.device=d2:2 virtio_uml.device=d3:2 \
        root=/dev/vdc ro rootfstype=erofs init=/seekwell \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin HOME=/root LC_ALL=C TZ=UTC TMPDIR=/tmp -- guest";
    assert_eq!(arguments(&trial).join(" "), expected);
}

#[test]
fn too_many_disks_and_a_missing_kernel_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let settings = Settings::new(scratch.path());
    let root = root(settings.keeping());
    let trial = |count: usize| {
        let disk = |_| DiskSetup::empty("data", Box::new(Instant::new(8)), &settings);
        Trial {
            kernel: Path::new("/no/such/kernel"),
            root: &root,
            disks: (0..count).map(disk).collect(),
            task: Task::Agent,
            input: &[],
            settings: settings.clone(),
        }
    };
    let message = |count| run(trial(count), &mut |_| {}).unwrap_err().to_string();
    assert_eq!(message(25), "a trial has 25 disks, but a guest takes at most 24; use fewer");
    assert!(message(1).starts_with("cannot prepare the guest's directory: "), "{}", message(1));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "nothing is left behind");
}
