use super::*;
use seekwell_stats::histogram::Histogram;

/// Numbers that look random and are the same every time.
fn noise(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

fn histogram(seed: u64, values: u64, spread: u64) -> Vec<u8> {
    let mut next = noise(seed);
    let mut histogram = Histogram::new();
    for _ in 0..values {
        histogram.record(50_000 + next() % spread + next() % spread);
    }
    histogram.to_bytes()
}

#[test]
fn numbers_and_bits_come_back() {
    let mut next = noise(3);
    let numbers: Vec<u64> = (0..4_000)
        .map(|index| if index % 9 == 0 { next() } else { next() >> (index % 64) })
        .chain([0, 1, u64::MAX, u64::MAX - 1, 1 << 63])
        .collect();
    let (mut model, mut chance, mut writer) = (Number::default(), Chance::default(), Writer::new());
    for number in &numbers {
        model.code(&mut writer, *number);
        writer.bit(&mut chance, number % 5 == 0);
        writer.bytes(number.to_le_bytes());
    }
    let bytes = writer.finish();
    let (mut model, mut chance, mut reader) =
        (Number::default(), Chance::default(), Reader::new(&bytes));
    for number in &numbers {
        assert_eq!(model.code(&mut reader, 0), *number);
        assert_eq!(reader.bit(&mut chance, false), number % 5 == 0);
        assert_eq!(u64::from_le_bytes(reader.bytes([0; 8])), *number);
    }
}

#[test]
fn a_bit_that_is_always_the_same_costs_next_to_nothing_and_carries_run_through() {
    let (mut chance, mut writer) = (Chance::default(), Writer::new());
    for _ in 0..80_000 {
        writer.bit(&mut chance, true);
    }
    let bytes = writer.finish();
    assert!(bytes.len() < 60, "{}", bytes.len());
    let (mut chance, mut reader) = (Chance::default(), Reader::new(&bytes));
    assert!((0..80_000).all(|_| reader.bit(&mut chance, false)));
}

#[test]
fn histograms_come_back_to_the_bit() {
    let all: Vec<Vec<u8>> = [
        (1, 1),
        (2, 9),
        (300, 40_000),
        (9_000, 70_000),
        (9_000, 4_000_000),
        (50, 3_000_000_000_000),
    ]
    .iter()
    .enumerate()
    .map(|(seed, (values, spread))| histogram(seed as u64, *values, *spread))
    .collect();
    let (mut model, mut writer) = (histogram::Model::new(), Writer::new());
    for bytes in &all {
        model.write(&mut writer, &Hdr::of(bytes).expect("a histogram"));
    }
    let packed = writer.finish();
    let (mut model, mut reader) = (histogram::Model::new(), Reader::new(&packed));
    for bytes in &all {
        assert_eq!(&model.read(&mut reader).expect("a histogram").bytes(), bytes);
    }
    let deflated: usize = all.iter().map(|bytes| deflate(bytes).len()).sum();
    assert!(packed.len() * 10 < deflated * 8, "{} of {deflated}", packed.len());
    for torn in [&all[4][..20], &all[4][..all[4].len() - 1], b"", &[0; 80]] {
        assert!(Hdr::of(torn).is_none());
    }
}

/// Samples as the kernel's counters give them.
fn samples(count: usize) -> Vec<series::Sample> {
    let mut next = noise(7);
    let mut at = 1_234_567_u64;
    let row = |_| {
        let interval = 100_000_000 + next() % 70_000;
        at += interval;
        let (ms, [reads, writes, sectors, spent]) =
            (interval as f64 / 1e6, std::array::from_fn(|_| next() % 900));
        let per_s = |count: u64| count as f64 / ms * 1e3;
        let mean = |total: u64, count: u64| (count > 0).then(|| total as f64 / count as f64);
        let numbers = [
            Some(per_s(reads)),
            Some(per_s(writes)),
            Some(per_s(sectors) / 2.0),
            Some(per_s(8 * writes) / 2.0),
            Some(per_s(0)),
            Some(per_s(spent)),
            mean(spent, reads),
            mean(spent, writes),
            Some(spent as f64 / ms),
            mean(sectors, reads).map(|mean| mean / 2.0),
            mean(8 * writes, writes).map(|mean| mean / 2.0),
            (reads % 2 == 0).then(|| per_s(3)),
            Some(spent as f64 / ms * 100.0),
        ];
        let mut row: series::Sample = [None; series::COLUMNS];
        row[0] = Some(at);
        numbers.iter().zip(&mut row[1..]).for_each(|(value, cell)| *cell = value.map(f64::to_bits));
        row[14] = Some(4_096 * (reads + 5));
        row[15] = (writes % 3 > 0).then_some(4_096 * writes);
        row[16] = Some((spent as f64 * 1e3 / interval as f64 * 100.0).to_bits());
        row[17] = Some(f64::NAN.to_bits());
        row
    };
    (0..count).map(row).collect()
}

#[test]
fn timelines_come_back_to_the_bit_and_are_small() {
    let mut rows = samples(60);
    // Nothing that the formulas give.
    rows[3][1] = Some(0.123_456_789_f64.to_bits());
    rows[4][9] = Some((-0.0_f64).to_bits());
    rows[5][14] = Some(u64::MAX);
    let blob = series::pack(&rows);
    assert_eq!(series::unpack(&blob).as_ref(), Some(&rows));
    assert!(series::fits(&rows));
    let (mut model, mut writer) = (series::Model::new(), Writer::new());
    model.code(&mut writer, &rows, u64::MAX);
    model.code(&mut writer, &[], u64::MAX);
    let packed = writer.finish();
    let (mut model, mut reader) = (series::Model::new(), Reader::new(&packed));
    assert_eq!(model.code(&mut reader, &[], series::MOST).as_ref(), Some(&rows));
    assert_eq!(model.code(&mut reader, &[], series::MOST), Some(vec![]));
    assert!(packed.len() * 2 < blob.len(), "{} of {}", packed.len(), blob.len());
    rows.swap(1, 2);
    assert!(!series::fits(&rows));
}

#[test]
fn letters_hold_any_bytes_and_nothing_that_markup_knows() {
    let mut next = noise(11);
    for length in [0, 1, 2, 12, 13, 14, 1_000] {
        let bytes: Vec<u8> = (0..length).map(|_| next() as u8).collect();
        let text = letters::encode(&bytes);
        assert!(text.bytes().all(|letter| letter.is_ascii_graphic() && !b"<&-".contains(&letter)));
        let back = letters::decode(&text).expect("letters");
        assert_eq!(back[..bytes.len()], bytes);
        assert!(back.len() <= bytes.len() + 1 && back[bytes.len()..].iter().all(|byte| *byte == 0));
    }
    assert_eq!(
        [letters::decode("a"), letters::decode("a<"), letters::decode("~~")],
        [None, None, None]
    );
}

#[test]
fn what_is_no_run_file_is_not_packed_and_what_is_damaged_is_told() {
    assert!(pack(b"", true).is_none());
    let mut file = b"SQLite format 3\0".to_vec();
    file.extend([16, 0, 1, 1, 0, 64, 32, 32]);
    file.resize(8_192, 0);
    assert!(pack(&file, true).is_none());
    assert_eq!(unpack(b"SkP1"), Err("it ends early".to_owned()));
}
