use super::*;
use crate::kernel::KernelSource;

#[test]
fn every_patch_says_why_before_what() {
    let all: Vec<&Patch> = patches(KernelSet::Layers).collect();
    for patch in &all {
        let (reason, change) = patch.text.split_once("\n--- a/").unwrap();
        assert!(reason.lines().count() > 3, "{} has no reason", patch.name);
        assert!(change.contains("\n+++ b/"), "{}", patch.name);
    }
    assert!(all.windows(2).all(|pair| pair[0].name < pair[1].name), "applied in their order");
}

#[test]
fn every_patch_of_the_folder_is_applied() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/patches");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let applied: Vec<&str> = patches(KernelSet::Layers).map(|patch| patch.name).collect();
    assert_eq!(files, applied);
    // The work of layers is charged where there are layers.
    assert_eq!(patches(KernelSet::Full).count(), applied.len() - 1);
}

#[test]
fn no_option_is_given_twice() {
    for set in [KernelSet::Full, KernelSet::Reduced, KernelSet::Layers] {
        let text = configuration(set);
        let name = |line: &str| {
            let line = line.strip_prefix("# ").unwrap_or(line);
            let name = line.split(['=', ' ']).next().unwrap_or_default();
            name.starts_with("CONFIG_").then(|| name.to_owned())
        };
        let mut names: Vec<String> = text.lines().filter_map(name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(count > 80, "{count} options");
    }
}

#[test]
fn an_id_follows_source_and_set() {
    let one = tempfile::tempdir().unwrap();
    let tarball = one.path().join("a.tar");
    std::fs::write(&tarball, "source").unwrap();
    let id_of = |path: &std::path::Path, set| {
        let source = KernelSource::Tarball(path.to_path_buf());
        id(&KernelPlan { source, set, jobs: 1 }).unwrap()
    };
    let first = id_of(&tarball, KernelSet::Full);
    assert!(is_id(&first), "{first}");
    let copy = one.path().join("b.tar");
    std::fs::write(&copy, "source").unwrap();
    assert_eq!(id_of(&copy, KernelSet::Full), first, "the name of the file does not count");
    assert_ne!(id_of(&tarball, KernelSet::Reduced), first);
    std::fs::write(&copy, "Source").unwrap();
    assert_ne!(id_of(&copy, KernelSet::Full), first);
}

#[test]
fn names_of_other_things_are_no_ids() {
    assert!(is_id("0123456789abcdef"));
    for name in ["", "lock", "0123456789abcdeF", "0123456789abcde", "0123456789abcdef0"] {
        assert!(!is_id(name), "{name}");
    }
}

#[test]
fn each_set_configures_the_filesystems_that_the_catalogue_says() {
    for definition in seekwell_model::filesystems::FILESYSTEMS {
        // A guest reaches no other machine.
        if definition.is_raw() || definition.is_remote {
            continue;
        }
        let has = |set| {
            let text = configuration(set);
            // One of these options brings it: ext2 has a driver of its own or that of ext4.
            let mut options = definition.kernel_config.split([' ', ',']);
            options.any(|option| {
                let set_line = format!("{option}=y");
                option.starts_with("CONFIG_") && text.lines().any(|line| line == set_line)
            })
        };
        assert!(has(KernelSet::Full), "{}", definition.name);
        assert_eq!(has(KernelSet::Reduced), definition.in_reduced_kernel, "{}", definition.name);
    }
}
