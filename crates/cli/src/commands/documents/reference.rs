//! The command reference as Markdown.

use crate::args;
use clap::{Arg, Command};
use seekwell_model::workloads::WORKLOAD_KINDS;
use std::fmt::Write as _;

/// Every visible command with its examples, arguments and options.
pub fn markdown(all: &Command) -> String {
    let mut all = all.clone();
    all.build();
    let mut text = String::from(
        "# The commands\n\n<!-- Made from the definitions in crates/cli; after a change there run \
         `cargo xtask docs`. -->\n\nResults go to standard output, messages to standard error. \
         `seekwell help COMMAND` says the same as this page.\n",
    );
    section(&mut text, &all, "seekwell", 2);
    text
}

fn section(text: &mut String, command: &Command, name: &str, level: usize) {
    let heading = "#".repeat(level);
    let _ = write!(text, "\n{heading} `{name}`\n");
    if let Some(about) = command.get_long_about().or_else(|| command.get_about()) {
        let _ = write!(text, "\n{}\n", plain(&about.to_string()));
    }
    if let Some(help) = command.get_after_help() {
        paragraphs(text, &help.to_string());
    }
    let arguments: Vec<&Arg> = command.get_positionals().filter(|one| !one.is_hide_set()).collect();
    let options: Vec<&Arg> = command
        .get_opts()
        .chain(command.get_arguments().filter(|one| is_switch(one)))
        .filter(|one| !one.is_hide_set() && one.get_id() != "help" && one.get_id() != "version")
        .collect();
    table(text, "Argument", &arguments, value_name);
    let kind = name.strip_prefix("seekwell bench ").unwrap_or_default();
    let (keys, options): (Vec<&Arg>, Vec<&Arg>) =
        options.into_iter().partition(|one| is_lab_key(kind, one));
    if !keys.is_empty() {
        let names: Vec<String> = keys.iter().map(|key| format!("`{}`", option_name(key))).collect();
        let names = names.join(", ");
        let _ =
            write!(text, "\nOptions as the [keys of a lab](lab-reference.md#{kind}): {names}.\n");
    }
    table(text, "Option", &options, option_name);
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        if one.get_name() != "help" {
            section(text, one, &format!("{name} {}", one.get_name()), (level + 1).min(4));
        }
    }
}

/// Returns true if the option of `bench KIND` is a key that the lab reference describes.
fn is_lab_key(kind: &str, option: &Arg) -> bool {
    let kind = WORKLOAD_KINDS.iter().find(|one| one.name == kind);
    let mut keys = kind.into_iter().flat_map(|kind| kind.fields);
    keys.any(|field| field.name == option.get_id().as_str())
}

/// Lists in blocks of their own, prose as it is.
fn paragraphs(text: &mut String, help: &str) {
    for paragraph in help.trim_end().split("\n\n") {
        let is_list = paragraph.lines().any(|line| line.starts_with(' '));
        let _ = match is_list {
            true => write!(text, "\n```text\n{paragraph}\n```\n"),
            false => write!(text, "\n{paragraph}\n"),
        };
    }
}

/// A flag without a value.
fn is_switch(arg: &Arg) -> bool {
    !arg.is_positional() && !arg.get_action().takes_values()
}

fn table(text: &mut String, title: &str, all: &[&Arg], name: fn(&Arg) -> String) {
    if all.is_empty() {
        return;
    }
    let _ = write!(text, "\n| {title} | Meaning |\n| --- | --- |\n");
    for arg in all {
        let _ = writeln!(text, "| `{}` | {} |", name(arg), meaning(arg));
    }
}

fn value_name(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    match names.first() {
        Some(name) => name.to_string(),
        None => arg.get_id().as_str().to_uppercase(),
    }
}

fn option_name(arg: &Arg) -> String {
    let short = arg.get_short().map(|letter| format!("-{letter}"));
    let long = arg.get_long().map(|word| format!("--{word}"));
    let mut name: String = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    if arg.get_action().takes_values() {
        let value = value_name(arg);
        // With an equals sign the value may be left out.
        name.push_str(&match arg.is_require_equals_set() {
            true => format!("[={value}]"),
            false => format!(" {value}"),
        });
    }
    name
}

fn meaning(arg: &Arg) -> String {
    let help = arg.get_long_help().or_else(|| arg.get_help());
    let mut text = plain(&help.map(ToString::to_string).unwrap_or_default());
    if let Some(heading) = arg.get_help_heading().filter(|heading| *heading != args::MORE) {
        text.insert_str(0, &format!("{heading}: "));
    }
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !words.is_empty() && arg.get_action().takes_values() {
        let _ = write!(text, ": {}", words.join(", "));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|one| format!("`{}`", one.to_string_lossy())).collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        let _ = write!(text, " (default {})", defaults.join(", "));
    }
    text
}

/// One line that does not end a table's cell.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
