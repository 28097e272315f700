use super::*;
use seekwell_spec::read_lab;

/// A machine without devices.
fn machine(root: &Path) -> Machine {
    Machine {
        system: System::rooted_at(root),
        program: PathBuf::new(),
        state: root.join("state"),
        kernels: None,
        folders: Vec::new(),
        temporary: root.to_owned(),
    }
}

fn lab() -> Lab {
    let text = "[lab]\nname = \"t\"\n[[device]]\nname = \"a\"\nloop = \"1GiB\"\n\
                [[device]]\nname = \"b\"\nram = \"64MiB\"\n[[filesystem]]\ntype = \"ext4\"\n\
                [[journal]]\nname = \"out\"\nram = \"32MiB\"\n\
                [[workload]]\nkind = \"mail\"\n[judge]\nmetric = \"unpack.elapsed\"\n";
    read_lab(text, "t.toml").unwrap()
}

#[test]
fn one_device_replaces_all_and_equal_ones_stay_once() {
    let mut lab = lab();
    let device = backing("ram:128MiB").unwrap();
    let journal = backing("/dev/disk/by-id/x-part1").unwrap();
    use_device(&mut lab, &device, Some(&journal)).unwrap();
    assert_eq!(lab.devices.len(), 1);
    assert_eq!(lab.devices[0].backing, device);
    let external: Vec<_> = lab.journals.iter().filter_map(|one| one.external.as_ref()).collect();
    assert_eq!(external, [&Backing::Partition { path: "/dev/disk/by-id/x-part1".into() }]);
}

#[test]
fn an_external_journal_needs_a_device_of_its_own() {
    let error = use_device(&mut lab(), &backing("ram:128MiB").unwrap(), None).unwrap_err();
    assert!(error.to_string().contains("give --journal-device"), "{error}");
}

#[test]
fn what_is_no_device_is_refused_in_words() {
    assert!(backing("sdb").unwrap_err().to_string().starts_with("'sdb' is not a device"));
    assert!(backing("loop:big").unwrap_err().to_string().contains("has no size"));
    assert_eq!(backing("/dev/sdb").unwrap(), Backing::Disk { path: "/dev/sdb".into() });
}

#[test]
fn a_lab_that_cuts_the_power_is_refused_in_words() {
    let mut host = Host {
        machine: machine(Path::new("/nonexistent")),
        options: Options::of("host"),
        device: None,
        journal: None,
    };
    let mut lab = lab();
    host.adapt(&mut lab, Path::new("")).unwrap();
    lab.trial.power_cut = 100;
    let error = host.adapt(&mut lab, Path::new("")).unwrap_err();
    assert_eq!(error.kind(), crate::error::Kind::Failed);
    assert_eq!(
        error.to_string(),
        "[trial] power_cut = 100: the host backend cannot cut the power of a disk; run the lab with \
         --place virtual, or leave power_cut out"
    );
}

#[test]
fn a_disk_that_another_run_uses_is_not_the_users_to_unmount() {
    let folder = tempfile::tempdir().unwrap();
    let machine = Machine { system: System::host(), ..machine(folder.path()) };
    let undo = machine.undo();
    let held = undo::lock(&machine.system, &undo).unwrap().unwrap();
    let host = Host { machine, options: Options::of("host"), device: None, journal: None };
    let refused = |reason: String| {
        let target = PathBuf::from("/dev/sdb");
        let remedy = "umount it".to_owned();
        let refusal = Refusal { target, kind: RefusalKind::Mounted, reason, remedy };
        host.by_other_run(SessionError::Refused(refusal))
    };
    let ours =
        || refused(format!("sdb is mounted on {}/mnt/base (seen by process 1)", undo.display()));
    let error = ours();
    assert!(matches!(error, SessionError::OtherRun { .. }), "{error}");
    assert!(error.to_string().starts_with("another run uses /dev/sdb: process "), "{error}");
    assert_eq!(error.kind(), crate::error::Kind::Refused);
    let theirs = refused("sdb is mounted on /home (seen by process 1)".to_owned());
    assert!(matches!(theirs, SessionError::Refused(_)), "{theirs}");
    drop(held);
    let is_free = || matches!(ours(), SessionError::Refused(_));
    assert!(seekwell_testing::soon(is_free), "no run is active");
}
