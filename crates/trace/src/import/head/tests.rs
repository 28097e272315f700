use super::super::words::Words as Slow;
use super::*;
use proptest::prelude::*;

/// Device, time, process, action and the rest.
type Read = (Vec<u8>, u64, u32, u8, Vec<u8>);

/// The same word by word.
fn slowly(line: &[u8]) -> Option<Read> {
    let mut words = Slow::of(line);
    let device = words.word()?.to_vec();
    words.number()?;
    words.number()?;
    let time_ns = words.seconds()?;
    let process = u32::try_from(words.number()?).ok()?;
    let &[action] = words.word()? else { return None };
    let rest: Vec<&[u8]> = std::iter::from_fn(|| words.word()).collect();
    Some((device, time_ns, process, action, rest.join(&b' ')))
}

/// The head, with the words of its rest.
fn quickly(line: &[u8]) -> Option<Read> {
    let (mut device, mut action) = (0_u64, 0);
    let mut look = |wish| {
        head(line, |word, letter| {
            (device, action) = (word, letter);
            wish
        })
    };
    let (nothing, time) = (look(Wish::Nothing), look(Wish::Time));
    let whole = look(Wish::TimeAndProcess);
    // A line has a head or not, and the same one, whatever is wanted of it.
    assert_eq!(nothing.map(|head| head.rest), whole.map(|head| head.rest));
    assert_eq!(time.map(|head| head.time_ns), whole.map(|head| head.time_ns));
    let head = whole?;
    let device: Vec<u8> = device.to_le_bytes().into_iter().filter(|byte| *byte != 0).collect();
    let mut words = Slow::of(head.rest);
    let rest: Vec<&[u8]> = std::iter::from_fn(|| words.word()).collect();
    Some((device, head.time_ns, head.process, action, rest.join(&b' ')))
}

/// Lines as blkparse pads them, with numbers of any length.
fn line() -> impl Strategy<Value = String> {
    let numbers =
        (0..4096_u32, 0..300_u32, 0..300_u32, any::<u32>(), 0..100_000_000_u32, 0..1 << 22);
    let numbers = (numbers, 0..1_000_000_000_u32, any::<u64>(), "[A-Zm]", "[A-Z]{1,4}");
    numbers.prop_map(|((major, minor, cpu, sequence, seconds, process), ns, sector, action, letters)| {
        format!(
            "{major:>3},{minor:<3} {cpu:>2} {sequence:>8} {seconds:>5}.{ns:09} {process:>5} {action:>2} \
             {letters:>3} {sector} + 8 [some name]"
        )
    })
}

proptest! {
    #[test]
    fn blanks_and_digits_are_marked(bytes in proptest::array::uniform32(any::<u8>()), at in 0..32_usize) {
        let mut all = [b' '; LOOKED_AT];
        all[at..at + 32].copy_from_slice(&bytes);
        let bits = |is_it: fn(&u8) -> bool| {
            let set = all.iter().enumerate().filter(|(_, byte)| is_it(byte));
            set.fold(0_u64, |bits, (at, _)| bits | 1 << at)
        };
        let (others, digits) = (bits(|byte| *byte != b' '), bits(u8::is_ascii_digit));
        prop_assert_eq!(Marks::of(&all), Marks { others, digits });
        prop_assert_eq!(Marks::by_eight(&all), Marks { others, digits });
    }

    #[test]
    fn a_line_of_blkparse_is_read_as_word_by_word(line in line()) {
        let slow = slowly(line.as_bytes());
        prop_assert!(slow.is_some(), "{}", line);
        // Numbers of more digits than blkparse's columns are left to the other way.
        if let Some(quick) = quickly(line.as_bytes()) {
            prop_assert_eq!(Some(quick), slow);
        }
    }

    #[test]
    fn no_other_line_is_read_otherwise(
        line in line(),
        at in 0..80_usize,
        byte in prop_oneof![Just(b' '), Just(b'\t'), Just(b'.'), Just(0), b'0'..=b'9', any::<u8>()],
        length in 0..100_usize,
    ) {
        let mut line = line.into_bytes();
        let at = at % line.len();
        line[at] = byte;
        line.truncate(length);
        if let Some(quick) = quickly(&line) {
            prop_assert_eq!(Some(quick), slowly(&line), "{}", String::from_utf8_lossy(&line));
        }
    }
}

#[test]
fn usual_lines_are_read_at_one_go() {
    let lines = [
        "  8,16   1       42     0.000123456  1234  D  WS 2048 + 8 [name]",
        "259,3   31  1234567  4242.987654321 4194304  Q  FWFSM 9000 + 8 [jbd2/sdb-8]",
        "  8,0    1        5     5.000060000  1234  D  FN [sqlite]",
        "8,0 0 1 0.000000000 7 C",
    ];
    for line in lines {
        assert_eq!(quickly(line.as_bytes()), slowly(line.as_bytes()), "{line}");
        assert!(quickly(line.as_bytes()).is_some(), "{line}");
    }
    for line in ["", " ", "CPU0 (sda):", "8,0 0 1 0.5 7 Q R 10 + 2 [a]", "8,0 0 1 .000000000 7 Q R"]
    {
        assert_eq!(quickly(line.as_bytes()), None, "{line}");
    }
}
