//! `seekwell file extract`: the run file out of a report.

use crate::args::ExtractArgs;
use crate::failure::{Exit, Failure};
use crate::{foreign, output};
use seekwell_host::confine::Reach;
use seekwell_host::output::Kind;
use seekwell_store::RunFile;
use std::io::{self, Read};
use std::path::Path;

/// Largest page that is read.
const LARGEST_PAGE: u64 = 1 << 30;

/// Writes the run file that is inside a report.
///
/// # Errors
/// When there is none inside or it was changed, or the output cannot be written; nothing is written over.
pub fn run(arguments: &ExtractArgs) -> Result<Exit, Failure> {
    let report = &arguments.report;
    let output = arguments.output.clone().unwrap_or_else(|| report.with_extension("seekwell"));
    foreign::confine(&Reach::default().reading(report).writing(&output));
    let wrong = |path: &Path, what: &str, error: &dyn std::fmt::Display| {
        Failure::Error(format!("cannot {what} {}: {error}", path.display()))
    };
    let page = read(report).map_err(|error| wrong(report, "read", &error))?;
    let page = String::from_utf8_lossy(&page);
    let bytes = seekwell_report::extract(&page)
        .map_err(|error| wrong(report, "extract a run file from", &error))?;
    RunFile::from_bytes(report, &bytes)?.verify()?.refuse_changed(report)?;
    output::create(&output, Kind::RunFile, &bytes)?;
    Ok(Exit::Done)
}

/// The bytes of a page, which may come from a pipe; a source without end is refused.
fn read(report: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    seekwell_trust::open_or_pipe(report)?.take(LARGEST_PAGE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST_PAGE {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it has more than 1 GiB; give the page of a report",
        ));
    }
    Ok(bytes)
}
