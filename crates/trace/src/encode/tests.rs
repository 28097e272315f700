use crate::columns::{Column, Kind, Reading, Segment, Stored};
use crate::encode::{Numbers, Texts, Words};
use proptest::prelude::*;

const COLUMNS: [Column; 3] = [("few", Kind::Few), ("many", Kind::Many), ("word", Kind::Word)];
const LIST: [&str; 5] = ["read", "write", "fsync", "openat", ""];

/// Writes groups of one segment and reads them back.
fn roundtrip(groups: &[Vec<Option<i64>>]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table-000000.parquet");
    let mut segment = Segment::create(&path, &COLUMNS).unwrap();
    let word = |value: &Option<i64>| value.unwrap_or(2).unsigned_abs() as usize % LIST.len();
    for rows in groups {
        let numbers = || Stored::whole(rows.iter().copied());
        let mut words = Words::new(LIST.to_vec());
        rows.iter().for_each(|value| words.push(word(value)));
        segment.group(&[numbers(), numbers(), Stored::Words(words)]).unwrap();
    }
    segment.seal().unwrap();
    let reading = Reading::open(&path, crate::part::Part::whole(&path).unwrap()).unwrap();
    assert_eq!(reading.groups(), groups.len());
    for (at, rows) in groups.iter().enumerate() {
        let group = reading.group(at, &COLUMNS, &[]).unwrap();
        for name in ["few", "many"] {
            let column = group.whole(name).unwrap();
            let read: Vec<Option<i64>> = (0..rows.len()).map(|row| column.at(row)).collect();
            assert_eq!(&read, rows);
        }
        let column = group.words("word").unwrap();
        let words: Vec<_> = (0..rows.len()).map(|row| column.at(row)).collect();
        let expected: Vec<_> = rows.iter().map(|value| Some(LIST[word(value)])).collect();
        assert_eq!(words, expected);
        // A column that is left out is unknown, whatever it holds.
        let group = reading.group(at, &COLUMNS, &["many", "word"]).unwrap();
        assert!((0..rows.len()).all(|row| group.whole("many").unwrap().at(row).is_none()));
        assert!((0..rows.len()).all(|row| group.words("word").unwrap().at(row).is_none()));
        let column = group.whole("few").unwrap();
        assert_eq!(&(0..rows.len()).map(|row| column.at(row)).collect::<Vec<_>>(), rows);
    }
}

/// Adds the value of one row.
fn push(all: &mut Numbers, value: Option<i64>) {
    match value {
        Some(value) if all.present.is_empty() && all.unknown == 0 => all.values.push(value),
        Some(value) => {
            all.present.resize(all.present.len() + std::mem::take(&mut all.unknown), 0);
            all.values.push(value);
            all.present.push(1);
        }
        None if all.values.is_empty() => all.unknown += 1,
        None => {
            if all.present.is_empty() {
                all.present.resize(all.values.len(), 1);
            }
            all.present.push(0);
        }
    }
}

/// Runs and single values, of few and of many different ones, known and not.
fn rows() -> impl Strategy<Value = Vec<Option<i64>>> {
    let value = prop_oneof![
        3 => (0_i64..4).prop_map(Some),
        2 => Just(None),
        2 => any::<i64>().prop_map(Some),
        1 => prop_oneof![Just(i64::MIN), Just(i64::MAX)].prop_map(Some),
    ];
    let run = (value, prop_oneof![3 => 1_usize..4, 1 => 14_usize..40]);
    proptest::collection::vec(run, 1..60).prop_map(|runs| {
        runs.into_iter().flat_map(|(value, count)| std::iter::repeat_n(value, count)).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_together_are_stored_as_one_by_one(parts in proptest::collection::vec(rows(), 1..6)) {
        let (mut together, mut single) = (Numbers::default(), Numbers::default());
        for part in &parts {
            together.extend(part.iter().copied());
            part.iter().for_each(|value| push(&mut single, *value));
            prop_assert_eq!(format!("{together:?}"), format!("{single:?}"));
        }
    }

    #[test]
    fn texts_come_back(groups in proptest::collection::vec(texts(), 1..3)) {
        texts_roundtrip(&groups);
    }

    #[test]
    fn every_column_comes_back(groups in proptest::collection::vec(rows(), 1..3)) {
        roundtrip(&groups);
    }
}

/// Texts that share beginnings, empty ones and none.
fn texts() -> impl Strategy<Value = Vec<Option<String>>> {
    let text = prop_oneof![
        4 => "/srv/(mail|mael)/[ab0]{0,3}".prop_map(Some),
        1 => "\\PC{0,8}".prop_map(Some),
        1 => Just(None),
    ];
    proptest::collection::vec(text, 1..200)
}

fn texts_roundtrip(groups: &[Vec<Option<String>>]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table-000000.parquet");
    let columns = [("text", Kind::Text)];
    let mut segment = Segment::create(&path, &columns).unwrap();
    for rows in groups {
        let texts = Texts::of(rows.iter().map(Option::as_deref));
        segment.group(&[Stored::Texts(texts)]).unwrap();
    }
    segment.seal().unwrap();
    let reading = Reading::open(&path, crate::part::Part::whole(&path).unwrap()).unwrap();
    for (at, rows) in groups.iter().enumerate() {
        let group = reading.group(at, &columns, &[]).unwrap();
        let read: Vec<Option<String>> = group
            .text("text")
            .unwrap()
            .iter()
            .map(|text| text.as_ref().map(|text| String::from_utf8(text.data().to_vec()).unwrap()))
            .collect();
        assert_eq!(&read, rows);
    }
}

#[test]
fn a_group_without_texts_and_many_alike_come_back() {
    texts_roundtrip(&[
        vec![None; 10],
        vec![Some("/a/b".to_owned()); 5000],
        vec![Some(String::new())],
    ]);
}

#[test]
fn every_length_comes_back() {
    let group = |count: i64| (0..count).map(|nth| Some(nth * nth % 17)).collect();
    roundtrip(&(1..300).map(group).collect::<Vec<_>>());
}

#[test]
fn a_dictionary_grows_and_gives_up() {
    for distinct in [255, 256, 257, 5_000, 40_000] {
        roundtrip(&[(0..60_000).map(|nth| Some(nth % distinct * 1_000_003)).collect()]);
    }
}

#[test]
fn groups_without_any_value_come_back() {
    roundtrip(&[vec![None; 1], vec![None; 1000], vec![Some(5); 1000]]);
}
