use super::*;
use seekwell_testing::soon;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Limits, Trace, TraceWriter};

/// The entries of a tree by their names, and its description.
fn walked(root: &Path, output: &Path, stop: bool) -> (Vec<(String, InitialEntry)>, Vec<Tree>) {
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(output, &meta, Limits::default()).unwrap();
    let stop = AtomicBool::new(stop);
    let roots = [root.to_owned()];
    let trees = visit(&roots, output, &stop, &mut |entry| Ok(writer.initial(entry)?)).unwrap();
    writer.finish(&meta).unwrap();
    let mut entries = Vec::new();
    let each = |entry: InitialEntry| {
        let name = entry.path.strip_prefix(root.to_str().unwrap()).unwrap().to_owned();
        entries.push((name, entry));
        Ok(())
    };
    Trace::open(output).unwrap().initial(each).unwrap();
    entries.sort_by(|one, two| one.0.cmp(&two.0));
    (entries, trees)
}

#[test]
fn a_tree_is_written_with_sizes_owners_allocation_and_contents() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("sub")).unwrap();
    std::fs::write(root.join("sub/zeros"), vec![0; 9000]).unwrap();
    std::fs::write(root.join("sub/text"), "the same line\n".repeat(3000)).unwrap();
    // The finaliser of SplitMix64: its bytes do not repeat.
    let noise = (1..=20_000_u64).map(|nth| {
        let mixed = nth.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31).to_le_bytes()[0]
    });
    std::fs::write(root.join("noise"), noise.collect::<Vec<u8>>()).unwrap();
    std::fs::write(root.join("empty"), "").unwrap();
    let hole = File::create(root.join("hole")).unwrap();
    hole.set_len(1 << 20).unwrap();
    let islands = File::create(root.join("islands")).unwrap();
    for place in [1_u64 << 20, 4 << 20] {
        std::os::unix::fs::FileExt::write_all_at(&islands, &[7; 8192], place).unwrap();
    }
    islands.set_len(8 << 20).unwrap();
    std::os::unix::fs::symlink("noise", root.join("link")).unwrap();
    let (path, none) = (root.join("noise"), rustix::fs::XattrFlags::empty());
    let labelled = rustix::fs::setxattr(path, "user.label", b"seven b", none);
    let (entries, trees) = walked(&root, &root.join("trace"), false);
    let names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["", "/empty", "/hole", "/islands", "/link", "/noise", "/sub", "/sub/text", "/sub/zeros"];
    assert_eq!(names, expected);
    assert_eq!(trees, [Tree { root: root.to_string_lossy().into_owned(), complete: true }]);
    let of = |name: &str| &entries.iter().find(|(found, _)| found == name).unwrap().1;
    assert_eq!(of("/sub/zeros").content, Some(Content::Zero));
    assert_eq!(of("/noise").content, Some(Content::Random));
    assert_eq!(of("/hole").content, Some(Content::Zero));
    assert!(matches!(of("/sub/text").content, Some(Content::Compressible(1..10))));
    assert_eq!((of("/empty").content, of("/link").content), (None, None));
    assert_eq!(
        (of("/noise").target.as_deref(), of("/link").target.as_deref()),
        (None, Some("noise"))
    );
    assert_eq!((of("/noise").bytes, of("/hole").bytes), (20_000, 1 << 20));
    assert!(of("/hole").allocated_bytes < 1 << 20);
    assert_eq!((&of("/hole").data, &of("/noise").data), (&Vec::new(), &Vec::new()));
    // Of blocks up to 64 KiB.
    let holds = |at: u64| {
        of("/islands").data.iter().any(|one| one.start <= at && at + 8192 <= one.start + one.bytes)
    };
    assert!(holds(1 << 20) && holds(4 << 20), "{:?}", of("/islands").data);
    assert!(of("/islands").data.iter().all(|one| one.bytes <= 64 << 10));
    let attribute = |()| InitialAttribute { name: "user.label".to_owned(), bytes: 7 };
    // Not every filesystem keeps them.
    let expected: Vec<InitialAttribute> = labelled.into_iter().map(attribute).collect();
    assert_eq!((&of("/noise").attributes, &of("/empty").attributes), (&expected, &Vec::new()));
    let metadata = root.join("noise").metadata().unwrap();
    assert_eq!(of("/noise").inode, Some(metadata.ino()));
    let born = metadata.created().unwrap().duration_since(UNIX_EPOCH).unwrap();
    assert_eq!(of("/noise").birth_ms.map(u128::from), Some(born.as_millis()));
    assert_eq!((of("/noise").owner, of("/noise").mode), (Some(metadata.uid()), metadata.mode()));
}

#[test]
fn a_walk_that_was_stopped_is_not_complete() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::write(root.join("a"), "a").unwrap();
    let (_, trees) = walked(&root, &root.join("trace"), true);
    assert!(!trees[0].complete);
}

#[test]
fn samples_leave_cold_pages_cold_and_warm_ones_warm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; 40 * SAMPLE]).unwrap();
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    let cached = || [0, 19, 39].map(|place| is_cached(&file, place * SAMPLE as u64));
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random).unwrap();
    // The kernel keeps a page that anything else holds at that moment.
    let is_cold = || {
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        cached() == [Some(false); 3]
    };
    if !soon(is_cold) {
        return seekwell_testing::skip(
            "samples_leave_cold_pages_cold",
            "pages cannot be dropped here",
        );
    }
    let stays_cold = || {
        assert!(soon(is_cold));
        assert!(content(&path, 40 * SAMPLE as u64).is_some());
        cached() == [Some(false); 3]
    };
    assert!(soon(stays_cold));
    std::fs::read(&path).unwrap();
    assert!(content(&path, 40 * SAMPLE as u64).is_some());
    assert_eq!(cached(), [Some(true); 3]);
}
