use super::*;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn a_code_finds_its_own_definition() {
    for (index, definition) in WARNINGS.iter().enumerate() {
        let made = Warning { code: definition.code.into(), text: "t".into(), remedy: "r".into() };
        assert_eq!(made.definition(), Some(definition), "entry {index}");
    }
    let warning = Warning::new(WarningCode::ServedFromCache, "seen");
    assert_eq!(warning.code, "served-from-cache");
    assert!(warning.is(WarningCode::ServedFromCache) && !warning.is(WarningCode::TooShort));
    assert_eq!(Warning::new(WarningCode::BusyProcessors, "seen").code, "busy-processors");
}

#[test]
fn codes_are_unique_and_every_entry_says_what_to_do() {
    let codes: BTreeSet<&str> = WARNINGS.iter().map(|definition| definition.code).collect();
    assert_eq!(codes.len(), WARNINGS.len());
    for definition in WARNINGS {
        let code = definition.code;
        assert!(code.chars().all(|c| c.is_ascii_lowercase() || c == '-' || c == '1'), "{code}");
        assert!(definition.meaning.ends_with('.'), "{code}: a meaning is a sentence");
        assert!(
            !definition.remedy.is_empty() && !definition.remedy.ends_with('.'),
            "{code}: a remedy is a fragment"
        );
    }
}

/// Scripts match on these: a code may be added, and none may go.
#[test]
fn no_promised_code_is_gone() {
    let kept = include_str!("codes.txt");
    for code in kept.lines() {
        assert!(WARNINGS.iter().any(|definition| definition.code == code), "{code} is gone");
    }
    assert_eq!(kept.lines().count(), WARNINGS.len(), "add the new code to codes.txt");
}

#[test]
fn these_keep_a_trial_from_the_ranking() {
    let not_ranked: Vec<&str> = WARNINGS
        .iter()
        .filter(|definition| definition.severity == Severity::NotRanked)
        .map(|definition| definition.code)
        .collect();
    assert_eq!(
        not_ranked,
        [
            "fsck-damage", "image-changed", "served-from-cache", "not-steady", "wrong-data",
            "low-fidelity",
        ]
    );
    let unknown =
        Warning { code: "of-next-year".into(), text: String::new(), remedy: String::new() };
    assert!(!unknown.keeps_from_ranking());
}

/// The type takes a code of the catalogue only; what is left is a literal of the struct.
#[test]
fn no_production_code_makes_a_warning_past_the_catalogue() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    rust_files(&crates, &mut files);
    assert!(files.len() > 300, "{} files seen", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let literal = text.lines().find(|line| {
            let code = line.split("//").next().unwrap_or_default();
            let declares = ["struct ", "impl ", "-> "].iter().any(|word| code.contains(word));
            code.contains("Warning {") && !declares
        });
        assert_eq!(literal, None, "{}: use Warning::new", file.display());
    }
}

/// Production sources below a folder of crates.
fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let skipped = ["tests", "tests.rs", "target", "testing", "fixtures", "warning.rs"];
        if skipped.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            rust_files(&path, into);
        } else if name.ends_with(".rs") {
            into.push(path);
        }
    }
}
