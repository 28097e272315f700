use super::*;
use crate::fixture::Machine;
use crate::guard::RefusalKind;

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
    machine.write(
        "bin/wipefs",
        "#!/bin/sh\ncase $5 in */sdb1) printf '# TYPE,LABEL\\next4,photos\\n';; esac",
    );
    let program = machine.path("bin/wipefs");
    fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    fs::create_dir_all(machine.path("dev/disk/by-id")).unwrap();
    let link = machine.path("dev/disk/by-id/ata-Scratch");
    std::os::unix::fs::symlink(machine.path("dev/sdb"), &link).unwrap();
    let shown = card(&machine, "sdb");
    assert_eq!(shown.signatures, ["sdb1: ext4 photos"]);
    assert_eq!(shown.stable_path, Some(link.clone()));
    assert_eq!(try_to(&machine, "sdb", "3456").unwrap().path, link);
}
