use super::*;

/// Accesses of files, each at the place of its number among those of the file.
fn pictures(accesses: &[u32]) -> Vec<(u32, u64)> {
    let mut pictures = FilePictures::default();
    let mut states = vec![(0_u8, 0_u64); 1000];
    for file in accesses {
        let (own, before) = &mut states[*file as usize];
        pictures.add(own, FileId(*file), *before, 0, *before * 4096);
        *before += 1;
    }
    let count = |seeks: &Seeks| seeks.accesses.iter().flatten().sum::<u64>();
    pictures.finish().into_iter().map(|(file, seeks)| (file.0, count(&seeks))).collect()
}

#[test]
fn a_picture_begins_once_a_file_is_busy() {
    assert_eq!(pictures(&[3; 32]), []);
    assert_eq!(pictures(&[3; 40]), [(3, 8)]);
}

#[test]
fn the_busiest_files_have_pictures() {
    let accesses: Vec<u32> = (0..6).flat_map(|file| vec![file; 40 + file as usize]).collect();
    assert_eq!(pictures(&accesses), [(5, 13), (4, 12), (3, 11), (2, 10)]);
}

#[test]
fn a_file_that_gets_busy_late_takes_the_place_of_another() {
    let early = (0..100).flat_map(|file| vec![file; 40]);
    let accesses: Vec<u32> = early.chain(vec![500; 3000]).collect();
    // From its 1024th access on.
    assert_eq!(pictures(&accesses)[0], (500, 3000 - 1024));
}
