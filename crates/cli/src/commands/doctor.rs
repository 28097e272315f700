//! `seekwell doctor`: what this machine can measure, and what is missing.

use crate::args::DoctorArgs;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_host::facts::{self, Finding, State};
use seekwell_session::{ClusterQuestion, Machine, slurm_findings};
use seekwell_virtual::kernel;
use std::path::Path;
use std::process::{Command, Stdio};

/// Prints the findings.
///
/// # Errors
/// None so far: what cannot be found out is a finding.
pub fn run(machine: &Machine, arguments: &DoctorArgs) -> Result<Exit, Failure> {
    let mut findings = match arguments.on {
        Some(_) => of_slurm(machine, arguments),
        None => facts::findings(&machine.system, Path::new(".")),
    };
    findings.push(lab_kernel(machine));
    terminal::data(&text(&findings, terminal::columns()));
    Ok(Exit::Done)
}

/// Findings about the cluster.
fn of_slurm(machine: &Machine, arguments: &DoctorArgs) -> Vec<Finding> {
    let mounts = std::fs::read_to_string(machine.system.proc.join("self/mountinfo"));
    let folder = arguments.folder.canonicalize().unwrap_or_else(|_| arguments.folder.clone());
    let question = ClusterQuestion {
        partition: arguments.partition.as_deref(),
        nodes: arguments.nodes,
        folder: &folder,
        has_folder: folder.is_dir(),
        mounts: &mounts.unwrap_or_default(),
    };
    let programs = machine.slurm();
    let ask = |name: &str, words: &[&str]| {
        let program = programs.find(name).ok_or_else(|| format!("{name} not found"))?;
        ask(&program, words)
    };
    slurm_findings(&question, &|name| programs.find(name).is_some(), &ask)
}

/// Output of a program of Slurm, or its complaint.
fn ask(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let ran = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let ran = ran.map_err(|error| format!("{}: {error}", program.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match text(&ran.stderr) {
        words if !ran.status.success() && !words.trim().is_empty() => Err(words),
        _ => Ok(text(&ran.stdout)),
    }
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

/// One line per finding, wrapped to the columns, the remedy below it.
fn text(findings: &[Finding], columns: Option<usize>) -> String {
    let width = findings.iter().map(|finding| finding.what.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let first = format!("{:width$}  {:8} ", finding.what, word(finding.state));
        text.push_str(&terminal::hanging(&first, &finding.detail, columns));
        if let Some(remedy) = &finding.remedy {
            let first = format!("{:width$}           -> ", "");
            text.push_str(&terminal::hanging(&first, remedy, columns));
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
