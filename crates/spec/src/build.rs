//! Makes the lab of checked tables: names, defaults, and what single fields cannot say.

pub(crate) mod coherence;
mod devices;
mod filesystems;
mod judge;
mod layers;
mod matches;
mod queues;
mod trial;
mod workloads;

use crate::source::{Problem, Source, Span, shorten};
use crate::walk::Checked;
use seekwell_model::field::Value;
use seekwell_model::lab::{Lab, SchedulerAxis};

pub(crate) use matches::device_matches;

/// Places of the lab's values in its text, index by index as in the lab; `None` if the lab does not
/// write the value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Positions {
    pub(crate) devices: Vec<Option<Span>>,
    pub(crate) device_sizes: Vec<Option<Span>>,
    pub(crate) layers: Vec<Option<Span>>,
    pub(crate) journals: Vec<Option<Span>>,
    pub(crate) filesystems: Vec<Option<Span>>,
    pub(crate) schedulers: Vec<Option<Span>>,
    pub(crate) memories: Vec<Option<Span>>,
    pub(crate) workloads: Vec<Option<Span>>,
    pub(crate) exclusions: Vec<Option<Span>>,
    pub(crate) stacks: Vec<Option<Span>>,
    pub(crate) effort: Option<Span>,
    pub(crate) metric: Option<Span>,
    pub(crate) gives_seed: bool,
}

/// A value of an axis with the place of its name, or of its table where it has no name.
pub(crate) struct Named<T> {
    pub(crate) value: T,
    pub(crate) span: Option<Span>,
}

type Axis<T> = Vec<Named<T>>;

/// Longest name of a value of an axis, in characters.
const NAME_LENGTH: usize = 80;

/// The lab that the tables describe.
pub(crate) fn lab(root: &Checked, source: &Source) -> Result<(Lab, Positions), Problem> {
    let empty = Checked::default();
    let head = root.table("lab").unwrap_or(&empty);
    let (devices, device_sizes) = devices::devices(root.tables("device"))?;
    let mut positions = Positions {
        device_sizes,
        effort: root.table("judge").and_then(|table| {
            table.places.get("rounds").or(table.places.get("budget")).map(|place| place.value)
        }),
        metric: root.table("judge").and_then(|table| table.place("metric")),
        gives_seed: head.values.integer("seed").is_some(),
        ..Positions::default()
    };
    let at = &mut positions;
    let devices = keep(devices, &mut at.devices);
    let layers = keep(layers::layers(root.tables("layer"))?, &mut at.layers);
    let journals = keep(devices::journals(root.tables("journal"))?, &mut at.journals);
    let filesystems =
        keep(filesystems::filesystems(root.tables("filesystem"))?, &mut at.filesystems);
    let schedulers = match queues::schedulers(root)? {
        None => SchedulerAxis::All,
        Some(axis) => SchedulerAxis::These(keep(axis, &mut at.schedulers)),
    };
    let memories = keep(queues::memories(root)?, &mut at.memories);
    let workloads = keep(workloads::workloads(root.tables("workload"))?, &mut at.workloads);
    let judge = judge::judge(root.table("judge"), &workloads)?;
    let trial = trial::trial(root.table("trial"))?;
    let mut lab = Lab {
        name: lab_name(head, source)?,
        question: head.values.text("question").unwrap_or_default().to_owned(),
        seed: head.values.integer("seed").unwrap_or(1),
        devices,
        layers,
        journals,
        filesystems,
        schedulers,
        memories,
        workloads,
        exclusions: Vec::new(),
        stacks: Vec::new(),
        stacks_only: head.values.bool("stacks_only"),
        judge,
        trial,
    };
    lab.exclusions = keep(matches::matches(root.tables("exclude"), &lab)?, &mut at.exclusions);
    lab.stacks = keep(matches::matches(root.tables("stack"), &lab)?, &mut at.stacks);
    coherence::check(&lab, root, &positions)?;
    Ok((lab, positions))
}

/// Takes the values of an axis, and writes their places to `at`.
fn keep<T>(axis: Axis<T>, at: &mut Vec<Option<Span>>) -> Vec<T> {
    let (values, spans) = axis.into_iter().map(|named| (named.value, named.span)).unzip();
    *at = spans;
    values
}

/// The lab's own name, else that of its file.
fn lab_name(head: &Checked, source: &Source) -> Result<String, Problem> {
    if let Some(name) = head.values.text("name") {
        let name = name_checked(name, head.place("name"))?;
        if name.starts_with('.') {
            let message = "a lab's name also names its run file and may not begin with a dot";
            return Err(Problem::new(
                head.place("name"),
                message,
                "write a name that begins with a letter",
            ));
        }
        return Ok(name);
    }
    let file = source.file.rsplit('/').next().unwrap_or_default();
    let stem = file.strip_suffix(".toml").unwrap_or(file);
    let stem: String = stem.chars().filter(|c| c.is_alphanumeric() || "-_".contains(*c)).collect();
    Ok(if stem.is_empty() { "lab".to_owned() } else { stem.chars().take(NAME_LENGTH).collect() })
}

/// A name that can be part of a label.
fn name_checked(name: &str, span: Option<Span>) -> Result<String, Problem> {
    let bad = name.chars().find(|c| matches!(c, '/' | '*' | '"') || c.is_control());
    if let Some(bad) = bad {
        let shown = shorten(&bad.to_string(), 1);
        let message =
            format!("a name may not contain '{shown}': names are joined by '/' to labels");
        return Err(Problem::new(span, message, "write a name of letters, digits and -"));
    }
    if name.trim() != name {
        let message = "a name may not begin or end with a space";
        return Err(Problem::new(span, message, format!("write name = \"{}\"", name.trim())));
    }
    if name.chars().count() > NAME_LENGTH {
        let message =
            format!("a name of more than {NAME_LENGTH} characters makes labels unreadable");
        return Err(Problem::new(span, message, "write a shorter name"));
    }
    Ok(name.to_owned())
}

/// The name that the table gives, else one made of what the value is.
fn name_or(table: &Checked, made: impl FnOnce() -> String) -> Result<Named<String>, Problem> {
    match table.values.text("name") {
        Some(name) => {
            let span = table.place("name");
            Ok(Named { value: name_checked(name, span)?, span })
        }
        None => Ok(Named { value: label_safe(&made()), span: table.span }),
    }
}

/// Makes a name out of options, which may contain what a name may not.
fn label_safe(text: &str) -> String {
    let safe: String = text
        .chars()
        .map(|c| if matches!(c, '/' | '*' | '"') || c.is_control() { '-' } else { c })
        .collect();
    shorten(&safe, NAME_LENGTH)
}

/// Refuses the second of two equal names.
fn unique<'a>(
    what: &str,
    names: impl IntoIterator<Item = (&'a str, Option<Span>)>,
) -> Result<(), Problem> {
    let mut seen = std::collections::BTreeSet::new();
    for (name, span) in names {
        if !seen.insert(name) {
            let message = format!("two {what} are named \"{name}\"");
            return Err(Problem::new(span, message, "give each a name of its own: name = \"…\""));
        }
    }
    Ok(())
}

/// A whole number of a checked field as `u32`; the field's range keeps it inside.
fn narrow(value: Option<u64>) -> Option<u32> {
    value.and_then(|number| u32::try_from(number).ok())
}

/// A value as written in names of variants.
fn shown(value: &Value) -> String {
    match value {
        Value::Bool(truth) => u8::from(*truth).to_string(),
        Value::Integer(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::Size(bytes) => bytes.to_string(),
        other => format!("{other:?}"),
    }
}
