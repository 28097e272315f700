use super::*;
use std::collections::BTreeSet;
use std::fs;

fn arrays(system: &System, numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        fs::create_dir_all(system.block(&format!("md{number}"))).unwrap();
    }
}

#[test]
fn an_array_gets_a_number_that_none_has_and_is_noted_first() {
    let root = tempfile::tempdir().unwrap();
    let system = System::rooted_at(root.path());
    arrays(&system, (0..200).filter(|number| *number != 77));
    let mut undo = Undo::in_memory(&system);
    assert_eq!(reserve(&system, &mut undo, Naming::Array).unwrap(), Some(77));
    assert!(undo.has(&Target::Array { device: "md77".to_owned() }));
    let error = reserve(&system, &mut undo, Naming::Array).unwrap_err().to_string();
    assert_eq!(error, "every array from md32 to md119 exists; stop one that is not needed");
}

#[test]
fn numbers_of_arrays_are_drawn_at_random_from_their_range() {
    let root = tempfile::tempdir().unwrap();
    let system = System::rooted_at(root.path());
    let undo = Undo::in_memory(&system);
    let drawn: BTreeSet<usize> = (0..400).map(|_| free_array(&system, &undo).unwrap()).collect();
    assert!(drawn.iter().all(|number| ARRAYS.contains(number)), "{drawn:?}");
    // Fewer than 60 of 88 in 400 draws: less than once in 10^20.
    assert!(drawn.len() >= 60, "{drawn:?}");
}

#[test]
fn mapped_devices_get_names_that_are_noted_and_no_other_has() {
    let root = tempfile::tempdir().unwrap();
    let system = System::rooted_at(root.path());
    let mut undo = Undo::in_memory(&system);
    let mut draw = || reserve(&system, &mut undo, Naming::Mapped).unwrap().unwrap();
    let (first, second) = (draw(), draw());
    assert_ne!(first, second);
    for number in [first, second] {
        assert!(number < NAMES);
        assert!(undo.has(&Target::Mapped { name: format!("seekwell-{number}") }));
    }
}
