use super::*;

fn tree() -> tempfile::TempDir {
    let top = tempfile::tempdir().unwrap();
    fs::create_dir_all(top.path().join("arch/um")).unwrap();
    fs::write(top.path().join("arch/um/Kconfig"), "config UML").unwrap();
    fs::write(top.path().join("Makefile"), "all:").unwrap();
    symlink("Makefile", top.path().join("link")).unwrap();
    top
}

fn hash(top: &Path) -> [u8; 32] {
    KernelSource::Directory(top.to_path_buf()).hash().unwrap()
}

#[test]
fn a_copy_has_the_same_hash_and_leaves_out_what_was_built() {
    let top = tree();
    let before = hash(top.path());
    fs::create_dir(top.path().join(".git")).unwrap();
    fs::write(top.path().join(".git/HEAD"), "x").unwrap();
    for made in ["main.o", "vmlinux", ".config", "arch/um/built-in.a", ".main.o.cmd"] {
        fs::write(top.path().join(made), "built").unwrap();
    }
    assert_eq!(hash(top.path()), before);
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path().join("tree");
    KernelSource::Directory(top.path().to_path_buf()).unpack(&copy).unwrap();
    assert_eq!(hash(&copy), before);
    assert_eq!(fs::read_link(copy.join("link")).unwrap(), Path::new("Makefile"));
    assert!(!copy.join("main.o").exists() && !copy.join(".git").exists());
}

#[test]
fn every_part_of_a_tree_counts() {
    let changes: [fn(&Path); 5] = [
        |top| fs::write(top.join("Makefile"), "all: x").unwrap(),
        |top| fs::write(top.join("new"), "").unwrap(),
        |top| fs::rename(top.join("Makefile"), top.join("makefile")).unwrap(),
        |top| fs::set_permissions(top.join("Makefile"), fs::Permissions::from_mode(0o755)).unwrap(),
        |top| {
            fs::remove_file(top.join("link")).unwrap();
            symlink("arch", top.join("link")).unwrap();
        },
    ];
    let plain = hash(tree().path());
    assert_eq!(hash(tree().path()), plain);
    for change in changes {
        let top = tree();
        change(top.path());
        assert_ne!(hash(top.path()), plain);
    }
}

#[test]
fn a_tar_file_is_unpacked_without_its_top() {
    let top = tree();
    let archive = tempfile::tempdir().unwrap();
    let path = archive.path().join("source.tar");
    let status = Command::new("tar")
        .arg("--create")
        .arg("--file")
        .arg(&path)
        .arg("--directory")
        .arg(top.path().parent().unwrap())
        .arg(top.path().file_name().unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    let source = KernelSource::Tarball(path.clone());
    source.check().unwrap();
    let tree = archive.path().join("tree");
    source.unpack(&tree).unwrap();
    assert_eq!(fs::read_to_string(tree.join("arch/um/Kconfig")).unwrap(), "config UML");
    fs::write(&path, "no archive").unwrap();
    let error = source.unpack(&archive.path().join("other")).unwrap_err().to_string();
    assert!(error.starts_with("cannot unpack "), "{error}");
}
