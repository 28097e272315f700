//! `seekwell doctor`: what this machine can measure, and what is missing.

use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_host::facts::{self, Finding, State};
use seekwell_session::Machine;
use seekwell_virtual::kernel;
use std::fmt::Write as _;
use std::path::Path;

/// Prints the findings.
///
/// # Errors
/// None so far: what cannot be found out is a finding.
pub fn run(machine: &Machine) -> Result<Exit, Failure> {
    let mut findings = facts::findings(&machine.system, Path::new("."));
    findings.push(lab_kernel(machine));
    terminal::data(&text(&findings));
    Ok(Exit::Done)
}

/// The kernel of the virtual backend.
fn lab_kernel(machine: &Machine) -> Finding {
    let listed = machine.kernels.as_deref().map(kernel::list);
    let usual = listed.map(|kernels| kernels.map(|kernels| kernel::usual(kernels, &|_| true)));
    let (state, detail, remedy) = match usual {
        Some(Ok(Some(kernel))) => {
            let detail = format!("{} with the {} set of filesystems", kernel.version, kernel.set);
            (State::Ready, detail, None)
        }
        Some(Ok(None)) | None => {
            let detail = "not built; labs on modelled disks need it".to_owned();
            (State::Missing, detail, Some("run: seekwell kernel build".to_owned()))
        }
        Some(Err(error)) => (State::Missing, error.to_string(), None),
    };
    Finding { what: "lab kernel".to_owned(), state, detail, remedy }
}

/// One line per finding, the remedy below it.
fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.what.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let word = word(finding.state);
        let _ = writeln!(text, "{:width$}  {word:8} {}", finding.what, finding.detail);
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "{:width$}           -> {remedy}", "");
        }
    }
    text
}

fn word(state: State) -> &'static str {
    match state {
        State::Ready => "ready",
        State::Limited => "limited",
        State::Missing => "missing",
    }
}
