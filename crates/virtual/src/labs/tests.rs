use seekwell_device::catalogue as all_devices;

use super::*;

fn lab(rest: &str) -> Lab {
    let text = format!(
        "[lab]\nname = \"t\"\n{rest}\n[[filesystem]]\ntype = \"ext4\"\n[scheduler]\nchoose = [\"none\"]\n"
    );
    seekwell_spec::read_lab_bytes(text.as_bytes(), "t.toml").unwrap().lab
}

fn with_devices(devices: &str) -> Lab {
    let mail = "[[workload]]\nkind = \"mail\"\nfiles = 10\n[judge]\nmetric = \"unpack.elapsed\"\n";
    lab(&format!("{devices}\n{mail}"))
}

fn with_command(run: &str) -> Workload {
    let text = format!(
        "[[device]]\nmodel = \"fixed\"\n[[workload]]\nkind = \"command\"\nstep = \"own\"\nrun = \"{run}\"\n[judge]\nmetric = \"own.elapsed\"\n"
    );
    lab(&text).workloads.remove(0)
}

fn message(devices: &str) -> String {
    check(&with_devices(devices), &all_devices().unwrap()).unwrap_err().to_string()
}

fn kernel(set: KernelSet) -> Kernel {
    Kernel {
        id: "0".repeat(16),
        version: "6.12".to_owned(),
        set,
        source: String::new(),
        recipe: String::new(),
        path: "/linux".into(),
    }
}

#[test]
fn devices_that_are_no_models_are_named_with_the_mend() {
    assert_eq!(
        message("[[device]]\nname = \"scratch\"\nloop = \"1GiB\""),
        "scratch is a device of the host, and the virtual backend needs a modelled one; write model = \"NAME\" into the lab, or run it with --model NAME (seekwell device list)"
    );
    assert_eq!(
        message("[[device]]\nname = \"d\"\nmodel = \"none-such\""),
        "d names the modelled device 'none-such', which does not exist; list the models with: seekwell device list"
    );
    assert_eq!(
        message("[[device]]\nname = \"d\"\nmodel = { name = \"maxtor-6y080l0\", size = \"1TiB\" }"),
        "d has a size of 1 TiB, but its model 'maxtor-6y080l0' has only 80,044,236 KiB; write a [[device]] with a smaller size, or with a model and no size (a lab without a device has one of 1GiB)"
            .replace("80,044,236 KiB", &Bytes(160_086_528 * 512).to_string())
            .replace("1 TiB", &Bytes::gib(1024).to_string())
    );
    let good = "[[device]]\nmodel = { name = \"cf-transcend-133x@usb2-reader\", size = \"1GiB\" }";
    check(&with_devices(good), &all_devices().unwrap()).unwrap();
}

#[test]
fn a_model_takes_the_place_of_every_device() {
    let mut lab = with_devices(
        "[[device]]\nname = \"one\"\nloop = \"1GiB\"\n[[device]]\nname = \"same\"\nloop = { size = \"1GiB\", sector = 4096 }\n[[device]]\nname = \"memory\"\nram = \"1GiB\"\n[[journal]]\nname = \"outside\"\nloop = \"128MiB\"",
    );
    use_model(&mut lab, "maxtor-6y080l0");
    let model =
        |name: &str, size| Backing::Model { model: name.to_owned(), size: Some(size), start: None };
    let found: Vec<_> =
        lab.devices.iter().map(|device| (device.name.as_str(), device.backing.clone())).collect();
    let gib = Bytes::gib(1);
    assert_eq!(found, [("one", model("maxtor-6y080l0", gib)), ("memory", model("ram", gib))]);
    assert_eq!(lab.journals[0].external, Some(model("maxtor-6y080l0", Bytes::mib(128))));
    check(&lab, &all_devices().unwrap()).unwrap();
}

#[test]
fn several_models_become_an_axis() {
    let models = ["maxtor-6y080l0".to_owned(), "ssd-sata-250gb".to_owned()];
    let mut lab = with_devices(
        "[[device]]\nname = \"one\"\nloop = \"1GiB\"\n[[device]]\nname = \"memory\"\nram = \"1GiB\"",
    );
    use_models(&mut lab, &models).unwrap();
    let names =
        |lab: &Lab| lab.devices.iter().map(|device| device.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&lab), ["maxtor-6y080l0", "ssd-sata-250gb", "memory"]);
    let size = Some(Bytes::gib(1));
    assert_eq!(
        lab.devices[1].backing,
        Backing::Model { model: "ssd-sata-250gb".to_owned(), size, start: None }
    );
    check(&lab, &all_devices().unwrap()).unwrap();

    let mut two = with_devices(
        "[[device]]\nname = \"small\"\nloop = \"1GiB\"\n[[device]]\nname = \"large\"\nloop = \"2GiB\"",
    );
    use_models(&mut two, &models[..1]).unwrap();
    assert_eq!(names(&two), ["maxtor-6y080l0-small", "maxtor-6y080l0-large"]);

    // RAM as the only device is what the lab asks about.
    let alone = "[[device]]\nname = \"fast\"\nram = \"1GiB\"";
    let mut lab = with_devices(alone);
    use_models(&mut lab, &models).unwrap();
    assert_eq!(names(&lab), models);
    let mut lab = with_devices(alone);
    use_model(&mut lab, "none-such");
    let error = check(&lab, &all_devices().unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("fast names the modelled device 'none-such'"), "{error}");

    let outside = "[[device]]\nname = \"one\"\nloop = \"1GiB\"\n[[journal]]\nname = \"outside\"\nloop = \"128MiB\"";
    let error = use_models(&mut with_devices(outside), &models).unwrap_err().to_string();
    assert!(error.starts_with("the journal outside has a device of its own"), "{error}");
}

#[test]
fn a_kernel_is_chosen_that_has_the_filesystems_of_the_lab() {
    let mut lab = with_devices("[[device]]\nmodel = \"maxtor-6y080l0\"");
    let sets = [KernelSet::Reduced, KernelSet::Full, KernelSet::Layers];
    assert_eq!(sets.map(|set| has_all(set, &lab)), [true; 3]);
    lab.filesystems[0].kind = "f2fs".to_owned();
    assert_eq!(sets.map(|set| has_all(set, &lab)), [false, true, true]);
}

#[test]
fn the_place_offers_what_kernel_and_programs_give() {
    let lab = with_devices("[[device]]\nmodel = \"maxtor-6y080l0\"");
    let devices = all_devices().unwrap();
    let of = |set| facts(&lab, &kernel(set), &devices, &|name| name != "mkfs.jfs");
    let full = of(KernelSet::Full);
    assert_eq!(full.schedulers, ["none", "mq-deadline", "kyber", "bfq"]);
    for kind in ["ext2", "f2fs", "jfs", "reiserfs", "nilfs2", "bcachefs", "exfat"] {
        assert!(full.kernel_filesystems.iter().any(|name| name == kind), "{kind}");
    }
    assert!(full.programs.iter().any(|name| name == "mkfs.xfs"));
    assert!(!full.programs.iter().any(|name| name == "mkfs.jfs" || name == "sh"));
    assert_eq!(full.disk_sizes, [("maxtor-6y080l0".to_owned(), Bytes(160_086_528 * 512))]);
    let reduced = ["ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs"];
    assert_eq!(of(KernelSet::Reduced).kernel_filesystems, reduced);
    assert!(!full.kernel_filesystems.iter().any(|name| name == NFS_SERVER));
    assert!(of(KernelSet::Layers).kernel_filesystems.iter().any(|name| name == NFS_SERVER));
}

#[test]
fn a_command_needs_its_program_in_the_guest() {
    let why = |run: &str, brought: &str| cannot_run(&with_command(run), &|name| name == brought);
    for run in
        ["tar xf x", "cd {dir} && ls", "LC_ALL=C /bin/cat {dir}/x", "for i in 1 2; do :; done"]
    {
        assert_eq!(why(run, ""), None, "{run}");
    }
    let (reason, remedy) = why("sqlite3 {dir}/x.db", "").unwrap();
    assert_eq!(reason, "sqlite3 is not in the guest's root image");
    assert_eq!(remedy, "bring it with --bring \"$(command -v sqlite3)\"");
    assert_eq!(why("/usr/bin/sqlite3 {dir}/x.db", "sqlite3"), None);
    let (_, remedy) = why("psql -c select", "").unwrap();
    assert_eq!(remedy, "a guest has no network and no services; run it on the host backend");
    let mail = &with_devices("[[device]]\nmodel = \"fixed\"").workloads[0];
    assert_eq!(cannot_run(mail, &|_| false), None);
}

#[test]
fn models_that_miss_published_figures_are_named_and_those_that_do_not_are_not() {
    let devices = all_devices().unwrap();
    let compared = |device: &str| {
        let lab = with_devices(&format!("[[device]]\nmodel = \"{device}\""));
        compare_with_published(&lab, &devices)
    };
    let card = compared("cf-duracell-300x");
    let [sentence] = &card.misses[..] else { panic!("{:?}", card.misses) };
    assert!(
        sentence.starts_with(
            "the model cf-duracell-300x misses 1 of 2 published figures by more than 10 %"
        ),
        "{sentence}"
    );
    assert_eq!(card.errors.keys().collect::<Vec<_>>(), ["cf-duracell-300x"]);
    let disk = compared("wd-raptor-wd740gd");
    assert_eq!((disk.misses, disk.errors.len()), (Vec::new(), 1));
    let stick = compared("usb2-stick-128mb");
    assert!(stick.misses[0].starts_with("the model usb2-stick-128mb has no published figures"));
    assert_eq!(compared("fixed"), Checked::default());
}
