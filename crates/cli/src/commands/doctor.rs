//! `seekwell doctor`: what this machine can measure, and what is missing.

use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_host::facts::{self, Finding, State};
use seekwell_session::Machine;
use std::fmt::Write as _;
use std::path::Path;

/// Prints the findings.
///
/// # Errors
/// None so far: what cannot be found out is a finding.
pub fn run(machine: &Machine) -> Result<Exit, Failure> {
    let findings = facts::findings(&machine.system, Path::new("."));
    terminal::data(&text(&findings));
    Ok(Exit::Done)
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
