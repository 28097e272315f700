//! `seekwell plan`: what a lab would do. Touches nothing.

use crate::args::{PlaceArgs, PlanArgs};
use crate::failure::{Exit, Failure};
use crate::{place, terminal, virtual_place};
use seekwell_model::plan::Plan;
use seekwell_runner::order::{self, Expanded};
use std::path::Path;

/// Prints the plan of a lab.
///
/// # Errors
/// When the lab cannot be read or planned.
pub fn run(arguments: &PlanArgs) -> Result<Exit, Failure> {
    let plan = plan_of(&arguments.lab, &arguments.at)?;
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&plan).map_err(|error| Failure::from_error(&error))?;
        terminal::data(&text);
    } else {
        terminal::data(&seekwell_report::plan_text(&plan, terminal::width()));
    }
    Ok(Exit::Done)
}

/// Reads a lab and plans it for a place.
///
/// # Errors
/// When the lab cannot be read or planned.
pub fn plan_of(path: &Path, at: &PlaceArgs) -> Result<Plan, Failure> {
    plan_of_text(&read_lab(path)?, &path.display().to_string(), at)
}

/// Plans a lab's text for a place; `name` is what messages call it.
///
/// # Errors
/// When the lab cannot be read or planned.
pub fn plan_of_text(bytes: &[u8], name: &str, at: &PlaceArgs) -> Result<Plan, Failure> {
    at.check()?;
    let mut file = seekwell_spec::read_lab_bytes(bytes, name)
        .map_err(|error| Failure::Error(error.to_string()))?;
    if let (Some(device), false) = (&at.device, at.is_virtual()) {
        place::use_device(&mut file.lab, device, at.journal_device.as_deref())?;
    }
    let facts = match at.is_virtual() {
        true => virtual_place::adapt(&mut file.lab, at)?,
        false => place::facts(&file.lab),
    };
    let mut expansion =
        seekwell_spec::expand(&file, &facts).map_err(|error| Failure::Error(error.to_string()))?;
    if at.is_virtual() {
        let (pairs, left_out) = (&mut expansion.candidates, &mut expansion.left_out);
        virtual_place::leave_out(&file.lab, &at.bring, pairs, left_out);
    }
    let expanded = Expanded {
        stacks: expansion.stacks,
        candidates: expansion.candidates,
        left_out: expansion.left_out,
        warnings: expansion.warnings,
    };
    order::plan(&file.lab, expanded, &facts).map_err(|error| Failure::from_error(&error))
}

/// Reads a lab file, no more of it than a lab may have.
fn read_lab(path: &Path) -> Result<Vec<u8>, Failure> {
    use std::io::Read;
    let wrong = |error: std::io::Error| {
        Failure::Error(format!(
            "cannot read the lab {}: {error}; give the path of a TOML file",
            path.display()
        ))
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(wrong)?;
    // One byte more than is allowed, so that the reader sees that it is too much.
    file.take(seekwell_spec::MAX_LAB_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(wrong)?;
    Ok(bytes)
}
