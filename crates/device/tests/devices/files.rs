//! The device files that come with Seekwell.

use std::fs;
use std::path::{Path, PathBuf};

use seekwell_device::{DeviceFile, build, draw, load};

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

#[test]
fn every_file_can_be_drawn() {
    for file in all() {
        let text = draw(&file);
        assert!(text.starts_with(file.name()), "{text}");
        assert!(text.contains("random reads: mean latency in ms"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
        let rotates = build(&file, 1).geometry().rotational;
        assert_eq!(text.contains("seek time"), rotates, "{text}");
        assert_eq!(text.contains("write cliff"), !file.is_abstract(), "{text}");
    }
}
