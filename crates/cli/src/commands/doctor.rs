//! `seekwell doctor`: what this machine can measure, and what is missing.

use crate::args::DoctorArgs;
use crate::failure::{Exit, Failure, chain};
use crate::terminal;
use seekwell_host::facts::{self, Finding, State};
use seekwell_session::{ClusterQuestion, Machine, slurm_findings};
use seekwell_virtual::kernel::{self, Kernel};
use seekwell_virtual::{KernelSet, labs};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

/// Prints the findings.
///
/// # Errors
/// None so far: what cannot be found out is a finding.
pub fn run(machine: &Machine, arguments: &DoctorArgs) -> Result<Exit, Failure> {
    let kernel = lab_kernel(machine);
    let (first, mut findings) = match arguments.on {
        Some(_) => (String::new(), of_slurm(machine, arguments)),
        None => {
            let findings = facts::findings(&machine.system, Path::new("."));
            let can_demo = facts::can_demo(&machine.system, &findings);
            let capture = seekwell_capture::check().err().map(|error| chain(&error));
            (summary(can_demo, kernel.state != State::Missing, capture.as_deref()), findings)
        }
    };
    findings.push(kernel);
    let columns = terminal::columns();
    let first = if first.is_empty() { first } else { terminal::hanging("", &first, columns) };
    terminal::data(&(first + &text(&findings, columns)));
    Ok(Exit::Done)
}

/// The answer before the findings: whether the demo, guests and `capture` can run here.
fn summary(can_demo: bool, has_guests: bool, capture: Option<&str>) -> String {
    let word = |can: bool| if can { "yes" } else { "no" };
    let why = capture.map_or_else(String::new, |why| format!(" ({why})"));
    format!(
        "Can run here: demo {}, virtual backend {}, capture {}{why}.",
        word(can_demo),
        word(has_guests),
        word(capture.is_none())
    )
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
    let listed = machine.kernels.as_deref().map_or_else(|| Ok(Vec::new()), kernel::list);
    let (state, detail, remedy) = match listed {
        Ok(kernels) => built(kernels),
        Err(error) => (State::Missing, error.to_string(), None),
    };
    Finding { what: "lab kernel".to_owned(), state, detail, remedy }
}

/// The lab kernels of this version, what they lack, and how to get it.
fn built(kernels: Vec<Kernel>) -> (State, String, Option<String>) {
    let sets: Vec<KernelSet> =
        kernels.iter().filter(|kernel| kernel.is_current()).map(|kernel| kernel.set).collect();
    let Some(usual) = kernel::usual(kernels, &|_| true) else {
        let detail = "not built; labs on modelled disks need one".to_owned();
        return (State::Missing, detail, Some(KernelSet::Full.build_advice()));
    };
    let names: BTreeSet<String> = sets.iter().map(ToString::to_string).collect();
    let names: Vec<String> = names.into_iter().collect();
    let detail = format!("{}, set {}", usual.version, names.join(", "));
    let lacks = labs::lacks(&sets);
    if lacks.is_empty() {
        return (State::Ready, detail, None);
    }
    let detail = format!("{detail}; it has no {}", lacks.join(", "));
    (State::Limited, detail, Some(KernelSet::Layers.build_advice()))
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
