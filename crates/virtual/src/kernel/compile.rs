//! From a source tree to a program: patches, configuration, compiler.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::recipe::{self, ENVIRONMENT, Patch};
use super::{KernelError, KernelPlan, PROGRAM, Progress, failed};
use crate::end::last_lines;

#[cfg(test)]
mod tests;

/// Programs that a build calls, with Debian's packages.
const PROGRAMS: [(&str, &str); 9] = [
    ("make", "make"),
    ("gcc", "gcc"),
    ("ld", "binutils"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
];

/// Directories in which Debian installs programs.
const PROGRAM_DIRECTORIES: &str = "/usr/local/bin:/usr/bin:/bin";

/// Lines of a log in a message.
const LOG_LINES: usize = 20;

/// Says which programs are missing, all at once.
pub(super) fn check_programs() -> Result<(), KernelError> {
    let found = |name: &str| {
        PROGRAM_DIRECTORIES.split(':').any(|directory| Path::new(directory).join(name).is_file())
    };
    let missing: Vec<_> = PROGRAMS.iter().filter(|(name, _)| !found(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
    let packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    Err(KernelError::Build(format!(
        "building the lab kernel needs {}; run `apt-get install {}`",
        names.join(", "),
        packages.join(" ")
    )))
}

/// Builds in `tree` and returns the kernel's version; the log goes to `log`.
pub(super) fn compile(
    plan: &KernelPlan,
    tree: &Path,
    log: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<String, KernelError> {
    File::create(log).map_err(failed(format!("make {}", log.display())))?;
    progress(Progress::Patching);
    for patch in recipe::patches(plan.set) {
        apply(patch, tree)?;
    }
    write_compiler(tree)?;
    progress(Progress::Configuring);
    let make = Make { tree, log };
    let wanted = recipe::configuration(plan.set);
    let fragment = tree.join("seekwell.config");
    fs::write(&fragment, &wanted).map_err(failed("write the configuration"))?;
    make.run(&["mrproper"], &mut |_| {})?;
    make.run(&["KCONFIG_ALLCONFIG=seekwell.config", "allnoconfig"], &mut |_| {})?;
    check_configuration(&wanted, tree)?;
    let expected = plan.set.expected_files();
    let mut done = 0;
    let jobs = format!("-j{}", plan.jobs.max(1));
    make.run(&[&jobs, PROGRAM], &mut |line| {
        if is_compilation(line) {
            done += 1;
            progress(Progress::Compiling { done, expected });
        }
    })?;
    version(&tree.join(PROGRAM))
}

/// Writes the compiler of the recipe to the source.
fn write_compiler(tree: &Path) -> Result<(), KernelError> {
    for (name, text) in recipe::COMPILER {
        let path = tree.join(name);
        let write = || {
            fs::create_dir_all(path.parent().unwrap_or(tree))?;
            fs::write(&path, text)?;
            fs::set_permissions(&path, Permissions::from_mode(0o755))
        };
        write().map_err(failed(format!("write {}", path.display())))?;
    }
    Ok(())
}

/// A line of `make` that names a compiled file.
fn is_compilation(line: &str) -> bool {
    matches!(line.split_ascii_whitespace().next(), Some("CC" | "AS"))
}

fn apply(patch: &Patch, tree: &Path) -> Result<(), KernelError> {
    let run = || {
        let mut child = Command::new("patch")
            .args(["--strip=1", "--forward", "--batch", "--directory"])
            .arg(tree)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(patch.text.as_bytes())?;
        }
        child.wait_with_output()
    };
    let output = run().map_err(failed(format!("apply {}", patch.name)))?;
    if output.status.success() {
        return Ok(());
    }
    let said = last_lines(&String::from_utf8_lossy(&output.stdout), LOG_LINES);
    Err(KernelError::Build(format!(
        "the patch {} does not apply to this source: {said}; use Linux 6.12",
        patch.name
    )))
}

/// The configuration must have every option that was asked for: `make` drops silently what it does
/// not know.
fn check_configuration(wanted: &str, tree: &Path) -> Result<(), KernelError> {
    let path = tree.join(".config");
    let text = fs::read_to_string(&path).map_err(failed(format!("read {}", path.display())))?;
    match missing_option(wanted, &text) {
        None => Ok(()),
        Some(option) => Err(KernelError::Build(format!(
            "this source or compiler does not support {option}; use Linux 6.12 and gcc 12"
        ))),
    }
}

/// The first line of `wanted` that is not in force in `config`.
fn missing_option(wanted: &str, config: &str) -> Option<String> {
    let lines: std::collections::BTreeSet<&str> = config.lines().collect();
    let in_force = |line: &str| match line.strip_prefix("# ") {
        Some(rest) => {
            let name = rest.split(' ').next().unwrap_or_default();
            !lines.contains(format!("{name}=y").as_str())
        }
        None => lines.contains(line),
    };
    let options = wanted.lines().filter(|line| {
        line.starts_with("CONFIG_") || line.starts_with("# CONFIG_") && line.ends_with("is not set")
    });
    options.filter(|line| !in_force(line)).map(str::to_owned).next()
}

struct Make<'a> {
    tree: &'a Path,
    log: &'a Path,
}

impl Make<'_> {
    /// Runs `make` at the priority of its caller, who waits for it; its output goes to the log, and line by line to `hear`.
    fn run(&self, arguments: &[&str], hear: &mut dyn FnMut(&str)) -> Result<(), KernelError> {
        let step = format!("make {}", arguments.join(" "));
        let status = self.try_run(arguments, hear).map_err(failed(step.clone()))?;
        if status.success() {
            return Ok(());
        }
        let text = fs::read(self.log).unwrap_or_default();
        let end = last_lines(&String::from_utf8_lossy(&text), LOG_LINES);
        let log = self.log.display();
        Err(KernelError::Build(format!("{step} failed; see {log}, which ends:\n{end}")))
    }

    fn try_run(&self, arguments: &[&str], hear: &mut dyn FnMut(&str)) -> io::Result<ExitStatus> {
        let mut log = OpenOptions::new().append(true).open(self.log)?;
        let mut child = Command::new("make")
            .args(["ARCH=um", recipe::COMPILER_ARGUMENT])
            .args(arguments)
            .current_dir(self.tree)
            .env_clear()
            .env("PATH", PROGRAM_DIRECTORIES)
            .envs(ENVIRONMENT)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log.try_clone()?)
            .spawn()?;
        if let Some(output) = child.stdout.take() {
            for line in BufReader::new(output).split(b'\n') {
                let line = line?;
                log.write_all(&line)?;
                log.write_all(b"\n")?;
                hear(&String::from_utf8_lossy(&line));
            }
        }
        child.wait()
    }
}

/// Returns the version that the kernel reports.
fn version(program: &Path) -> Result<String, KernelError> {
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(failed(format!("start {}", program.display())))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
