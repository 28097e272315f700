//! The command line with its help: commands in groups, worked examples first, and the options that most
//! runs need. `seekwell help COMMAND` lists all of them.

use super::examples;
use clap::{Arg, Command, CommandFactory};
use seekwell_model::laws::law_table;

/// Help of a command: its purpose, examples, then usage.
const TEMPLATE: &str = "{about}{after-help}\n\n{usage-heading} {usage}\n\n{all-args}";

/// Groups of commands, in the order of the help.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Ask", &["ask", "doctor", "try", "init", "plan", "run", "advise"]),
    ("Measure", &["bench", "watch", "capture"]),
    ("Understand", &["report", "why", "compare", "trace", "device", "atlas"]),
    ("Keep", &["file", "kernel"]),
];

/// Flags of a kind of `bench` that its help shows; those after them are further options.
const BENCH_FLAGS: usize = 6;
/// Options of every kind of `bench` that its help always shows, and those that it leaves out where there are
/// many.
const BENCH_OUTPUTS: [&str; 2] = ["json", "job-file"];
const BENCH_FURTHER: [&str; 3] = ["seed", "direct", "rounds"];

/// The whole command line, `bench` included; help shows the options that most runs need.
#[must_use]
pub fn command() -> Command {
    let all = documented();
    let (groups, kinds) = (groups(&all), kinds(&all));
    let all = each(all, &mut |path, command| brief(path, command));
    all.override_help(groups).mut_subcommand("bench", |bench| bench.override_help(kinds))
}

/// The help of a command with all of its options, as the message that clap makes of it. Without a command
/// that of the program.
#[must_use]
pub fn whole(words: &[String]) -> clap::Error {
    let (all, words) = match words.is_empty() {
        true => (command(), vec!["seekwell".to_owned()]),
        false => (documented(), [&["seekwell".to_owned()][..], words].concat()),
    };
    let asked = all.try_get_matches_from(words.into_iter().chain(["--help".to_owned()]));
    let unasked = "--help was not understood";
    asked.err().unwrap_or_else(|| clap::Error::raw(clap::error::ErrorKind::InvalidValue, unasked))
}

/// The whole command line with every option in its help, for documents.
#[must_use]
pub fn documented() -> Command {
    let all = super::Cli::command().subcommand(crate::bench_flags::command());
    each(all, &mut |path, command| match examples::of(path) {
        Some(text) if path == "why" => {
            let text = format!(
                "{}\n\nLaws, what switching one off means, and the models that have it:\n{}",
                flowing(text),
                law_table()
            );
            command.help_template(TEMPLATE).after_help(text)
        }
        Some(text) => command.help_template(TEMPLATE).after_help(flowing(text)),
        None => command,
    })
}

/// A command and all below it, each changed by its path without `seekwell`; that of the program is
/// `seekwell`.
fn each(command: Command, change: &mut dyn FnMut(&str, Command) -> Command) -> Command {
    fn below(
        parent: &str,
        command: Command,
        change: &mut dyn FnMut(&str, Command) -> Command,
    ) -> Command {
        command.mut_subcommands(|one| {
            let path = format!("{parent}{}", one.get_name());
            let one = change(&path, one);
            below(&format!("{path} "), one, change)
        })
    }
    let command = change("seekwell", command);
    below("", command, change)
}

/// Prose in one line per paragraph, so that the terminal alone breaks it; lists stay as they are.
fn flowing(text: &str) -> String {
    let mut out = String::new();
    let mut is_prose = false;
    for line in text.lines() {
        let is_more = !line.is_empty() && !line.starts_with(' ') && !line.ends_with("Examples:");
        out.push_str(match (is_prose && is_more, out.is_empty()) {
            (_, true) => "",
            (true, _) => " ",
            (false, _) => "\n",
        });
        out.push_str(line);
        is_prose = is_more;
    }
    out
}

/// Hides the further options, those below a heading and most of a kind of `bench`; the others get one
/// sentence each.
fn brief(path: &str, command: Command) -> Command {
    // The laws are for those who ask for all of the help.
    let examples = examples::of(path).filter(|_| path == "why");
    let command = examples.into_iter().fold(command, |one, text| one.after_help(flowing(text)));
    let is_bench = path.starts_with("bench ");
    let further: Vec<String> = if is_bench {
        further_flags(&command)
    } else {
        let below = command.get_arguments().filter(|arg| arg.get_help_heading().is_some());
        below.map(|arg| arg.get_id().to_string()).collect()
    };
    let more = match further.len() {
        0 if is_bench => "Whole descriptions".to_owned(),
        0 => return command,
        1 => "1 more option".to_owned(),
        number => format!("{number} more options"),
    };
    let hidden = |arg: Arg| arg.hide(true);
    let command = further.into_iter().fold(command, |command, id| command.mut_arg(id, hidden));
    command
        .mut_args(first_sentence)
        .help_template(format!("{TEMPLATE}\n\n{more}: seekwell help {path}"))
}

fn further_flags(command: &Command) -> Vec<String> {
    let all = command.get_arguments().filter(|arg| !arg.is_positional());
    let all = all.map(|arg| arg.get_id().as_str()).filter(|id| !BENCH_OUTPUTS.contains(id));
    let (rare, usual): (Vec<&str>, Vec<&str>) = all.partition(|id| BENCH_FURTHER.contains(id));
    if usual.len() <= BENCH_FLAGS {
        return Vec::new();
    }
    usual.into_iter().skip(BENCH_FLAGS).chain(rare).map(str::to_owned).collect()
}

/// The help of an option up to its first full stop, and its default.
fn first_sentence(arg: Arg) -> Arg {
    let Some(help) = arg.get_help().map(ToString::to_string) else { return arg };
    let (first, rest) = help.split_once(". ").unwrap_or((&help, ""));
    let default = rest.rfind("[default: ").map(|at| format!(" {}", &rest[at..]));
    arg.help(format!("{}{}", first.trim_end_matches('.'), default.unwrap_or_default()))
}

/// The help of the program: a line per command.
fn groups(all: &Command) -> String {
    let about = |name: &str| {
        let command = all.find_subcommand(name);
        command.and_then(Command::get_about).map(ToString::to_string).unwrap_or_default()
    };
    let mut text = all.get_about().map(ToString::to_string).unwrap_or_default();
    text.push_str("\n\n");
    for (group, names) in GROUPS {
        for (index, name) in names.iter().enumerate() {
            let title = if index == 0 { group } else { "" };
            text.push_str(&format!("{title:<11} {name:<8} {}\n", about(name)));
        }
    }
    text.push_str(
        "\nStart: seekwell plan labs/demo.toml, then sudo seekwell run labs/demo.toml\n\
         More:  seekwell COMMAND --help, and seekwell help COMMAND for all options\n",
    );
    text
}

/// The help of `bench`: a line per kind of workload.
fn kinds(all: &Command) -> String {
    let Some(bench) = all.find_subcommand("bench") else { return String::new() };
    let about =
        |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("{}\n\n", about(bench));
    for kind in bench.get_subcommands() {
        let whole = about(kind);
        let clause = whole.split([':', '.', ';', ',', '(']).next().unwrap_or_default().trim_end();
        text.push_str(&format!("  {:<10}  {clause}\n", kind.get_name()));
    }
    let examples = bench.get_after_help().map(ToString::to_string).unwrap_or_default();
    text.push_str(&format!(
        "\n{examples}\n\nMore: seekwell bench KIND --help for examples and options\n"
    ));
    crate::terminal::fitted(&text, 0, Some(80))
}

#[cfg(test)]
mod tests;
