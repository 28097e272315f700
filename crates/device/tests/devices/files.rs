//! The device files that come with Seekwell.

use std::fs;
use std::path::{Path, PathBuf};

use seekwell_device::{DeviceFile, build, load};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../devices")
}

/// All device files, by name.
pub fn all() -> Vec<DeviceFile> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    assert!(paths.len() >= 15, "the folder holds {} files", paths.len());
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        let file = load(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(path.file_stem().unwrap().to_str().unwrap(), file.name());
        file
    };
    paths.iter().map(read).collect()
}

#[test]
fn every_file_loads_and_builds() {
    for file in all() {
        for bus in file.buses() {
            let on_bus = file.on_bus(bus).unwrap();
            assert!(on_bus.max_request_bytes() <= file.max_request_bytes().max(128 * 1024));
        }
        let model = build(&file, 1);
        assert!(model.geometry().sectors_512 > 0, "{}", file.name());
        assert_eq!(model.next_event_ns(), None);
    }
}

#[test]
fn every_range_can_be_used_at_both_ends() {
    for file in all() {
        for (key, ends) in file.ranges() {
            for end in ends {
                let changed = file.with(key, *end);
                assert!(changed.is_ok(), "{} with {key} = {end}: {:?}", file.name(), changed.err());
            }
        }
    }
}

/// Words of a source that is none.
const DOUBTS: [&str; 3] = ["guess", "assum", "no figure"];

/// Begins the source of a number that is true because the file says so: of no device, or how the model is used.
const BY_DEFINITION: &str = "definition: ";

/// Numbers of a device file that no source gives and no range bounds, and sources without the word that says which they are.
fn unbounded(file: &DeviceFile) -> Vec<String> {
    let is_about = |name: &str, key: &str| {
        key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut found = Vec::new();
    for (key, value) in file.values() {
        let is_number = value.replace('_', "").parse::<f64>().is_ok();
        let sources = file.sources().iter().filter(|(name, _)| is_about(name, &key));
        let Some((_, source)) = sources.max_by_key(|(name, _)| name.len()) else { continue };
        if source.starts_with("chosen:") {
            found.push(format!("{key}: '{source}' is a guess or a definition; say which"));
        }
        let is_doubtful = DOUBTS.iter().any(|word| source.to_lowercase().contains(word));
        let is_bounded = file.ranges().contains_key(&key) || source.starts_with(BY_DEFINITION);
        if is_number && is_doubtful && !is_bounded {
            found.push(format!("{key} = {value} has no range: {source}"));
        }
    }
    found
}

#[test]
fn a_number_without_a_source_is_a_labelled_guess_with_a_range() {
    let mut guesses = 0;
    for file in all() {
        assert_eq!(unbounded(&file), [""; 0], "{}", file.name());
        // The rule notices each range that is taken away, where no source is behind the number.
        for key in file.ranges().keys() {
            let text = fs::read_to_string(folder().join(format!("{}.toml", file.name()))).unwrap();
            let line = format!("\"{key}\" = [");
            let without: Vec<&str> =
                text.lines().filter(|written| !written.starts_with(&line)).collect();
            let missing = unbounded(&load(&without.join("\n")).unwrap());
            assert!(missing.len() <= 1, "{missing:?}");
            guesses += missing.len();
        }
    }
    assert!(guesses > 150, "{guesses} guesses");
}
