use super::*;

fn kernel(id: &str) -> Kernel {
    Kernel {
        id: id.to_owned(),
        version: "6.12.0-test".to_owned(),
        set: KernelSet::Reduced,
        source: "somewhere".to_owned(),
        recipe: String::new(),
        path: PathBuf::new(),
    }
}

/// A tree as a build leaves it.
fn built_tree(site: &Path) -> PathBuf {
    let tree = site.join("tree");
    fs::create_dir(&tree).unwrap();
    fs::write(tree.join("linux"), "program").unwrap();
    fs::write(tree.join(".config"), "CONFIG_X=y").unwrap();
    tree
}

#[test]
fn what_was_kept_is_found_and_listed() {
    let cache = tempfile::tempdir().unwrap();
    assert_eq!(list(&cache.path().join("none")).unwrap(), []);
    for id in ["00000000000000ff", "0000000000000001"] {
        let site = tempfile::tempdir_in(cache.path()).unwrap();
        let tree = built_tree(site.path());
        let log = cache.path().join("log");
        fs::write(&log, "built").unwrap();
        keep(&kernel(id), &tree, &log, cache.path(), site.path()).unwrap();
    }
    let found = find(cache.path(), "00000000000000ff").unwrap().unwrap();
    assert_eq!(found.path, cache.path().join("00000000000000ff/linux"));
    assert_eq!(fs::read_to_string(&found.path).unwrap(), "program");
    assert_eq!(
        fs::read_to_string(cache.path().join("00000000000000ff/build.log")).unwrap(),
        "built"
    );
    let ids: Vec<String> =
        list(cache.path()).unwrap().into_iter().map(|kernel| kernel.id).collect();
    assert_eq!(ids, ["0000000000000001", "00000000000000ff"]);
    assert_eq!(find(cache.path(), "0000000000000002").unwrap(), None);
}

#[test]
fn facts_that_cannot_be_read_are_an_error() {
    let cache = tempfile::tempdir().unwrap();
    fs::create_dir(cache.path().join("0000000000000001")).unwrap();
    assert_eq!(list(cache.path()).unwrap(), [], "a directory without facts is no kernel");
    fs::write(cache.path().join("0000000000000001").join(FACTS), "{").unwrap();
    let error = list(cache.path()).unwrap_err().to_string();
    assert!(error.contains("cannot understand"), "{error}");
}

#[test]
fn what_an_interrupted_build_left_is_removed() {
    let cache = tempfile::tempdir().unwrap();
    fs::create_dir_all(cache.path().join("building-abc/tree")).unwrap();
    fs::create_dir(cache.path().join("0000000000000001")).unwrap();
    remove_abandoned(cache.path()).unwrap();
    let left: Vec<_> =
        fs::read_dir(cache.path()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["0000000000000001"]);
}

#[test]
fn a_source_that_is_not_there_is_named_with_its_remedy() {
    let cache = tempfile::tempdir().unwrap();
    let plan = |source| KernelPlan { source, set: KernelSet::Full, jobs: 1 };
    let message = |source| build(&plan(source), cache.path(), &mut |_| {}).unwrap_err().to_string();
    assert_eq!(
        message(KernelSource::Tarball("/none.tar.xz".into())),
        "kernel source not found at /none.tar.xz; run `apt-get install linux-source-6.12`, or name a tree"
    );
    assert_eq!(
        message(KernelSource::Directory("/etc".into())),
        "/etc has no User-Mode Linux; name the top directory of a Linux source tree"
    );
}
