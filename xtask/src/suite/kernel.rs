//! The kernel that tests of the virtual backend run: one that was built before, or the reduced one, built
//! during the checks, the compilation of the tests, and those that run no guest. Without either, those that do are
//! skipped and counted.

use std::path::Path;
use std::process::{Child, Command};

use anyhow::Result;

use crate::program;

#[cfg(test)]
mod tests;

/// Marks kernels that another version of the program made.
const OLD: &str = "made by another version";

/// A kernel that is being built, if one is.
#[derive(Debug)]
pub struct Building(Option<Child>);

/// Says which kernel the tests will run, and begins to build the reduced one when there is none.
///
/// # Errors
///
/// When cargo or the program cannot be started.
pub fn begin(root: &Path) -> Result<Building> {
    let Some(program) = program::build(root)? else { return Ok(Building(None)) };
    let list = Command::new(&program).args(["kernel", "list"]).output()?;
    if let Some(kernel) = current(&String::from_utf8_lossy(&list.stdout)) {
        eprintln!("built before: {kernel}");
        return Ok(Building(None));
    }
    let build = ["kernel", "build", "--set", "reduced"];
    Ok(Building(Some(program::behind(program).args(build).spawn()?)))
}

impl Building {
    /// Waits until it is built.
    ///
    /// # Errors
    ///
    /// When the process cannot be waited for.
    pub fn finish(&mut self) -> Result<()> {
        let Some(mut build) = self.0.take() else { return Ok(()) };
        if !build.wait()?.success() {
            eprintln!("there is no lab kernel, so tests of the virtual backend will be skipped");
        }
        Ok(())
    }
}

/// A check that ends early leaves no compilers behind.
impl Drop for Building {
    fn drop(&mut self) {
        if let Some(mut build) = self.0.take() {
            // It ends when the compilation does; a kernel that is built is not lost.
            let _ = build.wait();
        }
    }
}

/// Sets that the tests of the virtual backend and of its machine take. One with layers stands in for neither.
const SETS: [&str; 2] = ["reduced", "full"];

/// The first line of a list of kernels that names one of this version and of these sets.
fn current(list: &str) -> Option<&str> {
    let is_of_set =
        |line: &&str| line.split_whitespace().nth(1).is_some_and(|set| SETS.contains(&set));
    list.lines().skip(1).filter(is_of_set).find(|line| !line.contains(OLD))
}
