//! Promises of the manifests: the workspace's lints in every crate, and dependencies along the
//! arrows.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::exceptions::line_at;
use super::rust_file::room;
use super::{Finding, Rule};
use crate::tree::Tree;

/// The rooms by layer, lowest first. A room may know those of lower layers, never one of its own.
const LAYERS: [&[&str]; 10] = [
    &["model", "trust"],
    &["spec", "stats", "trace", "device"],
    &[
        "host", "engine", "observe", "replay", "store", "report", "replicate", "cluster", "probe",
        "recordings",
    ],
    &["workload", "capture"],
    &["agent"],
    &["virtual"],
    &["runner", "serve"],
    &["session"],
    &["cli"],
    &["bench"],
];

/// A room that may know less than its layer allows.
const NARROW: [(&str, &[&str]); 2] =
    [("report", &["model", "stats"]), ("replicate", &["model", "stats"])];

/// Shared test code: any room may depend on it, for its tests only. `testing` depends on no room,
/// `fixtures` on the model alone.
const FOR_TESTS: [&str; 2] = ["testing", "fixtures"];

/// The parser of the command line and its generators: for `cli` alone.
const COMMAND_LINE: [&str; 3] = ["clap", "clap_complete", "clap_mangen"];

/// Lints of the root manifest that the house rules rest on.
const LINTS: [(&str, &str); 11] = [
    ("rust", "missing_docs"),
    ("rust", "unsafe_op_in_unsafe_fn"),
    ("clippy", "undocumented_unsafe_blocks"),
    ("clippy", "unwrap_used"),
    ("clippy", "expect_used"),
    ("clippy", "print_stdout"),
    ("clippy", "print_stderr"),
    ("clippy", "exit"),
    ("clippy", "dbg_macro"),
    ("clippy", "todo"),
    ("clippy", "unimplemented"),
];

/// Errors without a type: fine in tools and tests, not in a library.
const UNTYPED_ERRORS: [&str; 2] = ["anyhow", "eyre"];

const ROOT: &str = "Cargo.toml";

pub(super) fn check(tree: &Tree, findings: &mut Vec<Finding>) {
    let root = tree.text(ROOT).and_then(|text| parse(ROOT, text, findings)).unwrap_or_default();
    check_root(&root, findings);
    for (path, text) in tree.iter() {
        let is_member = path == "xtask/Cargo.toml"
            || (path.starts_with("crates/")
                && path.ends_with("/Cargo.toml")
                && path.matches('/').count() == 2);
        if is_member && let Some(manifest) = parse(path, text, findings) {
            Member { path, text, room: room(path), root: &root, findings }.check(&manifest);
        }
    }
}

fn parse<'t>(path: &str, text: &'t str, findings: &mut Vec<Finding>) -> Option<DeTable<'t>> {
    match DeTable::parse(text) {
        Ok(manifest) => Some(manifest.into_inner()),
        Err(error) => {
            let line = error.span().map_or(1, |span| line_at(text, span.start));
            let what = format!("not TOML that parses ({})", error.message());
            findings.push(Finding::new(Rule::Syntax, path, line, "", what));
            None
        }
    }
}

fn get<'m, 't>(table: &'m DeTable<'t>, path: &[&str]) -> Option<&'m DeValue<'t>> {
    let (last, folders) = path.split_last()?;
    let mut table = table;
    for folder in folders {
        table = table.get(*folder)?.get_ref().as_table()?;
    }
    table.get(*last).map(Spanned::get_ref)
}

fn check_root(manifest: &DeTable<'_>, findings: &mut Vec<Finding>) {
    for (tool, lint) in LINTS {
        let level = get(manifest, &["workspace", "lints", tool, lint]);
        let level = level
            .and_then(|entry| entry.as_str().or_else(|| entry.get("level")?.as_ref().as_str()));
        if !matches!(level, Some("deny" | "forbid")) {
            let what = format!("no `{lint} = \"deny\"` in [workspace.lints.{tool}]");
            findings.push(Finding::new(Rule::Lints, ROOT, 1, lint, what));
        }
    }
}

/// The rooms below `room`'s layer; nothing for a name the design does not know.
fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

/// The room whose package is called `package`.
fn room_of_package(package: &str) -> Option<&str> {
    match package {
        "seekwell" => Some("cli"),
        "xtask" => Some("xtask"),
        _ => package.strip_prefix("seekwell-"),
    }
}

struct Member<'c> {
    path: &'c str,
    text: &'c str,
    room: &'c str,
    /// The workspace's manifest.
    root: &'c DeTable<'c>,
    findings: &'c mut Vec<Finding>,
}

impl Member<'_> {
    fn add(&mut self, rule: Rule, line: usize, item: &str, what: String) {
        self.findings.push(Finding::new(rule, self.path, line, item, what));
    }

    fn check(&mut self, manifest: &DeTable<'_>) {
        let opts_in = get(manifest, &["lints", "workspace"]).and_then(DeValue::as_bool);
        if opts_in != Some(true) {
            self.add(
                Rule::Lints,
                1,
                "",
                "no `[lints] workspace = true` in this manifest".to_owned(),
            );
        }
        let package =
            get(manifest, &["package", "name"]).and_then(DeValue::as_str).unwrap_or_default();
        if room_of_package(package) != Some(self.room) {
            let what = format!("package `{package}` in the folder of `{}`", self.room);
            self.add(Rule::Arrow, 1, package, what);
        }
        if layer(self.room).is_none() && self.room != "xtask" && !FOR_TESTS.contains(&self.room) {
            let what = format!(
                "`{}`, a room that the layers in xtask/src/tidy/manifests.rs do not know",
                self.room
            );
            self.add(Rule::Arrow, 1, package, what);
        }
        self.check_tables(manifest);
        let targets = get(manifest, &["target"]).and_then(DeValue::as_table);
        for target in targets.into_iter().flat_map(|targets| targets.values()) {
            if let Some(table) = target.get_ref().as_table() {
                self.check_tables(table);
            }
        }
    }

    fn check_tables(&mut self, table: &DeTable<'_>) {
        for (name, is_dev) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let Some(dependencies) = get(table, &[name]).and_then(DeValue::as_table) else {
                continue;
            };
            for (key, value) in dependencies.iter() {
                let package = self.package(key.get_ref(), value.get_ref());
                let line = line_at(self.text, key.span().start);
                if COMMAND_LINE.contains(&package.as_str()) && self.room != "cli" {
                    let what = format!("`{package}` in [{name}] outside cli");
                    self.add(Rule::Clap, line, &package, what);
                }
                if let Some(why) = self.refuse(&package, is_dev) {
                    self.add(Rule::Arrow, line, &package, format!("`{package}` in [{name}] {why}"));
                }
            }
        }
    }

    /// The package behind a dependency's name, which this manifest or the workspace's may have
    /// chosen freely.
    fn package(&self, key: &str, value: &DeValue<'_>) -> String {
        let renamed =
            |value: &DeValue<'_>| Some(value.get("package")?.as_ref().as_str()?.to_owned());
        let of_workspace = || get(self.root, &["workspace", "dependencies", key]).and_then(renamed);
        renamed(value).or_else(of_workspace).unwrap_or_else(|| key.to_owned())
    }

    /// Returns the reason why this member may not depend on `package`; `None` if it may.
    fn refuse(&self, package: &str, is_dev: bool) -> Option<String> {
        if UNTYPED_ERRORS.contains(&package) && !is_dev && self.room != "xtask" {
            return Some("of a library, which has typed errors".to_owned());
        }
        let known = room_of_package(package)?;
        if self.room == "xtask" {
            return None;
        }
        if known == "xtask" {
            return Some("though it is a tool, not a room".to_owned());
        }
        if FOR_TESTS.contains(&known) {
            return (!is_dev).then(|| "though it serves tests only".to_owned());
        }
        if (self.room, known) == ("fixtures", "model") {
            return None;
        }
        let narrow = NARROW.iter().find(|(room, _)| *room == self.room);
        if let Some((_, allowed)) = narrow
            && !is_dev
            && !allowed.contains(&known)
        {
            return Some(format!(
                "though `{}` may know {} alone",
                self.room,
                allowed.join(" and ")
            ));
        }
        match (layer(known), layer(self.room)) {
            (None, _) => Some("which is no room of the design".to_owned()),
            (Some(below), Some(own)) if below < own => None,
            (Some(below), Some(own)) if below == own => {
                Some(format!("though `{known}` is of the same layer as `{}`", self.room))
            }
            _ => Some(format!("though `{known}` is above `{}`", self.room)),
        }
    }
}
