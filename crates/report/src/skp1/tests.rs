use super::*;
use std::io::Write;

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

#[test]
fn letters_give_back_any_number_of_bytes() {
    let bytes: Vec<u8> = (0..200_u32).map(|n| (n * n / 3) as u8).collect();
    for length in 0..bytes.len() {
        let mut text = Vec::new();
        let mut writer = letters::LetterWriter::new(&mut text);
        // In pieces of other lengths than the groups of bits.
        bytes[..length].chunks(7).for_each(|piece| writer.write_all(piece).expect("memory"));
        writer.finish().expect("memory");
        let text = String::from_utf8(text).expect("ASCII");
        assert!(!text.contains(['<', '&', ' ']), "{text}");
        assert!(text.len() <= length * 16 / 13 + 3, "{length}: {}", text.len());
        assert_eq!(letters::decode_exact(&text).as_deref(), Some(&bytes[..length]), "{length}");
    }
    // The page's program reads the same.
    assert_eq!(letters::decode_exact("^';!"), Some(vec![1, 2, 3]));
    assert_eq!(letters::decode_exact("a<"), None);
}
