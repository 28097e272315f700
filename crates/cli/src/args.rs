//! The arguments, one definition each: help, usage and completions come from here.

use clap::{Args, CommandFactory, Parser, Subcommand};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  seekwell doctor                      what this machine can measure
  seekwell plan labs/demo.toml         trials, order, time and bytes written; touches nothing
  seekwell run labs/demo.toml          runs the lab on scratch images and names the verdict
  seekwell report demo.seekwell --html demo.html
  seekwell bench seek /dev/sdb         random reads of a disk now, reading only

Exit status: 0 done or verdict reached, 1 error, 2 usage, 3 refused for safety,
4 not resolved, 5 a threshold failed.";

/// Which filesystem, mkfs and mount options, I/O scheduler, journal placement and device run your
/// workload fastest, how sure that is, and why.
#[derive(Debug, Parser)]
#[command(name = "seekwell", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    /// Command.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands, `bench` excepted: its flags come from the catalogue of workloads.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what this machine can measure, and the command that adds what is missing
    Doctor,
    /// Print trials, order, predicted time and bytes written of a lab; touch nothing
    Plan(PlanArgs),
    /// Run a lab and name the verdict
    Run(RunArgs),
    /// Show a run again, or write it as HTML, CSV or JSON
    Report(ReportArgs),
    /// Allow Seekwell to destroy what is on a disk or partition: the only door to a real disk
    Claim(ClaimArgs),
    /// Take a claim back
    Release(ReleaseArgs),
    /// Run one trial: reads a request on standard input, writes messages on standard output
    #[command(hide = true)]
    Agent,
    /// Put everything back when a run dies: talks over standard input
    #[command(hide = true)]
    Guardian(GuardianArgs),
}

/// Arguments of `plan`.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// Lab file
    pub lab: PathBuf,
    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Lab file; with --resume it may be left out
    pub lab: Option<PathBuf>,
    /// Run file to write [default: NAME.seekwell in the current directory]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Go on with an interrupted run: exactly the missing trials are run
    #[arg(long)]
    pub resume: bool,
    /// Where trials run
    #[arg(long, default_value = "host", value_parser = ["host"])]
    pub place: String,
    /// Directory for scratch images [default: that of the run file]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Print the whole run as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Run file
    pub run: PathBuf,
    /// Write one HTML file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write every trial, step and metric as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print the whole run as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `claim`.
#[derive(Args, Debug)]
pub struct ClaimArgs {
    /// Disk or partition, by stable path: /dev/disk/by-id/…
    pub device: PathBuf,
    /// Answer to the question, for scripts: the last characters of the serial number, or the size
    /// in sectors where the device has none
    #[arg(long, value_name = "TEXT")]
    pub confirm: Option<String>,
}

/// Arguments of `release`.
#[derive(Args, Debug)]
pub struct ReleaseArgs {
    /// Disk or partition as it was claimed
    pub device: PathBuf,
}

/// Arguments of `guardian`.
#[derive(Args, Debug)]
pub struct GuardianArgs {
    /// Undo list of the run
    #[arg(long)]
    pub undo: PathBuf,
    /// Process id of the runner
    #[arg(long)]
    pub runner: u32,
}

/// The whole command line, `bench` included.
#[must_use]
pub fn command() -> clap::Command {
    Cli::command().subcommand(crate::bench_flags::command())
}
