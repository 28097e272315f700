//! The flags of `seekwell bench KIND`, made from the catalogue of workloads: a field of a lab is a
//! flag here, with the same name, range, default and meaning.

use clap::{Arg, ArgAction, ArgMatches, Command};
use seekwell_model::field::{Field, FieldKind, Value, Values};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::workloads::{WORKLOAD_KINDS, WorkloadKind, WorkloadParams};

/// Kinds that `bench` runs on a file or device without a filesystem of its own.
pub const BENCH_KINDS: &[&str] = &["seek", "stream"];

/// Fields that only make sense in a lab.
const LAB_ONLY: &[&str] = &["step"];

/// The command `bench` with one subcommand per kind.
#[must_use]
pub fn command() -> Command {
    let kinds = WORKLOAD_KINDS.iter().filter(|kind| BENCH_KINDS.contains(&kind.name));
    Command::new("bench")
        .about("Run one workload now on a file or device; reads only, unless --write or --mix is given")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(kinds.map(|kind| kind_command(kind)))
}

fn kind_command(kind: &'static WorkloadKind) -> Command {
    let target = Arg::new("target")
        .value_name("TARGET")
        .required(true)
        .value_parser(clap::value_parser!(std::path::PathBuf))
        .help("File or block device");
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
    Command::new(kind.name)
        .about(kind.doc)
        .arg(target)
        .args(flags(kind).map(flag))
        .args([direct, seed, json])
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
        FieldKind::Size { .. } => "SIZE",
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
    /// What is wrong and what to write instead.
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
        let text = given.or_else(|| bench_default(field));
        if let Some(text) = text {
            let flag = field.name.replace('_', "-");
            let value = parse(field, &text).map_err(|problem| FlagError { flag, problem })?;
            values.set(field.name, value);
        }
    }
    if matches.get_flag("direct") {
        values.set("cache", Value::Text("direct".to_owned()));
    }
    (kind.build)(&values).map_err(|conflict| FlagError {
        flag: conflict.field.replace('_', "-"),
        problem: format!("{}; {}", conflict.problem, conflict.remedy),
    })
}

/// Defaults are those of a lab, except that `bench` uses the whole target.
fn bench_default(field: &Field) -> Option<String> {
    if field.name == "file_size" {
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
        FieldKind::TextList | FieldKind::TextTable => {
            Err(wrong("settable here; write a lab".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests;
