//! Labs with one mistake each, labs that no machine or not this machine can run, and labs that are
//! right: each with what it must give. `cargo run -p seekwell-spec --example write-golden` writes
//! the expectations anew; read the difference before keeping it.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its files must fail")]

#[path = "golden/render.rs"]
mod render;

use render::{FOLDERS, folder, render};
use std::collections::BTreeSet;

/// Names without extension of the files with this extension.
fn names(folder_name: &str, extension: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder(folder_name)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of_kind = paths.filter(|path| path.extension().is_some_and(|found| found == extension));
    of_kind.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect()
}

/// Compares all labs of a folder with what they must give; tells all that differ at once.
fn compare(folder_name: &str, is_right: impl Fn(&Result<String, String>) -> bool) -> usize {
    let labs = names(folder_name, "toml");
    let mut wrong = Vec::new();
    for lone in labs.symmetric_difference(&names(folder_name, "expected")) {
        wrong.push(format!("{folder_name}/{lone}: a lab without expectation or the reverse\n"));
    }
    for name in &labs {
        let read = |extension: &str| {
            std::fs::read(folder(folder_name).join(format!("{name}.{extension}")))
        };
        let Ok(expected) = read("expected") else { continue };
        let given = render(&read("toml").unwrap(), &format!("{name}.toml"));
        if !is_right(&given) {
            wrong.push(format!("{folder_name}/{name} gives {given:?}\n"));
        }
        let (Ok(text) | Err(text)) = given;
        if text.as_bytes() != expected {
            let expected = String::from_utf8_lossy(&expected);
            wrong.push(format!("{folder_name}/{name} gives\n{text}\nand not\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    labs.len()
}

#[test]
fn every_mistake_has_its_message() {
    let mistakes = compare("invalid", Result::is_err);
    assert!(mistakes >= 140, "{mistakes} mistakes");
}

#[test]
fn what_cannot_be_run_is_refused_with_the_reason() {
    let impossible = compare("impossible", Result::is_err);
    assert!(impossible >= 12, "{impossible} labs");
}

#[test]
fn labs_that_are_right_give_what_they_say() {
    let valid = compare("valid", Result::is_ok);
    assert!(valid >= 12, "{valid} labs");
}

#[test]
fn labs_of_impossible_stacks_can_be_read_and_invalid_ones_not() {
    for (folder_name, readable) in [("invalid", false), ("impossible", true)] {
        for name in names(folder_name, "toml") {
            let file = folder(folder_name).join(format!("{name}.toml"));
            let read = seekwell_spec::read_lab_bytes(&std::fs::read(file).unwrap(), &name);
            assert_eq!(read.is_ok(), readable, "{folder_name}/{name}");
        }
    }
}

#[test]
fn no_folder_of_labs_is_left_out() {
    let entries = std::fs::read_dir(folder("")).unwrap();
    let found: BTreeSet<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    assert_eq!(found, FOLDERS.iter().map(|name| (*name).to_owned()).collect());
}

#[test]
fn every_message_says_where_what_and_what_to_write() {
    for name in names("invalid", "toml") {
        let bytes = std::fs::read(folder("invalid").join(format!("{name}.toml"))).unwrap();
        let mistake = seekwell_spec::read_lab_bytes(&bytes, "lab.toml").unwrap_err();
        let text = mistake.to_string();
        let at = format!("lab.toml:{}:{}: ", mistake.line, mistake.column);
        assert!(text.starts_with(&at), "{name}: {text}");
        assert!(mistake.line >= 1 && mistake.column >= 1, "{name}");
        assert!(text.lines().last().unwrap().trim_start().starts_with("= "), "{name}: {text}");
        assert!(!mistake.remedy.is_empty() && !mistake.message.is_empty(), "{name}");
        assert!(!text.contains('\x1b'), "{name} steers the terminal");
        let lines = String::from_utf8_lossy(&bytes).lines().count();
        assert!(mistake.line as usize <= lines.max(1), "{name}: line {}", mistake.line);
    }
}
