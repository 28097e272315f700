use super::*;

fn files(numbers: &[u32]) -> Vec<FileEntry> {
    let file = |id: &u32| FileEntry {
        id: FileId(*id),
        path: None,
        device: None,
        inode: None,
        mode: None,
        bytes: None,
    };
    numbers.iter().map(file).collect()
}

fn counted(known: &[u32], asked: &[u32]) -> (usize, Vec<(u32, u64)>) {
    let mut counts = PerFile::<u64>::of(&files(known));
    asked.iter().for_each(|file| *counts.get(FileId(*file)) += 1);
    let mut rows: Vec<(u32, u64)> = counts
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(file, count)| (file.0, *count))
        .collect();
    rows.sort_unstable();
    (counts.states.len(), rows)
}

#[test]
fn dense_numbers_and_those_without_an_entry_have_states_of_their_own() {
    let (room, rows) = counted(&[0, 1, 4], &[0, 4, 4, 7, u32::MAX, 7]);
    assert_eq!(rows, [(0, 1), (4, 2), (7, 2), (u32::MAX, 1)]);
    assert_eq!(room, 7);
}

#[test]
fn a_number_far_away_takes_no_room_for_those_before_it() {
    let (room, rows) = counted(&[0, u32::MAX], &[u32::MAX, 3, u32::MAX]);
    assert_eq!((room, rows), (2, vec![(3, 1), (u32::MAX, 2)]));
}
