//! The flags of `seekwell bench KIND`, made from the catalogue of workloads: a field of a lab is a
//! flag here, with the same name, range, default and meaning.

use clap::{Arg, ArgAction, ArgMatches, Command};
use seekwell_model::field::{Field, FieldKind, Value, Values};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::workloads::fio::LONGEST_JOB_FILE;
use seekwell_model::workloads::{WORKLOAD_KINDS, WorkloadKind, WorkloadParams};

/// Kinds that `bench` leaves to labs: calls are for power cuts, and a command is timed by the shell without us.
const LAB_KINDS: &[&str] = &["calls", "command"];

/// Fields that only make sense in a lab.
const LAB_ONLY: &[&str] = &["check", "step"];

/// The command `bench` with one subcommand per kind.
#[must_use]
pub fn command() -> Command {
    let kinds = WORKLOAD_KINDS.iter().filter(|kind| !LAB_KINDS.contains(&kind.name));
    Command::new("bench")
        .about("Run one workload now on a file, a device or a directory")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(kinds.map(|kind| kind_command(kind)))
}

fn kind_command(kind: &'static WorkloadKind) -> Command {
    let target = Arg::new("target")
        .value_name("TARGET")
        .required(true)
        .value_parser(clap::value_parser!(std::path::PathBuf))
        .help("File, block device or directory");
    let seed = Arg::new("seed")
        .long("seed")
        .value_parser(clap::value_parser!(u64))
        .default_value("1")
        .help("Seed of the offsets");
    let json =
        Arg::new("json").long("json").action(ArgAction::SetTrue).help("Print the result as JSON");
    let direct = Arg::new("direct")
        .long("direct")
        .action(ArgAction::SetTrue)
        .conflicts_with("cache")
        .help("The same as --cache direct");
    let file = |name: &'static str, help: &'static str| {
        let path = clap::value_parser!(std::path::PathBuf);
        Arg::new(name).long(name).value_name("FILE").value_parser(path).help(help)
    };
    let mut command = Command::new(kind.name)
        .about(kind.doc)
        .arg(target)
        .args(flags(kind).map(flag))
        .args([seed, json]);
    if has_direct(kind) {
        command = command.arg(direct);
    }
    if has_job_file(kind) {
        let job = file("job-file", "Path of a job file, instead of its text");
        command = command.arg(job.conflicts_with("job"));
    }
    command
}

/// Returns true if the kind supports direct I/O.
fn has_direct(kind: &WorkloadKind) -> bool {
    kind.fields.iter().any(|field| match field.kind {
        FieldKind::Choice(words) => field.name == "cache" && words.contains(&"direct"),
        _ => false,
    })
}

fn flags(kind: &'static WorkloadKind) -> impl Iterator<Item = &'static Field> {
    kind.fields.iter().filter(|field| !LAB_ONLY.contains(&field.name))
}

fn flag(field: &'static Field) -> Arg {
    let arg = Arg::new(field.name).long(field.name.replace('_', "-")).help(help(field));
    match field.kind {
        FieldKind::Bool => arg.action(ArgAction::SetTrue),
        FieldKind::Choice(words) => {
            arg.value_parser(clap::builder::PossibleValuesParser::new(words))
        }
        _ => arg.value_name(value_name(field.kind)),
    }
}

fn help(field: &Field) -> String {
    match field.default {
        Some(default) if field.kind != FieldKind::Bool => {
            format!("{} [default: {}]", field.doc, default.trim_matches('"'))
        }
        _ => field.doc.to_owned(),
    }
}

fn value_name(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Integer { .. } | FieldKind::Number { .. } => "N",
        FieldKind::IntegerList { .. } => "N,…",
        FieldKind::Size { .. } => "SIZE",
        FieldKind::SizeList { .. } => "SIZE,…",
        FieldKind::Duration => "TIME",
        _ => "TEXT",
    }
}

/// A flag or a default whose value does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{flag}: {problem}")]
pub struct FlagError {
    /// Flag without the dashes.
    pub flag: String,
    /// Problem, and the text to write instead.
    pub problem: String,
}

/// Parameters of a kind from the flags that were given.
///
/// # Errors
/// [`FlagError`] when a value is out of range or values do not go together.
pub fn params(
    kind: &'static WorkloadKind,
    matches: &ArgMatches,
) -> Result<WorkloadParams, FlagError> {
    let mut values = Values::default();
    for field in flags(kind) {
        let given = match field.kind {
            FieldKind::Bool => matches.get_flag(field.name).then(|| "true".to_owned()),
            _ => matches.get_one::<String>(field.name).cloned(),
        };
        let text = given.or_else(|| bench_default(field, in_directory(matches)));
        if let Some(text) = text {
            let flag = field.name.replace('_', "-");
            let value = parse(field, &text).map_err(|problem| FlagError { flag, problem })?;
            values.set(field.name, value);
        } else {
            values.leave_absent(field.name);
        }
    }
    if has_job_file(kind)
        && let Some(path) = matches.get_one::<std::path::PathBuf>("job-file")
    {
        let flag = || "job-file".to_owned();
        let text = read_job_file(path).map_err(|problem| FlagError { flag: flag(), problem })?;
        values.set("job", Value::Text(text));
    }
    if has_direct(kind) && matches.get_flag("direct") {
        values.set("cache", Value::Text("direct".to_owned()));
    }
    kind.params(&values).map_err(|conflict| FlagError {
        flag: conflict.field.replace('_', "-"),
        problem: format!("{}; {}", conflict.problem, conflict.remedy),
    })
}

/// Returns true if the kind runs a job file of another program.
fn has_job_file(kind: &WorkloadKind) -> bool {
    kind.fields.iter().any(|field| field.name == "job")
}

/// Reads a job file: a regular file of text that is not longer than job files are.
fn read_job_file(path: &std::path::Path) -> Result<String, String> {
    let failed = |error: std::io::Error| format!("cannot read {}: {error}", path.display());
    seekwell_trust::read_text(path, LONGEST_JOB_FILE as u64).map_err(failed)
}

/// Returns true if the target is a directory, in which files are made.
fn in_directory(matches: &ArgMatches) -> bool {
    matches.get_one::<std::path::PathBuf>("target").is_some_and(|target| target.is_dir())
}

/// Defaults are those of a lab, except that the whole of a file or device is used.
fn bench_default(field: &Field, in_directory: bool) -> Option<String> {
    if field.name == "file_size" && !in_directory {
        return None;
    }
    field.default.map(|default| default.trim_matches('"').to_owned())
}

fn parse(field: &Field, text: &str) -> Result<Value, String> {
    let wrong = |expected: String| format!("'{text}' is not {expected}");
    match field.kind {
        FieldKind::Bool => Ok(Value::Bool(text == "true")),
        FieldKind::Integer { min, max } => match text.replace('_', "").parse::<u64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(Value::Integer(number)),
            _ => Err(wrong(format!("a whole number from {min} to {max}"))),
        },
        FieldKind::Number { min, max } => match text.parse::<f64>() {
            Ok(number) if (min..=max).contains(&number) => Ok(Value::Number(number)),
            _ => Err(wrong(format!("a number from {min} to {max}"))),
        },
        FieldKind::Size { min, max } => match text.parse::<Bytes>() {
            Ok(size) if (min..=max).contains(&size) => Ok(Value::Size(size)),
            Ok(_) => Err(wrong(format!("between {min} and {max}"))),
            Err(error) => Err(error.to_string()),
        },
        FieldKind::Duration => {
            text.parse::<Nanos>().map(Value::Duration).map_err(|error| error.to_string())
        }
        FieldKind::Text | FieldKind::Choice(_) => Ok(Value::Text(text.to_owned())),
        FieldKind::TextList => {
            Ok(Value::List(elements(text).iter().map(|word| (*word).to_owned()).collect()))
        }
        FieldKind::IntegerList { min, max } => numbers(text, min, max).map(Value::Integers),
        FieldKind::SizeList { min, max } => {
            let size = |text: &&str| match parse(
                &Field { kind: FieldKind::Size { min, max }, ..*field },
                text,
            )? {
                Value::Size(size) => Ok(size),
                _ => Err(format!("'{text}' is not a size")),
            };
            elements(text).iter().map(size).collect::<Result<_, _>>().map(Value::Sizes)
        }
        FieldKind::TextTable => Err(wrong("settable here; write a lab".to_owned())),
    }
}

/// The elements of a list as a flag has it, with commas, or as the catalogue's defaults have it.
fn elements(text: &str) -> Vec<&str> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    let words = inner.split(',').map(|word| word.trim().trim_matches('"'));
    words.filter(|word| !word.is_empty()).collect()
}

/// Whole numbers with commas; `1..8` is every number from 1 to 8.
fn numbers(text: &str, min: u64, max: u64) -> Result<Vec<u64>, String> {
    let wrong = || {
        format!(
            "'{text}' is not a whole number from {min} to {max}, nor a list such as 1,2,4 or 1..8"
        )
    };
    let one = |text: &str| {
        let number = text.replace('_', "").parse::<u64>().ok();
        number.filter(|number| (min..=max).contains(number)).ok_or_else(wrong)
    };
    let mut all = Vec::new();
    for word in elements(text) {
        match word.split_once("..") {
            Some((first, last)) => all.extend(one(first)?..=one(last)?),
            None => all.push(one(word)?),
        }
    }
    if all.is_empty() { Err(wrong()) } else { Ok(all) }
}

#[cfg(test)]
mod tests;
