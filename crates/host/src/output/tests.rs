//! Hostile names for outputs; each file that is not ours is a canary.

use super::*;
use std::os::unix::fs::symlink;

const PAGE: &[u8] = b"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n<title>a</title>";

fn page(path: &Path) -> Result<()> {
    write(path, Kind::Page, PAGE, Replace::SameKind)
}

/// Names in a folder, for what an attempt leaves behind.
fn names(folder: &Path) -> Vec<String> {
    crate::sysfs::names(folder)
}

#[test]
fn a_new_file_appears_whole_and_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    page(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), PAGE);
    assert_eq!(names(folder.path()), ["report.html"]);
}

#[test]
fn a_folder_that_is_not_there_is_named_with_its_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let error = page(&folder.path().join("gone/report.html")).unwrap_err().to_string();
    let gone = folder.path().join("gone");
    let said = format!("there is no folder {} for the output; make it", gone.display());
    assert!(error.starts_with(&said), "{error}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_name_that_ends_as_one_of_a_folder_makes_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let error = page(&folder.path().join("new/")).unwrap_err().to_string();
    assert!(error.contains("is the name of a folder"), "{error}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_link_in_place_of_the_output_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let canary = folder.path().join("shadow");
    fs::write(&canary, "precious").unwrap();
    for (name, leads) in [("to-a-file", "shadow"), ("to-nothing", "not-there-yet")] {
        let path = folder.path().join(name);
        symlink(folder.path().join(leads), &path).unwrap();
        for replace in [Replace::SameKind, Replace::AnyFile] {
            let error = write(&path, Kind::Page, PAGE, replace).unwrap_err().to_string();
            assert!(error.contains("is a symbolic link"), "{error}");
        }
    }
    assert_eq!(fs::read(&canary).unwrap(), b"precious");
    assert!(!folder.path().join("not-there-yet").exists());
}

#[test]
fn planted_drafts_are_neither_followed_nor_removed() {
    let folder = tempfile::tempdir().unwrap();
    let canary = folder.path().join("shadow");
    fs::write(&canary, "precious").unwrap();
    let path = folder.path().join("report.html");
    symlink(&canary, folder.path().join("report.html.part")).unwrap();
    // The next names that this process would use.
    let next = Draft::beside(&path).0.clone();
    let next: u64 = next.to_str().unwrap().rsplit(['-', '.']).nth(1).unwrap().parse().unwrap();
    for count in next..next + 8 {
        let name = format!(".report.html.{}-{count}.draft", std::process::id());
        symlink(&canary, folder.path().join(name)).unwrap();
    }
    page(&path).unwrap();
    // And in place of an earlier one.
    page(&path).unwrap();
    assert_eq!(fs::read(&canary).unwrap(), b"precious");
    assert_eq!(names(folder.path()).len(), 8 + 3);
}

#[test]
fn only_a_file_of_the_same_kind_is_replaced_without_force() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, "thesis").unwrap();
    let error = page(&path).unwrap_err().to_string();
    assert!(error.contains("exists and is not a page that Seekwell wrote"), "{error}");
    assert!(error.ends_with("name another file, or replace it with --force"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"thesis");
    write(&path, Kind::Page, PAGE, Replace::AnyFile).unwrap();
    assert_eq!(fs::read(&path).unwrap(), PAGE);
    // Ours now: the same kind, and no other.
    page(&path).unwrap();
    assert!(write(&path, Kind::Csv, b"trial,round\n", Replace::SameKind).is_err());
    // A copy has lost the mark and begins as ours do.
    let copy = folder.path().join("copy");
    fs::write(&copy, [PAGE, b" more"].concat()).unwrap();
    page(&copy).unwrap();
    // An empty file has nothing to lose.
    fs::write(&copy, "").unwrap();
    page(&copy).unwrap();
}

#[test]
fn tables_and_documents_without_a_mark_are_known_by_their_first_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    for (kind, ours, theirs) in [
        (Kind::Csv, "trial,round,stack,step\n1,2,a,b\n", "name,address,phone,mail\nx\n"),
        (Kind::Markdown, "# mail: which filesystem?\n\nold", "# My thesis on filesystems\n\ntext"),
    ] {
        let new = ours.replace("old", "new").replace("1,2", "3,4");
        fs::write(&path, ours).unwrap();
        write(&path, kind, new.as_bytes(), Replace::SameKind).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, theirs).unwrap();
        assert!(write(&path, kind, new.as_bytes(), Replace::SameKind).is_err(), "{kind:?}");
        assert_eq!(fs::read(&path).unwrap(), theirs.as_bytes());
    }
    fs::write(&path, "PAR1 somebody's table PAR1").unwrap();
    assert!(write(&path, Kind::Parquet, b"PAR1 ours PAR1", Replace::SameKind).is_err());
}

#[test]
fn a_full_disk_leaves_the_earlier_file_and_nothing_half_written() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_full_disk_leaves_the_earlier_file",
            "needs root to mount",
        );
    }
    crate::fixture::with_own_mounts(|| {
        let folder = tempfile::tempdir().unwrap();
        let size = Some(c"size=64k");
        let flags = rustix::mount::MountFlags::NOSUID;
        rustix::mount::mount("small", folder.path(), "tmpfs", flags, size).unwrap();
        let path = folder.path().join("report.html");
        page(&path).unwrap();
        let large = [PAGE, &[b'x'; 200_000]].concat();
        for target in [path.clone(), folder.path().join("new.html")] {
            let error = write(&target, Kind::Page, &large, Replace::AnyFile).unwrap_err();
            assert!(error.to_string().contains("No space left"), "{error}");
        }
        assert_eq!(fs::read(&path).unwrap(), PAGE);
        assert_eq!(names(folder.path()), ["report.html"]);
        rustix::mount::unmount(folder.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
    });
}

#[test]
fn folders_and_block_devices_are_no_outputs_and_streams_are() {
    let folder = tempfile::tempdir().unwrap();
    assert!(page(folder.path()).unwrap_err().to_string().contains("is a folder"));
    page(Path::new("/dev/null")).unwrap();
    let block = Path::new("/dev/loop0");
    if block.exists() {
        assert!(page(block).unwrap_err().to_string().contains("is a block device"));
    }
    // A link of somebody's to a device is a link.
    let link = folder.path().join("null");
    symlink("/dev/null", &link).unwrap();
    assert!(page(&link).is_err());
}

#[test]
fn a_replaced_file_keeps_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.html");
    page(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    page(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_new_file_replaces_nothing_and_a_lab_replaces_a_lab() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    let lab = b"# a lab\n[lab]\nname = \"a\"\n";
    write(&path, Kind::Lab, lab, Replace::Nothing).unwrap();
    let error = write(&path, Kind::Lab, lab, Replace::Nothing).unwrap_err().to_string();
    assert!(error.contains("exists; name another file"), "{error}");
    write(&path, Kind::Lab, b"[lab]\n", Replace::SameKind).unwrap();
    fs::remove_file(&path).unwrap();
    // Without the mark of this writer, by its content.
    fs::write(&path, lab).unwrap();
    write(&path, Kind::Lab, b"[lab]\nname = \"b\"\n", Replace::SameKind).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "root:x:0:0").unwrap();
    assert!(write(&path, Kind::Lab, lab, Replace::SameKind).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"root:x:0:0");
}

/// Another user who can rename in the folder above exchanges the folder while the file is written.
#[test]
fn the_file_is_made_in_the_folder_that_was_opened_and_in_no_other() {
    let all = tempfile::tempdir().unwrap();
    let [folder, aside] = ["reports", "aside"].map(|name| all.path().join(name));
    fs::create_dir(&folder).unwrap();
    let exchange = |out: &mut dyn Write| {
        fs::rename(&folder, &aside)?;
        fs::create_dir(&folder)?;
        out.write_all(PAGE)
    };
    let content = Content { head: PAGE, write: &exchange };
    let path = folder.join("report.html");
    write_piecewise(&path, Kind::Page, &content, Replace::SameKind).unwrap();
    assert_eq!(names(&folder), [""; 0]);
    assert_eq!(fs::read(aside.join("report.html")).unwrap(), PAGE);
    // And in the place of an earlier one.
    fs::remove_dir(&folder).unwrap();
    fs::rename(&aside, &folder).unwrap();
    write_piecewise(&path, Kind::Page, &content, Replace::SameKind).unwrap();
    assert_eq!((names(&folder).len(), names(&aside).len()), (0, 1));
}

#[test]
fn the_link_of_another_user_above_the_output_is_refused() {
    let all = tempfile::tempdir().unwrap();
    let [folder, link] = ["reports", "link"].map(|name| all.path().join(name));
    fs::create_dir(&folder).unwrap();
    symlink(&folder, &link).unwrap();
    page(&link.join("own.html")).unwrap();
    if !seekwell_testing::root() {
        return seekwell_testing::skip("links_of_others", "needs root to give a link away");
    }
    std::os::unix::fs::lchown(&link, Some(12_345), None).unwrap();
    let error = page(&link.join("report.html")).unwrap_err().to_string();
    assert!(error.contains("link belongs to another user; name the folder itself"), "{error}");
    assert_eq!(names(&folder), ["own.html"]);
}
