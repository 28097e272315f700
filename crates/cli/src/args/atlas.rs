//! Arguments of `ask` and `atlas`.

use clap::{ArgGroup, Args, Subcommand};
use std::path::PathBuf;

/// Arguments of `ask`.
#[derive(Args, Debug)]
pub struct AskArgs {
    /// Load, such as mail, postgresql, sqlite or log, or a recording, for which the load most like it answers or declines
    #[arg(long)]
    pub load: Option<String>,
    /// Device: a word such as nvme or hdd, a model, or the path of a disk, which is not opened
    #[arg(long)]
    pub device: Option<String>,
    /// Filesystem in use now: say what it costs to keep it
    #[arg(long, value_name = "FILESYSTEM", conflicts_with = "json")]
    pub now: Option<String>,
    /// Write the lab of the load, to run it on a disk of your own; an existing file is not overwritten
    #[arg(long, value_name = "FILE")]
    pub lab: Option<PathBuf>,
    /// Print the run that answers as a line of JSON; where none does, the reason and commands
    #[arg(long)]
    pub json: bool,
}

/// Actions on the atlas.
#[derive(Debug, Subcommand)]
pub enum AtlasCommand {
    /// Make or complete the atlas: run its labs on its devices in virtual time
    Run(AtlasRunArgs),
    /// Run cells again here and compare their fingerprints
    Check(AtlasCheckArgs),
    /// Write the atlas as a static site, for a browser or any web server
    Publish(PublishArgs),
    /// Search the options of mkfs, mount, queue and RAID for a load on a modelled device, then run the best few
    Tune(TuneArgs),
    /// Print the questions that the atlas answers as a Markdown table
    Questions,
}

/// Arguments of `atlas run`.
#[derive(Args, Debug)]
pub struct AtlasRunArgs {
    /// Directory of the run files, in `runs`, and of the table `cells.jsonl`
    #[arg(default_value = "atlas")]
    pub directory: PathBuf,
    /// Run this load only; may be given more than once
    #[arg(long = "load")]
    pub loads: Vec<String>,
    /// Run on this device only; may be given more than once
    #[arg(long = "device")]
    pub devices: Vec<String>,
    /// Run nothing: make the table of the runs that are complete
    #[arg(long)]
    pub kept: bool,
    /// Number of parallel trials [default: one for each CPU]; does not affect results
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// Arguments of `atlas check`.
#[derive(Args, Debug)]
#[group(skip)]
#[command(group(ArgGroup::new("checked").args(["cells", "random", "changed"]).required(true).multiple(true)))]
pub struct AtlasCheckArgs {
    /// Cells, as `ask` names them: LOAD/DEVICE/STACK
    #[arg(value_name = "CELL")]
    pub cells: Vec<String>,
    /// Check this number of random cells too
    #[arg(long, value_name = "N")]
    pub random: Option<usize>,
    /// Make the runs anew whose kernel, model, load or guest has changed, and say which cells moved and which answers
    /// flip; with cells, of their runs alone
    #[arg(long, conflicts_with = "random")]
    pub changed: bool,
    /// Number of parallel trials [default: one for each CPU]; does not affect results
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// Arguments of `publish`.
#[derive(Args, Debug)]
pub struct PublishArgs {
    /// Directory to write the pages into
    pub directory: PathBuf,
    /// Replace existing files even if they are not earlier pages
    #[arg(long)]
    pub force: bool,
}

/// Arguments of `tune`.
#[derive(Args, Debug)]
pub struct TuneArgs {
    /// Load, such as mail, postgresql or log, or the path of a lab, whose workload is taken
    #[arg(long)]
    pub load: String,
    /// Device: a word such as nvme or hdd, a model, or the path of a disk, which is not opened
    #[arg(long)]
    pub device: String,
    /// Trials of the search at most; the run of the best few comes after them
    #[arg(long, value_name = "N", default_value_t = 250, value_parser = clap::value_parser!(u16).range(30..))]
    pub trials: u16,
    /// Run file of the best few; their lab is written next to it [default: tune.seekwell, or tune-2.seekwell …]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the run of the best few as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Number of parallel trials [default: one for each CPU]; does not affect results
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}
