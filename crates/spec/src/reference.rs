//! The reference of the lab format, made from the definitions that the reader itself uses.

mod warnings;

pub use warnings::warnings_markdown;

use crate::definition::{Entry, Form, TableDefinition};
use crate::tables::{self, ROOT};
use crate::walk::{describe, grouped};
use crate::{MAX_CANDIDATES, MAX_LAB_BYTES, MAX_TRIALS};
use seekwell_model::field::{Field, FieldKind, Value, Values};
use seekwell_model::filesystems::{BLOCK_SIZE, FILESYSTEMS, FilesystemDefinition};
use seekwell_model::lab::Better;
use seekwell_model::layers::{Fast, LAYER_KINDS, LabKernels, Layer, LayerDefinition};
use seekwell_model::metrics::METRICS;
use seekwell_model::stack::Backing;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{
    COMMON_METRICS, HOUSEKEEPING_STEPS, MODELLED_METRICS, StepOutline, WORKLOAD_KINDS,
    WRITING_METRICS, WorkloadKind,
};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The lab that the reference begins with.
pub const EXAMPLE: &str = r#"[lab]
name = "mail"
question = "which stack unpacks, reads and removes a mail tree fastest?"

[[device]]
name = "scratch"
loop = { size = "2GiB" }

[[journal]]
name = "inside"

[[journal]]
name = "on-ram"
ram = { size = "128MiB" }

[[filesystem]]
type = "ext3"
mkfs = ["-O", "^dir_index"]
mount = ["noatime"]

[[filesystem]]
type = "xfs"

[scheduler]
choose = ["none", "mq-deadline", "bfq"]

[[workload]]
kind = "mail"
files = 100_000

[judge]
metric = "unpack.elapsed_durable"
better = "lower"
tie = "2%"
confidence = 0.95
budget = "30min"
"#;

const VALUES: &str = "\
## Values

| Kind | Written |
| --- | --- |
| text | `\"noatime\"` |
| whole number, number | `100_000`, `0.95` |
| size | `\"8GiB\"`, `\"512MiB\"`, `\"4k\"`, or a whole number of bytes; `k`, `m`, `g`, `t` and `KiB` … are powers of 1024, `kB`, `MB`, `GB`, `TB` powers of 1000 |
| duration | `\"30min\"`, `\"90s\"`, `\"2h30min\"`, `\"100ms\"` |
| list | `[\"none\", \"bfq\"]` |
| one or a list | one value, or a list whose every value makes a variant |
| table | `{ size = \"1GiB\" }`, or a header of its own such as `[device.settings]` |
";

/// The reference as Markdown.
#[must_use]
pub fn lab_reference_markdown() -> String {
    let mut text = String::new();
    head(&mut text);
    for entry in ROOT.entries {
        match entry.form {
            Form::TableOrTables(one, many) => {
                table(&mut text, one, 2);
                table(&mut text, many, 2);
            }
            Form::Table(definition) | Form::Tables(definition) => table(&mut text, definition, 2),
            Form::TableOr(..) | Form::One | Form::Percent | Form::Variants | Form::Each => {}
        }
    }
    workloads(&mut text);
    filesystems(&mut text);
    layers(&mut text);
    metrics(&mut text);
    text
}

/// Writing to a `String` cannot fail.
fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    let _ = writeln!(text, "{arguments}");
}

macro_rules! line {
    ($text:expr) => { line($text, format_args!("")) };
    ($text:expr, $($arguments:tt)*) => { line($text, format_args!($($arguments)*)) };
}

fn head(text: &mut String) {
    line!(text, "# The lab format");
    line!(text);
    line!(
        text,
        "<!-- Made from the definitions in crates/spec and crates/model; after a change there run"
    );
    line!(text, "     `cargo xtask docs`. -->");
    line!(text);
    line!(text, "{}", ROOT.doc);
    line!(
        text,
        "The axes are multiplied: every device with every journal, filesystem, scheduler and memory \
         limit is a *stack*, and every workload runs on every stack. Combinations that cannot be run \
         are left out, and `seekwell plan` lists them with the reason. A stack is labelled by its \
         names on the axes that have more than one value, joined by `/`."
    );
    line!(text);
    line!(text, "```toml\n{EXAMPLE}```");
    line!(text);
    line!(
        text,
        "A lab is UTF-8 text of at most {}. It may make at most {} pairs of stack and \
         workload, and {} trials. A mistake is reported with file, line, column and what to \
         write instead.",
        Bytes(MAX_LAB_BYTES as u64),
        grouped(MAX_CANDIDATES).replace('_', ","),
        grouped(MAX_TRIALS).replace('_', ","),
    );
    line!(text);
    line!(text, "{VALUES}");
}

/// A table with the tables below it.
fn table(text: &mut String, definition: &TableDefinition, level: usize) {
    line!(text, "{} `{}`\n\n{}\n", "#".repeat(level), definition.header, definition.doc);
    if definition.header == tables::STACK.header {
        line!(text, "Its keys are those of [`[[exclude]]`](#exclude).\n");
        return;
    }
    // What a device, a journal and a cache can be made from is said once, with the device.
    let is_device = [tables::JOURNAL.header, "fast"].contains(&definition.header);
    let is_said = |entry: &&Entry| is_device && matches!(entry.form, Form::TableOr(..));
    if is_device {
        let made_from: Vec<&str> =
            definition.entries.iter().filter(is_said).map(|entry| entry.field.name).collect();
        line!(text, "As in [`[[device]]`](#device): {}.\n", code_list(&made_from));
    }
    let own = definition.entries.iter().filter(|entry| !is_said(entry));
    if own.clone().next().is_some() {
        rows(text, own.map(cells));
    }
    if definition.header.starts_with("[[layer") {
        line!(text, "And the parameters of its kind, see [layer kinds](#layer-kinds).\n");
    } else if definition.by_kind.is_some() {
        line!(text, "And the parameters of its kind, see [workload kinds](#workload-kinds).\n");
    }
    for entry in definition.entries {
        match entry.form {
            Form::TableOr(..) if is_device => {}
            // What is said with [[layer]] holds for [[layer.then]] too.
            Form::Table(_) if definition.header == "[[layer.then]]" => {}
            Form::Table(below) | Form::Tables(below) | Form::TableOr(below, _) => {
                table(text, below, level + 1);
            }
            _ => {}
        }
    }
}

fn rows(text: &mut String, all: impl Iterator<Item = [String; 4]>) {
    line!(text, "| Key | Takes | Default | Meaning |\n| --- | --- | --- | --- |");
    for cells in all {
        row(text, cells.each_ref().map(String::as_str));
    }
    line!(text);
}

fn cells(entry: &Entry) -> [String; 4] {
    let field = &entry.field;
    let has_own_table = entry.is_table() || matches!(entry.form, Form::TableOr(..));
    let doc = if has_own_table { first_sentence(field.doc) } else { field.doc };
    [format!("`{}`", field.name), takes(entry), default(field), doc.to_owned()]
}

/// Keys of the kinds of a catalogue, each with the kind that described it first.
type Known = Vec<(&'static str, [String; 4])>;

/// The keys of a kind. Those that an earlier kind has with the same meaning are only named.
fn keys(text: &mut String, kind: &'static str, fields: &[Field], known: &mut Known) {
    let (mut own, mut named) = (Vec::new(), BTreeMap::<&str, Vec<String>>::new());
    for field in fields {
        let cells = cells(&Entry { field: *field, form: Form::One, why: "" });
        match known.iter().find(|(_, before)| *before == cells) {
            Some((before, _)) => named.entry(before).or_default().push(cells[0].clone()),
            None => own.push(cells),
        }
    }
    for (before, names) in named {
        line!(text, "As in [`{before}`](#{before}): {}.\n", names.join(", "));
    }
    if !own.is_empty() {
        rows(text, own.iter().cloned());
    }
    known.extend(own.into_iter().map(|cells| (kind, cells)));
}

fn first_sentence(doc: &str) -> &str {
    doc.split_inclusive(". ").next().unwrap_or_default().trim()
}

fn row<const N: usize>(text: &mut String, cells: [&str; N]) {
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    line!(text, "| {} |", cells.join(" | "));
}

fn takes(entry: &Entry) -> String {
    let kind = match entry.field.kind {
        FieldKind::Choice(words) => {
            words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        }
        _ => describe(entry),
    };
    match entry.form {
        Form::One | Form::Percent => kind,
        Form::Variants => format!("one or a list: {kind}"),
        Form::Each => format!("a list: {kind}"),
        Form::Table(_) => "a table".to_owned(),
        Form::TableOr(_, short) => format!("a table, or its `{short}`: {kind}"),
        Form::Tables(_) => "tables".to_owned(),
        Form::TableOrTables(..) => "a table or tables".to_owned(),
    }
}

fn default(field: &Field) -> String {
    match field.default {
        Some(default) => format!("`{default}`"),
        None if field.required => "required".to_owned(),
        None => String::new(),
    }
}

fn workloads(text: &mut String) {
    line!(text, "## Workload kinds\n");
    line!(
        text,
        "A workload is a sequence of steps; a measured one is judged as `STEP.METRIC`. Every step \
         reports {}; a step that writes also reports {}, and one that has a modelled device for itself \
         {} (the first three of a disk, the others of flash). In every trial on a filesystem the steps {} \
         are timed as well (`fsck` where `[trial]` asks for it), and `mkfs` and `umount` report \
         `elapsed_durable`.\n",
        code_list(COMMON_METRICS),
        code_list(WRITING_METRICS),
        code_list(MODELLED_METRICS),
        code_list(HOUSEKEEPING_STEPS),
    );
    let mut known = Known::new();
    for kind in WORKLOAD_KINDS {
        workload(text, kind, &mut known);
    }
}

fn workload(text: &mut String, kind: &WorkloadKind, known: &mut Known) {
    line!(text, "### `{}`\n\n{}\n", kind.name, kind.doc);
    keys(text, kind.name, kind.fields, known);
    let place = if kind.on_raw { "in a filesystem and on a raw device" } else { "in a filesystem" };
    line!(text, "Runs {place}.\n");
    line!(text, "| Step | Writes | Measured | Further metrics |\n| --- | --- | --- | --- |");
    // Steps that are alike share a row.
    let mut rows: Vec<(Vec<String>, [String; 4])> = Vec::new();
    for (how, step) in all_steps(kind) {
        let yes = |truth: bool| if truth { "yes" } else { "no" }.to_owned();
        let metrics: Vec<&str> = step.metrics.iter().map(String::as_str).collect();
        let name = format!("`{}`", step.name);
        let cells = [how.to_owned(), yes(step.writes), yes(step.measured), code_list(&metrics)];
        match rows.iter_mut().find(|(_, before)| *before == cells) {
            Some((names, _)) => names.push(name),
            None => rows.push((vec![name], cells)),
        }
    }
    for (names, [how, writes, measured, metrics]) in rows {
        row(text, [&format!("{}{how}", names.join(", ")), &writes, &measured, &metrics]);
    }
    line!(text);
}

/// The steps of a kind with its defaults, once as it is and once writing, where it can do both.
fn all_steps(kind: &WorkloadKind) -> Vec<(&'static str, StepOutline)> {
    let mut defaults = Values::default();
    for field in kind.fields {
        if let Some(value) = field.default_value() {
            defaults.set(field.name, value);
        } else if field.required || field.name == "prepare" {
            defaults.set(field.name, Value::Text("…".to_owned()));
        }
    }
    let mut variants = vec![defaults.clone()];
    let both = kind.fields.iter().any(|field| field.name == "write");
    if both {
        defaults.set("write", Value::Bool(true));
        variants.push(defaults);
    }
    let mut steps: Vec<(&'static str, StepOutline)> = Vec::new();
    for values in &variants {
        for step in kind.params(values).map(|params| params.steps()).unwrap_or_default() {
            let how = match (both && step.measured, step.writes) {
                (false, _) => "",
                (true, true) => " with `write` or `mix`",
                (true, false) => " reading",
            };
            if !steps.contains(&(how, step.clone())) {
                steps.push((how, step));
            }
        }
    }
    steps
}

fn code_list(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn filesystems(text: &mut String) {
    line!(text, "## Filesystems\n");
    line!(
        text,
        "Every mkfs and mount gets the options that make stacks comparable, then those of the lab's \
         `mkfs` and `mount`. Options that read or write files of the host, or name another device, \
         are refused.\n"
    );
    line!(
        text,
        "| `type` | Description | Smallest device | Journal outside | Smallest journal | `data=` | After a power cut |\n\
         | --- | --- | --- | --- | --- | --- | --- |"
    );
    for definition in FILESYSTEMS {
        let journal = definition.journal;
        let minimum = journal.map(|journal| journal.minimum.to_string()).unwrap_or_default();
        row(
            text,
            [
                &format!("`{}`", definition.name),
                definition.doc,
                &definition.minimum.to_string(),
                if journal.is_some_and(|one| !one.external_mkfs.is_empty()) { "yes" } else { "" },
                &minimum,
                if journal.is_some_and(|one| one.data_modes) { "yes" } else { "" },
                definition.durability,
            ],
        );
    }
    line!(text);
    line!(
        text,
        "| `type` | mkfs of every stack | Debian package | Kernel |\n| --- | --- | --- | --- |"
    );
    for definition in FILESYSTEMS.iter().filter(|definition| !definition.is_raw()) {
        row(
            text,
            [
                &format!("`{}`", definition.name),
                &format!("`{}`", mkfs_line(definition)),
                definition.package,
                definition.kernel_config,
            ],
        );
    }
    line!(text);
}

/// The command as it is run, on sectors of 512 bytes.
fn mkfs_line(definition: &FilesystemDefinition) -> String {
    let block = BLOCK_SIZE.0;
    let arguments = [definition.mkfs, definition.comparable, definition.no_discard].concat();
    let mut words: Vec<String> = Vec::new();
    let mut arguments = arguments.into_iter();
    while let Some(word) = arguments.next() {
        let again = words.iter().position(|before| before == word);
        match again.filter(|_| definition.merged.contains(&word)) {
            Some(at) => {
                let value = arguments.next().unwrap_or_default();
                words[at + 1] = format!("{},{value}", words[at + 1]);
            }
            None => words.push(word.to_owned()),
        }
    }
    words.extend(definition.target.iter().map(|word| (*word).to_owned()));
    let line = words.join(" ").replace("{block}", &block.to_string());
    line.replace("{block_sectors}", &(block / 512).to_string()).replace("{dev}", "DEVICE")
}

fn layers(text: &mut String) {
    line!(text, "## Layer kinds\n");
    line!(
        text,
        "`none` is not a layer. The other kinds are made anew for every trial, by the programs that \
         administrators use. A host runs those that its kernel has, bcache excepted, over loop and ram \
         devices, and those of one device over disks too. On the virtual backend the kinds of the set \
         `layers` need `seekwell kernel build --set layers`.\n"
    );
    line!(
        text,
        "| `kind` | Devices | `fast` | Lab kernel | Debian package | Kernel | Lost in a power cut |\n\
         | --- | --- | --- | --- | --- | --- | --- |"
    );
    for kind in LAYER_KINDS {
        let definition = kind.definition();
        let LayerDefinition { least_devices: least, most_devices: most, .. } = *definition;
        let devices = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let (fast, fast_given) = match definition.fast {
            Fast::No => ("", None),
            Fast::May(purpose) => (purpose, None),
            Fast::Must(purpose) => {
                (purpose, Some(Backing::Ram { size: Bytes::mib(1), sector: Bytes(512) }))
            }
        };
        let set = match definition.lab_kernels {
            LabKernels::Every => "every",
            LabKernels::Full => "`full`, `layers`",
            LabKernels::Layers => "`layers`",
        };
        let mut packages: Vec<&str> = definition.programs.iter().map(|one| one.package).collect();
        packages.dedup();
        let usual = Layer::new(*kind, None, fast_given, &Values::default());
        row(
            text,
            [
                &format!("`{}`", definition.name),
                &devices,
                fast,
                set,
                &packages.join(", "),
                definition.kernel_config,
                &kind.power_cut(&usual).unwrap_or_default(),
            ],
        );
    }
    line!(text);
    let mut known = Known::new();
    for kind in LAYER_KINDS {
        let definition = kind.definition();
        line!(text, "### `{}`\n\n{}\n", definition.name, definition.doc);
        keys(text, definition.name, definition.fields, &mut known);
    }
}

fn metrics(text: &mut String) {
    line!(text, "## Metrics\n");
    line!(text, "| Metric | Unit | Better | Meaning |\n| --- | --- | --- | --- |");
    for metric in METRICS {
        let better = match metric.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        };
        row(text, [&format!("`{}`", metric.name), metric.unit.symbol(), better, metric.doc]);
    }
}
