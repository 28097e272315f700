use super::*;

#[test]
fn letters_give_back_any_number_of_bytes() {
    let bytes: Vec<u8> = (0..200_u32).map(|n| (n * n / 3) as u8).collect();
    for length in 0..bytes.len() {
        let mut text = Vec::new();
        let mut writer = LetterWriter::new(&mut text);
        // In pieces of other lengths than the groups of bits.
        bytes[..length].chunks(7).for_each(|piece| writer.write_all(piece).expect("memory"));
        writer.finish().expect("memory");
        let text = String::from_utf8(text).expect("ASCII");
        assert!(!text.contains(['<', '&', ' ']), "{text}");
        assert!(text.len() <= length * 16 / 13 + 3, "{length}: {}", text.len());
        assert_eq!(decode(&text).as_deref(), Some(&bytes[..length]), "{length}");
    }
    // The page's program reads the same.
    assert_eq!(decode("^';!"), Some(vec![1, 2, 3]));
}

#[test]
fn other_letters_are_refused() {
    assert_eq!([decode("a"), decode("a<"), decode("~~")], [None, None, None]);
    assert_eq!(decode("!!"), Some(vec![0]));
}
