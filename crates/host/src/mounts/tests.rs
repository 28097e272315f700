use super::*;
use crate::fixture::Machine;

#[test]
fn a_line_with_and_without_optional_fields_is_read() {
    let bare =
        parse("36 35 98:0 /mnt1 /mnt2 rw,noatime - ext3 /dev/root rw,errors=continue").unwrap();
    assert_eq!(
        bare,
        MountLine {
            number: DeviceNumber { major: 98, minor: 0 },
            target: "/mnt2".into(),
            options: "rw,noatime".into(),
            kind: "ext3".into(),
            source: "/dev/root".into(),
            super_options: "rw,errors=continue".into(),
        }
    );
    let full = parse(
        "36 35 98:0 /mnt1 /mnt2 rw,noatime shared:1 master:2 - ext3 /dev/root rw,errors=continue",
    );
    assert_eq!(full, Some(bare));
}

#[test]
fn blanks_and_backslashes_in_names_are_as_they_were() {
    assert_eq!(unescape(r"/a\040b\011c\134d\012e"), PathBuf::from("/a b\tc\\d\ne"));
    assert_eq!(unescape(r"/end\04"), PathBuf::from(r"/end\04"));
    assert_eq!(unescape(r"/\999"), PathBuf::from(r"/\999"));
}

#[test]
fn a_line_that_is_cut_off_is_an_error() {
    let machine = Machine::new();
    machine.write("proc/thread-self/mountinfo", "36 35 98:0 /mnt1");
    assert!(matches!(of_self(&machine.system()), Err(Error::Format { .. })));
}

#[test]
fn swaps_are_the_first_words_and_a_kernel_without_swap_has_none() {
    let machine = Machine::new();
    machine.swap(r"/dev/my\040disk");
    assert_eq!(swaps(&machine.system()).unwrap(), [PathBuf::from("/dev/my disk")]);
    std::fs::remove_file(machine.path("proc/swaps")).unwrap();
    assert!(swaps(&machine.system()).unwrap().is_empty());
}

#[test]
fn options_of_the_topmost_mount_are_joined_without_repetition() {
    let mut machine = Machine::new();
    machine.mount("thread-self", "8:17", "/mnt", "ext4", "/dev/sdb1");
    machine.write("proc/thread-self/mountinfo", "30 20 8:17 / /mnt ro - ext4 /dev/sdb1 ro\n31 30 8:18 / /mnt rw,noatime - xfs /dev/sdb2 rw,noquota");
    let found = options_of(&machine.system(), Path::new("/mnt")).unwrap();
    assert_eq!(found.as_deref(), Some("rw,noatime,noquota"));
    assert_eq!(options_of(&machine.system(), Path::new("/other")).unwrap(), None);
}
