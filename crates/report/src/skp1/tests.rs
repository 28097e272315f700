use super::*;

/// Frozen: the report that an earlier version wrote of the run file beside it.
const PAGE: &str = include_str!("../../../../testdata/formats/page-skp1.html");
const FILE: &[u8] = include_bytes!("../../../../testdata/formats/run-1.0.seekwell");

fn packed() -> Vec<u8> {
    let begin = PAGE.find("id=\"run\">").expect("the element") + "id=\"run\">".len();
    let text = PAGE[begin..].split("</script>").next().expect("its text");
    letters::decode(text.trim()).expect("letters")
}

#[test]
fn a_frozen_page_gives_its_run_file_back_byte_by_byte() {
    assert_eq!(unpack(&packed()).as_deref(), Ok(FILE));
}

#[test]
fn no_change_of_a_byte_gives_another_file() {
    let packed = packed();
    for at in (0..packed.len() - 2).step_by(packed.len() / 60) {
        let mut changed = packed.clone();
        changed[at] ^= 0x24;
        assert!(unpack(&changed).map_or(true, |file| file == FILE), "at {at}");
        assert!(unpack(&packed[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn other_letters_are_refused() {
    let refused = [letters::decode("a"), letters::decode("a<"), letters::decode("~~")];
    assert_eq!(refused, [None, None, None]);
    assert_eq!(letters::decode("!!"), Some(vec![0]));
    assert_eq!(unpack(b"SkP1"), Err("it ends early".to_owned()));
}
