use super::*;

fn keeping() -> Keeping {
    Keeping { memory_bytes: 1 << 30, directory: std::env::temp_dir() }
}

#[test]
fn paths_lead_where_they_lead_in_the_guest() {
    let lead = |path: &str| guest_path(Path::new(path)).unwrap();
    assert_eq!(lead("/bin/sh"), "/usr/bin/sh");
    assert_eq!(lead("/sbin/mkfs.ext4"), "/usr/sbin/mkfs.ext4");
    assert_eq!(lead("/lib64/ld.so"), "/usr/lib64/ld.so");
    assert_eq!(lead("/library/x"), "/library/x");
    assert_eq!(lead("/a/./b/../c"), "/a/c");
    assert!(matches!(guest_path(Path::new("bin/sh")), Err(RootError::Relative(..))));
}

#[test]
fn a_tool_comes_with_its_loader_and_libraries() {
    let init = std::env::current_exe().unwrap();
    let mut builder = RootBuilder::new(&init).unwrap();
    builder.tool(Path::new("/bin/sh")).unwrap();
    builder.text(Path::new("/etc/note"), "hello").unwrap();
    let image = builder.build(keeping()).unwrap();
    let paths: Vec<&str> = image.manifest().iter().map(|entry| entry.path.as_str()).collect();
    let has = |part: &str| paths.iter().any(|path| path.contains(part));
    assert!(has("/seekwell") && has("libc.so") && has("ld-linux"), "{paths:?}");
    let note = image.manifest().iter().find(|entry| entry.path == "/etc/note").unwrap();
    let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert_eq!((note.bytes, note.sha256.as_str()), (5, hello));
    assert_eq!(image.hash().len(), 64);
}

#[test]
fn what_is_not_there_is_named() {
    let mut builder = RootBuilder::new(&std::env::current_exe().unwrap()).unwrap();
    let error = builder.tool(Path::new("/no/such/tool")).unwrap_err();
    assert!(
        error.to_string().starts_with("cannot read /no/such/tool for the root image"),
        "{error}"
    );
}

#[test]
fn the_hash_follows_the_files() {
    let init = std::env::current_exe().unwrap();
    let hash = |text: &str| {
        let mut builder = RootBuilder::new(&init).unwrap();
        builder.text(Path::new("/etc/note"), text).unwrap();
        builder.build(keeping()).unwrap().hash().to_owned()
    };
    assert_eq!(hash("a"), hash("a"));
    assert_ne!(hash("a"), hash("b"));
}
