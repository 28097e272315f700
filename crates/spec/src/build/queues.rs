//! Schedulers and memory limits.

use super::{Axis, Named, name_or, narrow, unique};
use crate::source::Problem;
use crate::walk::{Checked, nearest};
use seekwell_model::stack::{Memory, MemoryLimit, Scheduler, VM_SETTINGS};
use seekwell_model::units::Bytes;
use std::collections::BTreeMap;

/// Smallest limit in which an agent and a filesystem's tools can live.
const MIN_MEMORY: Bytes = Bytes::mib(16);

/// The scheduler axis; `None` for all that the kernel offers.
pub(super) fn schedulers(root: &Checked) -> Result<Option<Axis<Scheduler>>, Problem> {
    let tables = root.tables("scheduler");
    if tables.is_empty() {
        return Ok(None);
    }
    if root.single.get("scheduler") == Some(&true) {
        let chosen = tables.iter().flat_map(|table| table.texts("choose"));
        let plain = |(kind, span)| Named { value: Scheduler::plain(kind), span: Some(span) };
        return Ok(Some(chosen.map(plain).collect()));
    }
    let mut axis = Vec::new();
    for table in tables {
        let kind = table.values.text("kind").unwrap_or_default();
        let mut value = Scheduler::plain(kind);
        value.nr_requests = narrow(table.values.integer("nr_requests"));
        value.read_ahead_kb = narrow(table.values.integer("read_ahead_kb"));
        value.tunables = table.values.table("tunables");
        check_tunables(table, &value)?;
        let name = name_or(table, || default_name(&value))?;
        value.name = name.value;
        axis.push(Named { value, span: name.span });
    }
    unique("schedulers", axis.iter().map(|named| (named.value.name.as_str(), named.span)))?;
    Ok(Some(axis))
}

/// The kind with its settings, for example `bfq[low_latency=0]`.
fn default_name(value: &Scheduler) -> String {
    let number = |name: &str, value: Option<u32>| value.map(|value| format!("{name}={value}"));
    let mut settings: Vec<String> =
        [number("nr_requests", value.nr_requests), number("read_ahead_kb", value.read_ahead_kb)]
            .into_iter()
            .flatten()
            .collect();
    settings.extend(self::settings(&value.tunables));
    with_settings(value.kind.clone(), settings)
}

fn settings(values: &BTreeMap<String, String>) -> Vec<String> {
    values.iter().map(|(name, value)| format!("{name}={value}")).collect()
}

fn with_settings(name: String, settings: Vec<String>) -> String {
    if settings.is_empty() { name } else { format!("{name}[{}]", settings.join(",")) }
}

/// Tunables are files of one directory of sysfs, with one line of text each.
fn check_tunables(table: &Checked, value: &Scheduler) -> Result<(), Problem> {
    let place = table.place("tunables");
    if let (Some(name), "none") = (value.tunables.keys().next(), value.kind.as_str()) {
        let message = format!("the scheduler none has no tunables, and \"{name}\" would be one");
        return Err(Problem::new(place, message, "leave `tunables` out"));
    }
    let is_file = |name: &String| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    if let Some(name) = value.tunables.keys().find(|name| !is_file(name)) {
        let message =
            format!("\"{}\" is not a file in queue/iosched", crate::source::shorten(name, 40));
        let remedy = "write a name from /sys/block/DEVICE/queue/iosched, for example low_latency";
        return Err(Problem::new(place, message, remedy));
    }
    if let Some((name, _)) = value.tunables.iter().find(|(_, text)| text.contains(['\n', '\0'])) {
        let message = format!("the value of \"{name}\" is more than one line");
        return Err(Problem::new(place, message, "write one line, as the kernel shows it"));
    }
    Ok(())
}

/// Settings of the memory are whole numbers that the kernel takes.
fn check_vm(table: &Checked, vm: &BTreeMap<String, String>) -> Result<(), Problem> {
    let place = table.place("vm");
    let known = VM_SETTINGS.join(", ");
    if let Some(name) = vm.keys().find(|name| !VM_SETTINGS.contains(&name.as_str())) {
        let name = crate::source::shorten(name, 40);
        let message = format!("\"{name}\" is not a setting of /proc/sys/vm that a lab may have");
        return Err(Problem::new(place, message, format!("write one of {known}")));
    }
    match vm.iter().find(|(_, value)| value.parse::<u32>().is_err()) {
        Some((name, value)) => {
            let value = crate::source::shorten(value, 40);
            let message = format!("{name} = \"{value}\" is not a whole number");
            Err(Problem::new(place, message, "write digits alone, for example \"40\""))
        }
        None => Ok(()),
    }
}

/// The memory axis.
pub(super) fn memories(root: &Checked) -> Result<Axis<Memory>, Problem> {
    let tables = root.tables("memory");
    if tables.is_empty() {
        return Ok(vec![Named { value: Memory::quarter(), span: None }]);
    }
    let mut axis = Vec::new();
    if root.single.get("memory") == Some(&true) {
        for (text, span) in tables.iter().flat_map(|table| table.texts("choose")) {
            let limit = limit(text).map_err(|(message, remedy)| {
                Problem::new(span, message, format!("write {remedy}"))
            })?;
            axis.push(Named { value: Memory::plain(&limit_name(limit), limit), span: Some(span) });
        }
    } else {
        for table in tables {
            let text = table.values.text("limit").unwrap_or_default();
            let place = table.place("limit");
            let limit = limit(text).map_err(|(message, remedy)| {
                Problem::new(place, message, format!("write limit = {remedy}"))
            })?;
            let vm = table.values.table("vm");
            check_vm(table, &vm)?;
            let name = name_or(table, || with_settings(limit_name(limit), settings(&vm)))?;
            let value = Memory { name: name.value, limit, vm };
            axis.push(Named { value, span: name.span });
        }
    }
    unique("memory limits", axis.iter().map(|named| (named.value.name.as_str(), named.span)))?;
    Ok(axis)
}

/// A limit, or what is wrong with it and what to write.
fn limit(text: &str) -> Result<MemoryLimit, (String, String)> {
    match text {
        "quarter" => return Ok(MemoryLimit::Quarter),
        "unlimited" => return Ok(MemoryLimit::Unlimited),
        _ => {}
    }
    let shown = crate::source::shorten(text, 40);
    match text.parse::<Bytes>() {
        Ok(bytes) if bytes < MIN_MEMORY => {
            let message = format!("a memory limit of {bytes} is too small for mkfs and the agent");
            Err((message, format!("\"{MIN_MEMORY}\" or more")))
        }
        Ok(bytes) => Ok(MemoryLimit::Limit(bytes)),
        Err(_) => {
            let message = format!("\"{shown}\" is not a memory limit");
            let near = nearest(text, ["quarter", "unlimited"]);
            let all = "\"quarter\", \"unlimited\" or a size such as \"512MiB\"";
            Err((message, near.map_or(all.to_owned(), |near| format!("\"{near}\""))))
        }
    }
}

fn limit_name(limit: MemoryLimit) -> String {
    match limit {
        MemoryLimit::Quarter => "quarter".to_owned(),
        MemoryLimit::Unlimited => "unlimited".to_owned(),
        MemoryLimit::Limit(bytes) => bytes.to_string(),
    }
}
