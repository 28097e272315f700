//! Arguments of `file`.

use super::MergeArgs;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Actions on run files.
#[derive(Debug, Subcommand)]
pub enum FileCommand {
    /// Check that a run file was not changed, and judge its trials again
    Verify(VerifyArgs),
    /// Save the good trials of a damaged run file into a new one
    Repair(RepairArgs),
    /// Join the files of parts of one run, each checked, into a new one
    Merge(MergeArgs),
    /// Extract the original run file from an HTML report
    Extract(ExtractArgs),
}

/// Arguments of `extract`.
#[derive(Args, Debug)]
pub struct ExtractArgs {
    /// HTML report
    pub report: PathBuf,
    /// Run file to write [default: the report's name with .seekwell]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `verify`.
#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// Run file
    pub run: PathBuf,
}

/// Arguments of `repair`.
#[derive(Args, Debug)]
pub struct RepairArgs {
    /// Damaged run file; it stays as it is
    pub run: PathBuf,
    /// Run file to write [default: its name with -repaired, in the current directory]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}
