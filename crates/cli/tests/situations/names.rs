//! Names in labs that mean something to a path, a shell, a terminal, a spreadsheet or a page.

use super::{Place, difference, snapshot, try_family};
use std::fs;

/// As a TOML string between quotes.
const NAMES: [&str; 32] = [
    "../../others/canary",
    "/etc/passwd",
    "..",
    ".",
    "-rf",
    "--output=../others/canary",
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "| tee ../others/canary",
    "a\\nb",
    "a\\tb",
    "\\u001b[2Jx",
    "\\u0000",
    "\\u202Eevil",
    "%s%n",
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "' OR 1=1 --",
    "",
    "a/b",
    "~root",
    "*",
    "$IFS",
    "\\\\",
    "\\u007f",
    "\\u2028",
    "\\U0001F468\\u200D\\U0001F469",
    "| x | y |",
    "&lt;b&gt;",
    "+1+cmd|' /C calc'!A0",
    "@SUM(1)",
];

const FIELDS: [&str; 9] = [
    "lab", "question", "device", "journal", "filesystem", "scheduler", "memory", "workload",
    "metric",
];

#[test]
fn names_in_labs_are_only_names() {
    let all: Vec<(&str, &str)> =
        FIELDS.iter().flat_map(|field| NAMES.iter().map(|name| (*field, *name))).collect();
    try_family("names", all, |(field, name)| {
        attempt(field, name).map_err(|why| format!("{field} = {name:?}: {why}"))
    });
}

fn lab(field: &str, name: &str) -> String {
    let of = |this: &str, usual: &'static str| {
        if this == field { name.to_owned() } else { usual.to_owned() }
    };
    format!(
        "[lab]\nname = \"{}\"\nquestion = \"{}\"\n[[device]]\nname = \"{}\"\nram = \"64MiB\"\n\
         [[journal]]\nname = \"{}\"\n[[filesystem]]\ntype = \"ext4\"\nname = \"{}\"\n\
         [[filesystem]]\ntype = \"ext4\"\nname = \"other\"\nmkfs = [\"-O\", \"^metadata_csum\"]\n\
         [scheduler]\nchoose = [\"{}\"]\n[memory]\nchoose = [\"{}\"]\n\
         [[workload]]\nname = \"{}\"\nkind = \"mail\"\nfiles = 50\n[judge]\nmetric = \"{}\"\n",
        of("lab", "lab"),
        of("question", "which?"),
        of("device", "device"),
        of("journal", "journal"),
        of("filesystem", "filesystem"),
        of("scheduler", "none"),
        of("memory", "512MiB"),
        of("workload", "work"),
        of("metric", "unpack.elapsed"),
    )
}

fn attempt(field: &str, name: &str) -> Result<(), String> {
    let place = Place::new();
    fs::write(place.home().join("lab.toml"), lab(field, name)).unwrap();
    let before = snapshot(place.home().parent().unwrap());
    for arguments in [&["plan", "lab.toml"][..], &["plan", "lab.toml", "--json"]] {
        let told = place.run(arguments)?;
        // Its own words are next to the two directories.
        let mut after = snapshot(place.home().parent().unwrap());
        after.retain(|path, _| !path.ends_with("said") && !path.ends_with("data"));
        if let Some(what) = difference(&before, &after, true) {
            return Err(what);
        }
        // A plan that is refused says what is wrong with the name.
        if told.code != 0 && told.text.trim().is_empty() {
            return Err(format!("status {} without a word", told.code));
        }
    }
    Ok(())
}
