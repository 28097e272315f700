use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_check_finds_what_making_would_refuse() {
    let size = Bytes::mib(64);
    for (device, arguments, expected) in [
        (size, "", None),
        (size, "-f 2048 -b 16384", None),
        (size, "-f 2048", Some("newfs -b 32768 -f 2048: a block has 1 to 8 fragments")),
        (size, "-U", Some("newfs -U takes a number, and has ``")),
        (Bytes::kib(64), "", Some("64KiB is too small for UFS2")),
    ] {
        let arguments = words(arguments);
        let made = Own::Ufs2.pieces(device, &arguments, 0).err();
        assert_eq!(made.as_deref(), expected, "{arguments:?}");
        assert_eq!(Own::Ufs2.check(Some(device), &arguments).err(), made, "{arguments:?}");
    }
    assert_eq!(Own::Ufs2.check(None, &[]), Ok(()));
}
