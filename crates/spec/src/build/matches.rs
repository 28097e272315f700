//! `[[exclude]]` and `[[stack]]`: names on the axes.

use super::{Axis, Named};
use crate::source::{Problem, Span, shorten};
use crate::tables::SCHEDULERS;
use crate::walk::{Checked, nearest, quote_list};
use seekwell_model::lab::{Lab, Match, SchedulerAxis};
use seekwell_model::stack::Device;

/// Most combinations that the lists of all tables may make.
const MAX_MATCHES: usize = 1000;

/// The matches that the tables make: each list is multiplied out.
pub(super) fn matches(tables: &[Checked], lab: &Lab) -> Result<Axis<Match>, Problem> {
    let mut axis = Vec::new();
    for table in tables {
        if table.places.is_empty() {
            let message = "a table that names nothing matches every combination";
            return Err(Problem::new(
                table.span,
                message,
                "name at least one value, for example filesystem = \"ext4\"",
            ));
        }
        let mut made = vec![Match::default()];
        for name in ["device", "layer", "journal", "filesystem", "scheduler", "memory", "workload"]
        {
            let texts: Vec<(&str, Span)> = table.texts(name).collect();
            if texts.is_empty() {
                continue;
            }
            for (text, span) in &texts {
                check_known(lab, name, text, *span)?;
            }
            made = made
                .iter()
                .flat_map(|base| texts.iter().map(|(text, _)| with(base, name, text)))
                .collect();
            if made.len() + axis.len() > MAX_MATCHES {
                let message = format!("more than {MAX_MATCHES} combinations are named");
                return Err(Problem::new(
                    table.span,
                    message,
                    "leave out an axis to match all its values",
                ));
            }
        }
        axis.extend(made.into_iter().map(|value| Named { value, span: table.span }));
    }
    Ok(axis)
}

fn with(base: &Match, axis: &str, name: &str) -> Match {
    let mut made = base.clone();
    let slot = match axis {
        "device" => &mut made.device,
        "layer" => &mut made.layer,
        "journal" => &mut made.journal,
        "filesystem" => &mut made.filesystem,
        "scheduler" => &mut made.scheduler,
        "memory" => &mut made.memory,
        _ => &mut made.workload,
    };
    *slot = Some(name.to_owned());
    made
}

/// Returns true if a name means this device: its own, or that of the device it is a variant of.
pub(crate) fn device_matches(device: &Device, name: &str) -> bool {
    device.name == name || device.base == name
}

fn check_known(lab: &Lab, axis: &str, name: &str, span: Span) -> Result<(), Problem> {
    let known: Vec<&str> = match axis {
        "device" => {
            let both = |device| -> [&str; 2] {
                let device: &Device = device;
                [&device.name, &device.base]
            };
            let mut names: Vec<&str> = lab.devices.iter().flat_map(both).collect();
            names.dedup();
            names
        }
        "layer" => lab.layers.iter().map(|value| value.name.as_str()).collect(),
        "journal" => lab.journals.iter().map(|value| value.name.as_str()).collect(),
        "filesystem" => lab.filesystems.iter().map(|value| value.name.as_str()).collect(),
        "scheduler" => match &lab.schedulers {
            SchedulerAxis::All => SCHEDULERS.to_vec(),
            SchedulerAxis::These(these) => these.iter().map(|value| value.name.as_str()).collect(),
        },
        "memory" => lab.memories.iter().map(|value| value.name.as_str()).collect(),
        _ => lab.workloads.iter().map(|value| value.name.as_str()).collect(),
    };
    if known.contains(&name) {
        return Ok(());
    }
    let message = format!("the lab has no {axis} named \"{}\"", shorten(name, 60));
    let remedy = match nearest(name, known.iter().copied()) {
        Some(near) => format!("write {axis} = \"{near}\""),
        None => format!("write one of {}", quote_list(known.iter().copied().take(20))),
    };
    Err(Problem::new(span, message, remedy))
}
