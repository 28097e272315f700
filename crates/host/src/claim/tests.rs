use super::*;
use crate::claims::list;
use crate::fixture::Machine;
use crate::refusal::RefusalKind;

fn machine(serial: &str) -> Machine {
    let mut machine = Machine::new();
    machine.disk("sdb", "8:16", 4096);
    machine.partition("sdb", "sdb1", "8:17", 64, 1024);
    machine.attribute("sdb", "device/model", "Scratch 1000");
    machine.attribute("sdb", "device/serial", serial);
    machine
}

fn card(machine: &Machine, name: &str) -> ClaimCard {
    describe(&machine.system(), &machine.path("dev").join(name), None).unwrap()
}

fn try_to(machine: &Machine, name: &str, typed: &str) -> Result<Claim> {
    confirm(&machine.system(), &machine.path("claims"), &card(machine, name), typed)
}

fn is_claimed(machine: &Machine, name: &str) -> bool {
    let (system, claims) = (machine.system(), machine.path("claims"));
    lookup(&system, &claims, &machine.path("dev").join(name)).unwrap().is_some()
}

#[test]
fn the_end_of_the_serial_number_must_be_typed() {
    let machine = machine("WD-ABC123456");
    assert_eq!(card(&machine, "sdb").question(), "the last 4 characters of its serial number");
    for wrong in ["", "456", "yes", "4096", "ABC1", "3457"] {
        let error = try_to(&machine, "sdb", wrong).unwrap_err().to_string();
        assert!(error.ends_with("nothing was claimed"), "{wrong}: {error}");
        assert!(!is_claimed(&machine, "sdb"));
    }
    for right in ["3456", " c123456\n", "WD-ABC123456"] {
        try_to(&machine, "sdb", right).unwrap();
        assert!(is_claimed(&machine, "sdb"), "{right}");
        release(&machine.system(), &machine.path("claims"), &machine.path("dev/sdb")).unwrap();
        assert!(!is_claimed(&machine, "sdb"));
    }
}

#[test]
fn a_short_serial_number_must_be_typed_in_full() {
    let machine = machine("X7");
    assert!(try_to(&machine, "sdb", "7").is_err());
    try_to(&machine, "sdb", "x7").unwrap();
}

#[test]
fn without_a_serial_number_the_size_in_sectors_must_be_typed() {
    for serial in ["", "00000000", "   "] {
        let machine = machine(serial);
        let shown = card(&machine, "sdb");
        assert!(shown.question().starts_with("its size in sectors"), "{serial:?}");
        for wrong in ["", "0000", "4095", "yes"] {
            assert!(try_to(&machine, "sdb", wrong).is_err(), "{serial:?} {wrong}");
        }
        try_to(&machine, "sdb", "4096").unwrap();
        assert!(is_claimed(&machine, "sdb"));
    }
}

#[test]
fn a_claim_follows_its_disk_and_not_the_name() {
    let machine = machine("WD-ABC123456");
    try_to(&machine, "sdb", "3456").unwrap();
    // The same disk, plugged in again.
    machine.diskseq("sdb", 99);
    machine.attribute("sdb", "diskseq", "99");
    machine.write("proc/sys/kernel/random/boot_id", "boot-2");
    assert!(is_claimed(&machine, "sdb"));
    // Another disk under the old name.
    machine.attribute("sdb", "device/serial", "WD-ABC999999");
    assert!(!is_claimed(&machine, "sdb"));
    // The old serial number with another size: a cheap clone of it.
    machine.attribute("sdb", "device/serial", "WD-ABC123456");
    machine.attribute("sdb", "size", "8192");
    assert!(!is_claimed(&machine, "sdb"));
}

#[test]
fn without_a_serial_number_a_claim_ends_with_the_boot_and_the_plug() {
    let machine = machine("");
    try_to(&machine, "sdb", "4096").unwrap();
    machine.write("proc/sys/kernel/random/boot_id", "boot-2");
    assert!(!is_claimed(&machine, "sdb"));
    machine.write("proc/sys/kernel/random/boot_id", "boot-1");
    assert!(is_claimed(&machine, "sdb"));
    machine.attribute("sdb", "diskseq", "8");
    assert!(!is_claimed(&machine, "sdb"));
}

#[test]
fn a_claim_on_a_disk_is_none_on_its_partition_and_the_other_way_round() {
    let machine = machine("WD-ABC123456");
    try_to(&machine, "sdb", "3456").unwrap();
    assert!(is_claimed(&machine, "sdb") && !is_claimed(&machine, "sdb1"));
    try_to(&machine, "sdb1", "3456").unwrap();
    release(&machine.system(), &machine.path("claims"), &machine.path("dev/sdb")).unwrap();
    assert!(is_claimed(&machine, "sdb1") && !is_claimed(&machine, "sdb"));
    // The partition was moved: other data is there now.
    machine.attribute("sdb1", "start", "128");
    assert!(!is_claimed(&machine, "sdb1"));
}

#[test]
fn what_the_guard_refuses_cannot_be_claimed() {
    let mut machine = machine("WD-ABC123456");
    machine.mount("1", "8:17", "/home/me", "ext4", "/dev/sdb1");
    machine.swap("/dev/sdb");
    let shown = card(&machine, "sdb");
    assert_eq!(shown.refusal.as_ref().map(|refusal| refusal.kind), Some(RefusalKind::Swap));
    assert_eq!(shown.mounts, ["sdb1 on /home/me"]);
    let error = confirm(&machine.system(), &machine.path("claims"), &shown, "3456").unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    assert!(!machine.path("claims").exists());
}

#[test]
fn a_disk_that_is_mounted_or_exchanged_after_the_card_was_shown_is_not_claimed() {
    let mut machine = machine("WD-ABC123456");
    let shown = card(&machine, "sdb");
    machine.attribute("sdb", "device/model", "Precious 1000");
    let confirmed = confirm(&machine.system(), &machine.path("claims"), &shown, "3456");
    assert!(confirmed.unwrap_err().to_string().contains("Precious 1000"));
    machine.attribute("sdb", "device/model", "Scratch 1000");
    machine.mount("1", "8:17", "/home/me", "ext4", "/dev/sdb1");
    let confirmed = confirm(&machine.system(), &machine.path("claims"), &shown, "3456");
    assert!(matches!(confirmed.unwrap_err(), Error::Refused(_)));
}

#[test]
fn a_claim_that_cannot_be_read_is_an_error() {
    let machine = machine("WD-ABC123456");
    machine.write("claims/broken.json", "{");
    machine.write("claims/notes.txt", "no claim");
    let error = list(&machine.path("claims")).unwrap_err();
    assert!(error.to_string().contains("remove the file and claim the device again"), "{error}");
    assert_eq!(list(&machine.path("nowhere")).unwrap(), []);
}

#[test]
fn the_card_shows_what_is_on_the_device_and_where_it_stays() {
    let machine = machine("WD-ABC123456");
    seekwell_testing::program(
        &machine.path("bin/wipefs"),
        "#!/bin/sh\ncase $5 in */sdb1) printf '# TYPE,LABEL\\next4,photos\\n';; esac",
    );
    fs::create_dir_all(machine.path("dev/disk/by-id")).unwrap();
    let link = machine.path("dev/disk/by-id/ata-Scratch");
    std::os::unix::fs::symlink(machine.path("dev/sdb"), &link).unwrap();
    let shown = card(&machine, "sdb");
    assert_eq!(shown.signatures, ["sdb1: ext4 photos"]);
    assert_eq!(shown.stable_path, Some(link.clone()));
    assert_eq!(try_to(&machine, "sdb", "3456").unwrap().path, link);
}

/// wipefs that shows what the test has put into a file.
fn show_signatures(machine: &Machine, text: &str) {
    machine.write("shown", text);
    let script = format!("#!/bin/sh\n/bin/cat {}", machine.path("shown").display());
    seekwell_testing::program(&machine.path("bin/wipefs"), &script);
}

fn may_be_written(machine: &Machine) -> std::result::Result<(), Refusal> {
    let context = Context { claims: machine.path("claims"), run_file: None };
    guard::check(&machine.system(), &machine.path("dev/sdb"), Purpose::Write, &context).map(drop)
}

#[test]
fn a_claimed_disk_that_a_person_has_put_to_use_again_is_refused() {
    let machine = machine("WD-ABC123456");
    show_signatures(&machine, "# offset,type,uuid\n0x438,ext4,old");
    try_to(&machine, "sdb", "3456").unwrap();
    may_be_written(&machine).unwrap();
    show_signatures(&machine, "# offset,type,uuid\n0x0,xfs,photos");
    let refusal = may_be_written(&machine).unwrap_err();
    assert_eq!(refusal.kind, RefusalKind::Changed);
    assert!(refusal.reason.contains("xfs,photos"), "{refusal}");
    // Claimed again with open eyes, it may be written.
    try_to(&machine, "sdb", "3456").unwrap();
    may_be_written(&machine).unwrap();
}

#[test]
fn what_a_trial_left_is_known_and_what_came_later_is_not() {
    let machine = machine("WD-ABC123456");
    let (system, claims) = (machine.system(), machine.path("claims"));
    show_signatures(&machine, "0x438,ext4,old");
    try_to(&machine, "sdb", "3456").unwrap();
    let context = Context { claims: claims.clone(), run_file: None };
    let verified =
        guard::check(&system, &machine.path("dev/sdb"), Purpose::Write, &context).unwrap();
    let token = verified.permit().unwrap();
    // In the middle of a trial anything may be on it.
    show_signatures(&machine, "0x0,xfs,of-the-trial");
    token.recheck().unwrap();
    note_content(&system, &claims, &machine.path("dev/sdb")).unwrap();
    may_be_written(&machine).unwrap();
    show_signatures(&machine, "0x0,xfs,photos");
    assert_eq!(may_be_written(&machine).unwrap_err().kind, RefusalKind::Changed);
}

const STAT: &str = "1 0 8 0 5 0 40 0 0 0 0 0 0 0 0 0 0";
const WRITTEN_STAT: &str = "1 0 8 0 6 0 48 0 0 0 0 0 0 0 0 0 0";

/// A claimed disk whose writes the kernel counts, with a filesystem and a partition table.
fn claimed() -> Machine {
    let machine = machine("WD-ABC123456");
    machine.attribute("sdb", "queue/iostats", "1");
    machine.attribute("sdb", "stat", STAT);
    machine.put("sdb", 0x438, b"\x53\xef");
    machine.put("sdb", 510, b"\x55\xaa");
    show_signatures(&machine, "0x438,ext4,old");
    try_to(&machine, "sdb", "3456").unwrap();
    machine
}

/// A trial that erases both and leaves a filesystem of its own.
fn trial(machine: &Machine) {
    let (system, claims) = (machine.system(), machine.path("claims"));
    let context = Context { claims: claims.clone(), run_file: None };
    let checked = guard::check(&system, &machine.path("dev/sdb"), Purpose::Write, &context);
    checked.unwrap().permit().unwrap();
    machine.put("sdb", 0, &[b'X'; 4096]);
    show_signatures(machine, "0x0,xfs,of-the-trial");
    note_content(&system, &claims, &machine.path("dev/sdb")).unwrap();
}

fn restore(machine: &Machine) -> Contents {
    let (system, claims) = (machine.system(), machine.path("claims"));
    let contents = release_and_restore(&system, &claims, &machine.path("dev/sdb")).unwrap();
    assert!(!is_claimed(machine, "sdb"));
    contents.unwrap()
}

#[test]
fn what_a_trial_erased_comes_back_while_nothing_else_was_written() {
    let machine = claimed();
    let (system, claims) = (machine.system(), machine.path("claims"));
    let node = machine.path("dev/sdb");
    let before = fs::read(&node).unwrap();
    trial(&machine);
    assert_ne!(fs::read(&node).unwrap(), before);
    assert_eq!(restore(&machine), Contents::Restored);
    assert_eq!(fs::read(&node).unwrap(), before);
    assert_eq!(release_and_restore(&system, &claims, &node).unwrap(), None);
}

#[test]
fn nothing_is_written_back_while_the_signatures_are_as_they_were() {
    let machine = claimed();
    // Files and metadata of the owner, who goes on using the filesystem.
    machine.put("sdb", 4096, b"photos");
    machine.put("sdb", 0x434, b"mounted");
    let canary = fs::read(machine.path("dev/sdb")).unwrap();
    assert_eq!(restore(&machine), Contents::Unchanged);
    assert_eq!(fs::read(machine.path("dev/sdb")).unwrap(), canary);
}

#[test]
fn nothing_is_put_back_over_what_a_trial_did_not_write() {
    type Change = (&'static str, fn(&Machine));
    let changes: [Change; 7] = [
        ("nothing known of the writes", |machine| machine.attribute("sdb", "queue/iostats", "0")),
        ("a write in the middle", |machine| {
            trial(machine);
            machine.attribute("sdb", "stat", WRITTEN_STAT);
        }),
        ("a write through another node", |machine| {
            trial(machine);
            machine.put("sdb", 100, b"mine");
        }),
        ("another boot", |machine| {
            trial(machine);
            machine.write("proc/sys/kernel/random/boot_id", "boot-2");
        }),
        ("plugged in again", |machine| {
            trial(machine);
            machine.diskseq("sdb", 99);
            machine.attribute("sdb", "diskseq", "99");
        }),
        ("a trial that was killed", |machine| {
            trial(machine);
            let context = Context { claims: machine.path("claims"), run_file: None };
            let node = machine.path("dev/sdb");
            let checked = guard::check(&machine.system(), &node, Purpose::Write, &context);
            checked.unwrap().permit().unwrap();
        }),
        ("erased by a person", |_| {}),
    ];
    for (name, change) in changes {
        let machine = claimed();
        change(&machine);
        show_signatures(&machine, "");
        let canary = fs::read(machine.path("dev/sdb")).unwrap();
        let restored = restore(&machine);
        let Contents::Overwritten(copy) = restored else { panic!("{name}: {restored:?}") };
        assert!(copy.exists(), "{name}");
        assert_eq!(fs::read(machine.path("dev/sdb")).unwrap(), canary, "{name}");
    }
}

#[test]
fn a_device_without_a_size_cannot_be_claimed() {
    let machine = machine("");
    machine.attribute("sdb", "size", "0");
    let refusal = card(&machine, "sdb").refusal.unwrap();
    assert!(refusal.reason.starts_with("its size is 0 bytes"), "{refusal}");
    assert!(matches!(try_to(&machine, "sdb", "0").unwrap_err(), Error::Refused(_)));
}

#[test]
fn a_claim_of_a_newer_format_is_not_taken_for_one_of_ours() {
    let machine = claimed();
    let path = fs::read_dir(machine.path("claims")).unwrap().map(|entry| entry.unwrap().path());
    let path = path.into_iter().find(|path| path.extension().is_some_and(|e| e == "json"));
    let path = path.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"format\": 1", "\"format\": 99")).unwrap();
    let error = list(&machine.path("claims")).unwrap_err().to_string();
    assert!(error.contains("format 99") && error.contains("newer seekwell"), "{error}");
    assert_eq!(may_be_written(&machine).unwrap_err().kind, RefusalKind::Unreadable);
}

/// Tries again while a child of another test has the image open until it becomes its program.
fn patiently(attempt: &mut dyn FnMut() -> std::result::Result<(), Refusal>) {
    for _ in 0..500 {
        match attempt() {
            Err(refusal) if refusal.kind == RefusalKind::Busy => {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            done => return done.unwrap(),
        }
    }
    attempt().unwrap();
}

fn write_a_photo(device: &str, point: &Path) {
    fs::create_dir_all(point).unwrap();
    succeed("mount", &[device, point.to_str().unwrap()]);
    fs::write(point.join("photo"), vec![7; 1 << 20]).unwrap();
    // A program that another test starts has a copy of the photo's descriptor until its exec.
    let umount = || std::process::Command::new("umount").arg(point).status().unwrap().success();
    assert!(seekwell_testing::soon(umount));
}

fn succeed(program: &str, arguments: &[&str]) {
    let output = std::process::Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {output:?}");
}

/// The same with the kernel: a filesystem that its owner used since the claim stays sound.
#[test]
fn a_filesystem_that_was_used_since_the_claim_is_not_written() {
    let test = "a_filesystem_that_was_used_since_the_claim_is_not_written";
    if !seekwell_testing::root() || seekwell_testing::tool("mkfs.ext4").is_none() {
        return seekwell_testing::skip(test, "needs root and mkfs.ext4");
    }
    let (_image, device) = crate::fixture::ram_device(16);
    let folder = tempfile::tempdir().unwrap();
    let claims = folder.path().join("claims");
    let path = device.path().to_str().unwrap();
    let system = System::host();
    let claim = || {
        patiently(&mut || {
            let card = describe(&system, device.path(), None).unwrap();
            match confirm(&system, &claims, &card, &card.identity.sectors().to_string()) {
                Err(Error::Refused(refusal)) => Err(refusal),
                done => {
                    done.unwrap();
                    Ok(())
                }
            }
        });
    };
    let permit = || {
        let context = Context { claims: claims.clone(), run_file: None };
        patiently(&mut || {
            let checked = guard::check(&system, device.path(), Purpose::Write, &context)?;
            checked.permit().map(drop)
        });
    };
    let released = || {
        let mut contents = None;
        patiently(&mut || match release_and_restore(&system, &claims, device.path()) {
            Err(Error::Refused(refusal)) => Err(refusal),
            done => {
                contents = done.unwrap();
                Ok(())
            }
        });
        contents.unwrap()
    };
    let use_it = || {
        crate::fixture::with_own_mounts(|| {
            let point = folder.path().join("point");
            write_a_photo(path, &point);
        });
    };
    succeed("mkfs.ext4", &["-q", "-F", path]);
    claim();
    use_it();
    assert_eq!(released(), Contents::Unchanged);
    succeed("fsck.ext4", &["-f", "-n", path]);
    // A trial, and then a person who uses what the trial made.
    for used in [true, false] {
        claim();
        permit();
        succeed("mkfs.ext4", &["-q", "-F", path]);
        note_content(&system, &claims, device.path()).unwrap();
        if used {
            use_it();
        }
        let restored = released();
        assert_eq!(matches!(restored, Contents::Overwritten(_)), used, "{restored:?}");
        assert_eq!(restored == Contents::Restored, !used, "{restored:?}");
        if used {
            succeed("fsck.ext4", &["-f", "-n", path]);
        }
    }
}

#[test]
fn a_claim_that_another_user_could_have_written_is_no_claim() {
    let machine = machine("WD-ABC123456");
    try_to(&machine, "sdb", "3456").unwrap();
    let folder = machine.path("claims");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    };
    for entry in fs::read_dir(&folder).unwrap() {
        mode(&entry.unwrap().path(), 0o666);
    }
    let error = list(&folder).unwrap_err();
    assert!(matches!(error, Error::Untrusted { .. }), "{error}");
    assert_eq!(may_be_written(&machine).unwrap_err().kind, RefusalKind::Unreadable);
}
