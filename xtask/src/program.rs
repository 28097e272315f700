//! The program, as the build of all tests makes it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

/// Clippy compiles the workspace: a pass of its own would look at every crate a second time.
const COMPILER: &str = "RUSTC_WORKSPACE_WRAPPER";
const WITH_LINTS: &str = "clippy-driver";

/// Builds the program with the features that all packages together ask for: by itself it would have others, and a
/// fifth of the libraries and every room would be compiled twice.
const BUILD: [&str; 6] = ["test", "--no-run", "--locked", "--workspace", "--test", "exports"];

/// Cargo in a checkout, with the lints of clippy.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Whatever else names a folder to build in: the programs are looked for in this one.
    command.current_dir(root).env(COMPILER, WITH_LINTS).env("CARGO_TARGET_DIR", target());
    command
}

/// Leaves the CPU to everything else. The scheduler shares it between sessions before it looks at a process, so that this
/// takes one of its own: without, a kernel thread that serves a loop device waits for tests that compute. Its end is
/// passed on to all that the program has started, which Ctrl-C does not reach there. (A shell lets what it does not wait
/// for ignore Ctrl-C.)
const BEHIND: &str = "{ echo 10 > /proc/self/autogroup; } 2>/dev/null
trap 'trap \"\" TERM INT; kill -INT 0; exit 130' TERM
env --default-signal=INT,QUIT nice \"$@\" & wait $!";

/// A program that runs behind all others, and that ends with `xtask`.
pub(crate) fn behind(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "setsid", "sh", "-c", BEHIND, "sh"]).arg(program);
    command
}

/// The folder that cargo builds in.
pub(crate) fn target() -> OsString {
    std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into())
}

/// Builds the program and returns its path; `None` when it does not build, which is then told on standard error.
///
/// # Errors
///
/// When cargo cannot be started.
pub(crate) fn build(root: &Path) -> Result<Option<PathBuf>> {
    let status = cargo(root).args(BUILD).status().context("cannot run cargo")?;
    Ok(status.success().then(|| root.join(target()).join("debug/seekwell")))
}
