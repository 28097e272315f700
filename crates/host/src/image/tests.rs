use super::*;
use std::fs;
use std::os::unix::fs::MetadataExt;

#[test]
fn an_image_is_nameless_full_and_as_long_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = Vec::new();
    let size = Bytes((3 << 20) + 4096);
    let image = create(folder.path(), size, 7, &mut |bytes| told.push(bytes.0)).unwrap();

    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let facts = image.file().metadata().unwrap();
    assert_eq!((facts.len(), facts.nlink()), (size.0, 0));
    assert!(facts.blocks() * 512 >= size.0, "every byte is allocated");
    assert_eq!(told, [1 << 20, 2 << 20, 3 << 20, size.0]);
    if let Some(extents) = fiemap::extents(image.file().as_fd()).unwrap() {
        let written: u64 = extents.iter().filter(|one| !one.unwritten).map(|one| one.length).sum();
        assert_eq!(written, size.0, "written, not only allocated");
        assert_eq!(image.layout().extent_count, Some(extents.len() as u32));
    }
}

#[test]
fn the_content_derives_from_the_seed_and_does_not_repeat() {
    let folder = tempfile::tempdir().unwrap();
    let read = |seed| {
        let image = create(folder.path(), Bytes::mib(2), seed, &mut |_| {}).unwrap();
        let mut bytes = vec![0; 2 << 20];
        image.file().read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    let first = read(1);
    assert_eq!(first, read(1));
    assert_ne!(first, read(2));
    let mut blocks: Vec<&[u8]> = first.chunks(4096).collect();
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), 512, "no two blocks are equal, so nothing below can join them");
}

#[test]
fn a_size_beyond_the_free_space_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = 0;
    let error = create(folder.path(), Bytes::gib(1 << 20), 1, &mut |_| told += 1).unwrap_err();
    assert!(matches!(error, Error::NoSpace { needed, .. } if needed == Bytes::gib(1 << 20)));
    assert!(error.to_string().contains("does not fit into"), "{error}");
    assert_eq!(told, 0);

    let error = create_in_ram(&System::host(), Bytes::gib(1 << 20), 1, &mut |_| {}).unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
}

#[test]
fn space_that_runs_out_meanwhile_is_the_same_error() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "space_that_runs_out_meanwhile",
            "needs root to mount a tmpfs",
        );
    }
    // The free space counts until somebody else takes it, so the look before is bypassed here.
    let error = crate::fixture::with_own_mounts(|| {
        let folder = tempfile::tempdir().unwrap();
        let status = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "seekwell-test"])
            .arg(folder.path())
            .status()
            .unwrap();
        assert!(status.success());
        let file = tempfile::tempfile_in(folder.path()).unwrap();
        let error = finish(file, Bytes::mib(8), 1, "there", &mut |_| {}).unwrap_err();
        crate::filesystem::unmount(folder.path(), std::time::Duration::from_secs(5)).unwrap();
        error
    });
    assert!(matches!(&error, Error::NoSpace { place, .. } if place == "there"), "{error}");
}

#[test]
fn a_folder_that_is_not_there_is_said() {
    let error = create(Path::new("/no/such/folder"), Bytes::mib(1), 1, &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot make an image in /no/such/folder: No such file or directory (os error 2)"
    );
}

#[test]
fn an_image_in_memory_is_allocated_in_full() {
    let image = create_in_ram(&System::host(), Bytes::mib(2), 3, &mut |_| {}).unwrap();
    assert_eq!(
        image.layout(),
        &ImageLayout { allocated: Bytes::mib(2), extents: None, extent_count: None }
    );
    assert_eq!(image.file().metadata().unwrap().len(), 2 << 20);
}

#[test]
fn a_hole_punched_into_an_image_is_a_difference() {
    let folder = tempfile::tempdir().unwrap();
    let images = [
        create(folder.path(), Bytes::mib(4), 1, &mut |_| {}).unwrap(),
        create_in_ram(&System::host(), Bytes::mib(4), 1, &mut |_| {}).unwrap(),
    ];
    for image in images {
        let untouched = layout(image.file()).unwrap();
        assert_eq!(difference(image.layout(), &untouched), None);

        image.file().write_all_at(&[0; 8192], 1 << 20).unwrap();
        let overwritten = layout(image.file()).unwrap();
        assert_eq!(difference(image.layout(), &overwritten), None, "an overwrite changes nothing");

        let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(image.file(), punch, 1 << 20, 1 << 20).unwrap();
        let punched = layout(image.file()).unwrap();
        assert!(difference(image.layout(), &punched).is_some());
    }
}

#[test]
fn converted_extents_are_a_difference_and_a_larger_block_map_is_not() {
    let before = ImageLayout { allocated: Bytes(4096), extents: Some(1), extent_count: Some(1) };
    let map = ImageLayout { allocated: Bytes(8192), ..before.clone() };
    assert_eq!(difference(&before, &map), None);

    let converted = ImageLayout { extents: Some(2), extent_count: Some(3), ..before.clone() };
    insta::assert_snapshot!(difference(&before, &converted).unwrap(), @"the host's filesystem moved, freed or converted extents of the image (1 extents in 4KiB before, 3 in 4KiB after)");
}
