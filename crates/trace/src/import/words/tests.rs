use super::*;
use proptest::prelude::*;

/// A number without haste.
fn slowly(word: &[u8]) -> Option<u64> {
    let digits = !word.is_empty() && word.len() <= DIGITS && word.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(word).ok().filter(|_| digits)?.parse().ok()
}

/// Words of few letters, so that numbers are among them, with all kinds of spaces.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        6 => b'0'..=b'9',
        3 => Just(b' '),
        1 => prop_oneof![Just(b'\t'), Just(b'\r'), Just(0x0c), Just(b'.'), Just(b'/'), Just(b':')],
        1 => any::<u8>(),
    ];
    proptest::collection::vec(byte, 0..60)
}

proptest! {
    #[test]
    fn words_and_numbers_are_those_of_a_plain_reading(line in line()) {
        let plain: Vec<&[u8]> =
            line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        let mut words = Words::of(&line);
        let found: Vec<&[u8]> = std::iter::from_fn(|| words.word()).collect();
        prop_assert_eq!(&found, &plain);
        let mut words = Words::of(&line);
        for word in plain {
            prop_assert!(!words.is_empty());
            prop_assert_eq!(words.number(), slowly(word));
        }
        prop_assert!(words.is_empty());
    }
}

#[test]
fn numbers_of_every_length() {
    for digits in 1..=25 {
        let text = "9876543210987654321098765".split_at(digits).0;
        for line in [text.to_owned(), format!("{text}        "), format!(" \t{text} 1 2 3 4 5 6")] {
            let expected = text.parse().ok().filter(|_| digits <= DIGITS);
            assert_eq!(Words::of(line.as_bytes()).number(), expected, "{line}");
        }
    }
}

#[test]
fn seconds_and_pairs() {
    let seconds = |text: &str| Words::of(text.as_bytes()).seconds();
    assert_eq!(seconds("12.000123456 7"), Some(12_000_123_456));
    assert_eq!(seconds("0.5"), Some(500_000_000));
    for wrong in ["1", "1.", ".5", "1.0000000001", "1.5x", "1,5", "99999999999.0", ""] {
        assert_eq!(seconds(wrong), None, "{wrong}");
    }
    assert_eq!(Words::of(b"8,16 1").pair(b','), Some((8, (16, 2))));
    assert_eq!(Words::of(b"8,16x 1").pair(b','), None);
}
