use super::*;
use proptest::prelude::*;
use tar::{Builder, Header};

/// A tar file with one entry that says exactly what is given: the crate's own builder refuses
/// hostile names.
fn entry(kind: EntryType, name: &str, link: &str, data: &[u8]) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.set_size(data.len() as u64);
    header.set_mode(0o644);
    header.set_entry_type(kind);
    let raw = header.as_old_mut();
    raw.name[..name.len()].copy_from_slice(name.as_bytes());
    raw.linkname[..link.len()].copy_from_slice(link.as_bytes());
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn archive(entries: &[Vec<u8>]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut bytes = entries.concat();
    bytes.resize(bytes.len() + 1024, 0);
    std::fs::write(file.path(), bytes).unwrap();
    file
}

fn refusal(entries: &[Vec<u8>]) -> String {
    match scan(archive(entries).path()) {
        Err(WorkloadError::Refused { entry, reason, .. }) => format!("{entry}: {reason}"),
        other => panic!("{other:?}"),
    }
}

const FILE: EntryType = EntryType::Regular;
const SYMLINK: EntryType = EntryType::Symlink;
const LINK: EntryType = EntryType::Link;

#[test]
fn hostile_entries_are_refused() {
    let good = entry(FILE, "a/b", "", b"x");
    let refused = [
        (entry(FILE, "../evil", "", b"x"), "../evil: has '..' in its path"),
        (entry(FILE, "a/../../evil", "", b"x"), "a/../../evil: has '..' in its path"),
        (entry(FILE, "/etc/evil", "", b"x"), "/etc/evil: has an absolute path"),
        (entry(FILE, "a/b/c", "", b"x"), "a/b/c: is below a file"),
        (entry(FILE, "a/b", "", b"x"), "a/b: comes twice"),
        (entry(FILE, "./a//b", "", b"x"), "./a//b: comes twice"),
        (
            entry(SYMLINK, "l", "/etc", b""),
            "l: is a symbolic link to '/etc', which may lead outside",
        ),
        (
            entry(SYMLINK, "d/l", "../..", b""),
            "d/l: is a symbolic link to '../..', which may lead outside",
        ),
        (
            entry(SYMLINK, "d/l", "x/../../..", b""),
            "d/l: is a symbolic link to 'x/../../..', which may lead outside",
        ),
        (entry(LINK, "h", "../../etc/passwd", b""), "h: is a hard link to '../../etc/passwd'"),
        (
            entry(LINK, "h", "etc/passwd", b""),
            "h: is a hard link to 'etc/passwd', which is not an earlier file of the archive",
        ),
        (entry(EntryType::Char, "null", "", b""), "null: is a device"),
        (entry(EntryType::Fifo, "pipe", "", b""), "pipe: is a named pipe"),
        (entry(EntryType::new(b'Z'), "z", "", b""), "z: is of the unknown type 'Z'"),
    ];
    for (hostile, expected) in refused {
        assert_eq!(refusal(&[good.clone(), hostile]), expected);
    }
    let through = [entry(SYMLINK, "l", "a", b""), entry(FILE, "l/f", "", b"x")];
    assert_eq!(refusal(&through), "l/f: is below a symbolic link");
    let deep = "d/".repeat(49);
    let long = entry(FILE, &format!("{deep}f"), "", b"x");
    assert!(scan(archive(&[long]).path()).is_ok());
}

#[test]
fn a_path_deeper_than_the_limit_is_refused() {
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.set_size(0);
    header.set_entry_type(FILE);
    let path = format!("{}f", "d/".repeat(DEEPEST));
    builder.append_data(&mut header, path, &b""[..]).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), builder.into_inner().unwrap()).unwrap();
    let told = scan(file.path()).unwrap_err().to_string();
    assert!(told.contains("is more than 256 directories deep; nothing was unpacked"), "{told}");
}

#[test]
fn what_is_no_archive_is_said() {
    let told = |bytes: &[u8]| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let told = scan(file.path()).unwrap_err().to_string();
        told.replace(&file.path().display().to_string(), "TAR")
    };
    assert!(told(b"").ends_with("it holds no file; give a complete, uncompressed tar file"));
    assert!(told(&[0x1f, 0x8b, 8].repeat(600)).starts_with("cannot read TAR as a tar archive:"));
    let mut cut = entry(FILE, "a", "", &[1; 5_000]);
    cut.truncate(2_000);
    assert!(told(&cut).starts_with("cannot read TAR as a tar archive:"), "{}", told(&cut));
    let none = scan(Path::new("/no/such.tar")).unwrap_err().to_string();
    assert!(none.starts_with("cannot open /no/such.tar: No such file"), "{none}");
}

#[test]
fn harmless_entries_make_the_tree_in_archive_order() {
    let archive = archive(&[
        entry(EntryType::Directory, "./", "", b""),
        entry(EntryType::Directory, "./z/", "", b""),
        entry(FILE, "./z/2", "", b"four"),
        entry(FILE, "./y/1", "", b""),
        entry(LINK, "./z/h", "z/2", b""),
        entry(SYMLINK, "./z/s", "../y/1", b""),
        entry(EntryType::Directory, "./z/", "", b""),
    ]);
    let tree = scan(archive.path()).unwrap();
    let listed = vec![("z/2".into(), 4), ("y/1".into(), 0), ("z/h".into(), 4)];
    assert_eq!(tree, Tree::listed(listed));
}

#[test]
fn a_step_hardly_slower_than_its_source_is_marked() {
    assert!(source_bound("unpack", Some(80), 100).is_some());
    assert!(source_bound("unpack", Some(79), 100).is_none());
    assert!(source_bound("unpack", None, 0).is_none());
}

proptest! {
    /// Oracle: a symbolic link's text, resolved step by step from the link's directory, never goes
    /// above the root, wherever its own components lead.
    #[test]
    fn links_that_pass_never_climb_above_the_root(
        depth in 0_usize..4,
        parts in prop::collection::vec(prop::sample::select(vec!["..", ".", "a", "b"]), 1..7),
    ) {
        let path = format!("{}link", "d/".repeat(depth));
        let target = parts.join("/");
        let mut level = depth as i64;
        let mut lowest = level;
        for part in &parts {
            // The worst case of a name: a link to `.`, which leads nowhere.
            level -= i64::from(*part == "..");
            lowest = lowest.min(level);
        }
        if stays_inside(&path, &target) {
            prop_assert!(lowest >= 0, "{path} -> {target}");
        }
        if !parts.contains(&"..") {
            prop_assert!(stays_inside(&path, &target));
        }
    }

    #[test]
    fn normal_paths_hold_only_names(text in "[a-c./]{0,20}") {
        if let Ok(Some(path)) = normal(text.as_bytes()) {
            for part in path.split('/') {
                prop_assert!(!part.is_empty() && part != "." && part != "..", "{text} -> {path}");
            }
        }
    }
}
