//! The arguments, one definition each: help, usage and completions come from here.

mod atlas;
mod devices;
mod elsewhere;
mod examples;
mod files;
mod help;
mod traces;
mod tried;

pub use atlas::{AskArgs, AtlasCheckArgs, AtlasCommand, AtlasRunArgs, PublishArgs, TuneArgs};
pub use devices::{DeviceCheckArgs, DeviceCommand, DeviceServeArgs, ProbeArgs};
pub use elsewhere::{ClusterArgs, DoctorArgs, MergeArgs, WorkArgs};
pub use files::{ExtractArgs, FileCommand, RepairArgs, VerifyArgs};
pub use help::{command, documented, whole};
pub use traces::{
    CaptureArgs, TraceCommand, TraceFilterArgs, TraceFormat, TraceImportArgs, TraceInfoArgs,
    TraceRequestsArgs,
};

pub use tried::{ADVISED_SCHEDULERS, AdviseArgs, TryArgs};

use crate::terminal;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use seekwell_model::units::{Bytes, Nanos, UnitError};
use seekwell_report::Applied;
use seekwell_session::{Asked, Change, CpuCharge, More, Options, Price, Wait, backends};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "seekwell",
    version,
    about = "Which filesystem, options, I/O scheduler and device run your workload fastest?",
    max_term_width = 100,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// Command.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands, `bench` excepted: its flags come from the catalogue of workloads.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List what this machine can measure and what is missing
    Doctor(DoctorArgs),
    /// Look an answer up by load and device, without root
    Ask(AskArgs),
    /// Compare filesystems and schedulers for one command, now
    #[command(alias = "replay")]
    Try(TryArgs),
    /// Write a lab from six answers: workload, device, time …
    Init(InitArgs),
    /// Show trials, time and bytes written of a lab; touch nothing
    Plan(PlanArgs),
    /// Run a lab and name the verdict
    Run(RunArgs),
    /// Say what another stack would gain for a recorded load
    Advise(AdviseArgs),
    /// Show a device live: iostat's columns, latencies, sizes, map
    Watch(WatchArgs),
    /// Record file system calls and block requests of programs
    Capture(CaptureArgs),
    /// Print a run's report, or write HTML, Markdown, CSV, JSON …
    Report(ReportArgs),
    /// Find the cause of a difference: switch laws of the disk off
    Why(WhyArgs),
    /// Compare two runs of a lab, as before and after an update
    Compare(CompareArgs),
    /// Describe, cut and import recorded loads
    #[command(subcommand)]
    Trace(TraceCommand),
    /// List and show modelled devices, or probe a disk for one
    #[command(subcommand)]
    Device(DeviceCommand),
    /// Search mkfs and mount options, or check answers of `ask`
    #[command(subcommand)]
    Atlas(AtlasCommand),
    /// The same as `atlas publish`
    #[command(hide = true)]
    Publish(PublishArgs),
    /// The same as `atlas tune`
    #[command(hide = true)]
    Tune(TuneArgs),
    /// Verify, repair, merge or extract run files
    #[command(subcommand)]
    File(FileCommand),
    /// Build the virtual backend's kernel, measure its CPU cost
    #[command(subcommand)]
    Kernel(KernelCommand),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print the help of a command with all of its options
    #[command(hide = true)]
    Help(HelpArgs),
    /// The same as `device replicate`
    #[command(hide = true)]
    Replicate(ReplicateArgs),
    /// The same as `device claim`
    #[command(hide = true)]
    Claim(ClaimArgs),
    /// The same as `device release`
    #[command(hide = true)]
    Release(ReleaseArgs),
    /// The same as `device probe`
    #[command(hide = true)]
    Probe(ProbeArgs),
    /// The same as `file extract`
    #[command(hide = true)]
    Extract(ExtractArgs),
    /// The same as `file verify`
    #[command(hide = true)]
    Verify(VerifyArgs),
    /// The same as `file merge`
    #[command(hide = true)]
    Merge(MergeArgs),
    /// The same as `file repair`
    #[command(hide = true)]
    Repair(RepairArgs),
    /// The same as `kernel calibrate`
    #[command(hide = true)]
    Calibrate(CalibrateArgs),
    /// The same as `kernel cuts`
    #[command(hide = true)]
    Cuts(CutsArgs),
    /// Write man pages and completions below a directory, or print the command reference
    #[command(hide = true)]
    Documents(DocumentsArgs),
    /// Draw the live screen of a run: reads states on standard input
    #[command(hide = true)]
    Screen,
    /// Draw the live screen of a capture: reads states on standard input
    #[command(hide = true)]
    CaptureScreen,
    /// Run trials of a run on a node of a cluster
    #[command(hide = true)]
    Work(WorkArgs),
}

/// Arguments of `help`.
#[derive(Args, Debug)]
pub struct HelpArgs {
    /// Command, with that of its group
    pub words: Vec<String>,
}

/// Backend that runs the trials of a lab, and its settings.
#[derive(Args, Debug)]
pub struct BackendArgs {
    /// Run on this machine (`host`) or on modelled disks in virtual time (`virtual`). The latter needs no root
    /// and gives the same result everywhere [default: host; virtual with --on]
    #[arg(long, value_parser = PossibleValuesParser::new(backends::names()))]
    pub place: Option<String>,
    /// Replace the lab's devices by this modelled one: a name from `device list`, or a device file
    #[arg(long, value_name = "MODEL", help_heading = VIRTUAL)]
    pub model: Option<String>,
    /// Run the lab on this modelled device instead of its own. Repeat it to compare devices. `slurm` runs the
    /// trials on a cluster; `workers` waits for workers that something else starts
    #[arg(long, value_name = "MODEL")]
    pub on: Vec<String>,
    /// Price of a device in whole units of your currency, by which the report compares them; may be repeated
    #[arg(long = "price", value_name = "DEVICE=NUMBER", help_heading = MORE)]
    pub prices: Vec<Price>,
    /// Lab kernel to run [default: that of `kernel build`]
    #[arg(long, value_name = "ID", help_heading = VIRTUAL)]
    pub kernel: Option<String>,
    /// Copy a program of this machine into the guests; may be repeated
    #[arg(long, value_name = "PATH", help_heading = VIRTUAL)]
    pub bring: Vec<PathBuf>,
    /// Change a parameter of a modelled device, for example to a bound of its range
    #[arg(long = "set", value_name = "DEVICE:KEY=NUMBER", help_heading = VIRTUAL)]
    pub changes: Vec<Change>,
    /// Use this claimed disk, loop:SIZE or ram:SIZE instead of the lab's devices. A disk is named by its stable
    /// path
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Replace the lab's external journal devices by this one
    #[arg(long, value_name = "DEVICE", requires = "device", help_heading = MORE)]
    pub journal_device: Option<String>,
}

impl BackendArgs {
    /// True if the trials run on other machines.
    pub fn is_elsewhere(&self) -> bool {
        self.on.iter().any(|word| elsewhere::is_named(word))
    }

    /// The options of a session.
    pub fn options(&self) -> Options {
        let usual = if self.on.is_empty() { "host" } else { "virtual" };
        let place = self.place.as_deref().unwrap_or(usual);
        Options {
            backend: place.to_owned(),
            device: self.device.clone(),
            journal_device: self.journal_device.clone(),
            model: self.model.clone(),
            on: self.on.iter().filter(|word| !elsewhere::is_named(word)).cloned().collect(),
            prices: self.prices.clone(),
            kernel: self.kernel.clone(),
            bring: self.bring.clone(),
            changes: self.changes.clone(),
            ..Options::default()
        }
    }
}

/// Headings of options that `seekwell help COMMAND` shows and `--help` leaves out.
pub const MORE: &str = "More options";
const VIRTUAL: &str = "Virtual backend";

/// Actions on lab kernels.
#[derive(Debug, Subcommand)]
pub enum KernelCommand {
    /// Build the lab kernel unless it is already built; takes minutes
    Build(KernelBuildArgs),
    /// List the lab kernels that were built
    List,
    /// Measure the CPU time to charge on the virtual backend
    Calibrate(CalibrateArgs),
    /// Search a filesystem for synced data that power cuts lose
    Cuts(CutsArgs),
}

/// Arguments of `kernel cuts`.
#[derive(Args, Debug)]
pub struct CutsArgs {
    /// Filesystems, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', required = true)]
    pub fs: Vec<String>,
    /// Operations per sequence at most
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=3))]
    pub ops: u32,
    /// Mount options, separated by commas
    #[arg(long, value_name = "LIST", value_delimiter = ',', allow_hyphen_values = true)]
    pub options: Vec<String>,
    /// Arguments of mkfs, separated by spaces
    #[arg(long, value_name = "WORDS", value_delimiter = ' ', allow_hyphen_values = true)]
    pub mkfs: Vec<String>,
    /// Sequences at most: drawn by the seed, if there are more
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    pub most: u64,
    /// Seed of the draw
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Modelled device; only one with a write cache loses what was not flushed
    #[arg(long, value_name = "MODEL", default_value = "ide-40gb-2005")]
    pub model: String,
    /// Number of parallel guests [default: one for each CPU]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Lab kernel to search [default: that of `kernel build`]
    #[arg(long, value_name = "ID")]
    pub kernel: Option<String>,
    /// End with the first loss
    #[arg(long)]
    pub until_lost: bool,
}

/// Arguments of `kernel build`.
#[derive(Args, Debug)]
pub struct KernelBuildArgs {
    /// Tar file or top directory of a Linux 6.12 source [default: Debian's linux-source-6.12]
    #[arg(long, value_name = "PATH")]
    pub source: Option<PathBuf>,
    /// Set of filesystems in the kernel
    #[arg(long, value_enum, default_value = "full")]
    pub set: KernelSetArg,
    /// Parallel compiler processes [default: one for each CPU]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
}

/// Sets of filesystems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum KernelSetArg {
    /// Every filesystem that a lab may name
    Full,
    /// ext2, ext3, ext4, xfs and btrfs: built faster
    Reduced,
    /// The full set, with LUKS, zram and other layers that charge CPU time
    Layers,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Lab file to write; an existing file is not overwritten
    #[arg(default_value = "mine.toml")]
    pub lab: PathBuf,
    /// Main workload: mail, database, log, monitoring, photos, build, desktop, containers, command
    #[arg(long, value_name = "ANSWER")]
    pub runs: Option<String>,
    /// Device to measure: scratch, or the stable path of a disk or partition
    #[arg(long, value_name = "ANSWER")]
    pub device: Option<String>,
    /// Filesystems to compare: usual, or a list such as ext4,xfs
    #[arg(long, value_name = "ANSWER")]
    pub filesystems: Option<String>,
    /// Further axis to compare: scheduler, journal, memory, nothing
    #[arg(long, value_name = "ANSWER")]
    pub vary: Option<String>,
    /// Main goal: throughput, waiting
    #[arg(long, value_name = "ANSWER")]
    pub matters: Option<String>,
    /// Time limit, for example 10min
    #[arg(long, value_name = "ANSWER")]
    pub time: Option<String>,
    /// Ask nothing: use the default for every question without a flag
    #[arg(long)]
    pub defaults: bool,
    /// Measure nothing: choose the amount of work by estimate
    #[arg(long)]
    pub estimate: bool,
}

/// Arguments of `plan`.
#[derive(Args, Debug)]
pub struct PlanArgs {
    /// Lab file
    pub lab: PathBuf,
    /// Backend.
    #[command(flatten)]
    pub at: BackendArgs,
    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Lab file; with --resume it may be left out
    pub lab: Option<PathBuf>,
    /// Run file to write [default: NAME.seekwell]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Continue an interrupted run with its missing trials. Starts a new run if the run file does not exist
    #[arg(long)]
    pub resume: bool,
    /// With --resume: add rounds for this long. A finished run gets more rounds, too
    #[arg(
        long = "for",
        value_name = "TIME",
        requires = "resume",
        conflicts_with = "until_decided",
        value_parser = some_time,
        allow_hyphen_values = true
    )]
    pub time: Option<Nanos>,
    /// With --resume: add rounds until the verdict is clear. A finished run gets more rounds, too
    #[arg(long, requires = "resume", requires = "at_most")]
    pub until_decided: bool,
    /// The longest time for --until-decided, which it implies
    #[arg(long, value_name = "TIME", requires = "resume", conflicts_with = "time", value_parser = some_time, allow_hyphen_values = true)]
    pub at_most: Option<Nanos>,
    /// Backend.
    #[command(flatten)]
    pub at: BackendArgs,
    /// Run every trial twice and report the first event that differs
    #[arg(long, help_heading = VIRTUAL)]
    pub check: bool,
    /// Number of parallel trials [default: one for each CPU]; does not affect results
    #[arg(long, value_name = "N", help_heading = VIRTUAL)]
    pub jobs: Option<usize>,
    /// CPU time charged for a system call and for each KiB copied, in nanoseconds, as `kernel calibrate`
    /// measures it [default: none]
    #[arg(long, value_name = "CALL,KIB", help_heading = VIRTUAL)]
    pub cpu: Option<CpuCharge>,
    /// Record the calls of the measured commands in the first round: a trace of each trial, in this
    /// folder
    #[arg(long, value_name = "DIR", conflicts_with = "check", help_heading = VIRTUAL)]
    pub record: Option<PathBuf>,
    /// Directory for scratch images. On the virtual backend for data that does not fit in memory [default: that
    /// of the run file]
    #[arg(long, value_name = "DIR")]
    pub scratch: Option<PathBuf>,
    /// Host: wait for the end of another run on this machine
    #[arg(long)]
    pub wait: bool,
    /// Workers of the cluster.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Print the whole run as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Print a line per trial even on a terminal
    #[arg(long)]
    pub no_screen: bool,
}

impl RunArgs {
    /// The options of a session; `stop` ends a run that waits for a node.
    pub fn options(&self, stop: &Arc<AtomicBool>) -> Options {
        Options {
            jobs: self.jobs,
            cpu: self.cpu,
            check: self.check,
            record: self.record.clone(),
            cluster: self
                .at
                .is_elsewhere()
                .then(|| self.cluster.workers(&self.at.on, stop.clone())),
            scratch: self.scratch.clone(),
            more: self.longest().map(|_| More { until_decided: self.at_most.is_some() }),
            wait: self.wait.then(|| waiting(stop)),
            ..self.at.options()
        }
    }

    /// Longest time of this command, when rounds are to be added.
    pub fn longest(&self) -> Option<Nanos> {
        self.time.or(self.at_most)
    }
}

/// The wait for another run, until `stop` is raised.
fn waiting(stop: &Arc<AtomicBool>) -> Wait {
    Wait { stop: Arc::clone(stop), say: |words| terminal::talk(&terminal::harmless(words)) }
}

/// Forms of `report --apply`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum ApplyForm {
    /// Commands and lines of configuration files
    Lines,
    /// Mount units in place of fstab lines
    Systemd,
    /// Ansible tasks
    Ansible,
}

impl From<ApplyForm> for Applied {
    fn from(form: ApplyForm) -> Self {
        match form {
            ApplyForm::Lines => Self::Lines,
            ApplyForm::Systemd => Self::Systemd,
            ApplyForm::Ansible => Self::Ansible,
        }
    }
}

/// Arguments of `report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// Run file
    pub run: PathBuf,
    /// Show everything: table, evidence, warnings, uncontrolled factors, how to make the pick permanent
    #[arg(long)]
    pub all: bool,
    /// Print what puts the pick in force and the way back, as lines, systemd units or ansible tasks
    #[arg(long, value_name = "FORM", value_enum, hide_possible_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "lines", conflicts_with_all = ["json", "all"])]
    pub apply: Option<ApplyForm>,
    /// Write one HTML file that contains the run file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the answer as Markdown, made for a change request; with --all the whole report
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write trials, samples, timelines and histograms as Parquet tables into a directory
    #[arg(long, value_name = "DIR")]
    pub parquet: Option<PathBuf>,
    /// Omit timelines, block events and the run file from the HTML
    #[arg(long, requires = "html")]
    pub lean: bool,
    /// Write every trial, step and metric as CSV
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Print the whole run as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Replace existing files even if they are not earlier reports
    #[arg(long)]
    pub force: bool,
}

/// Laws of `why` that have a share of their own: more take longer.
const USUAL_SINGLE: u8 = Asked::USUAL_SINGLE;
const USUAL_ROUNDS: u32 = Asked::USUAL_ROUNDS;

/// Arguments of `why`.
#[derive(Args, Debug)]
pub struct WhyArgs {
    /// Finished run
    pub run: PathBuf,
    /// Two stacks of the run [default: the pick, and the best one that differs from it in what matters most]
    #[arg(value_name = "STACK", num_args = 2)]
    pub stacks: Vec<String>,
    /// Rank single improvements of the better stack too: no seeks, free flushes, a larger write cache, more memory, other
    /// devices
    #[arg(long)]
    pub what_if: bool,
    /// Real machine: look for causes on a modelled device too, in guests, if it ranks the stacks as the run does [default
    /// model: the one nearest to the disk of the images]
    #[arg(long, value_name = "MODEL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub twin: Option<String>,
    /// Rounds on a real machine
    #[arg(long, value_name = "N", default_value_t = USUAL_ROUNDS, value_parser = clap::value_parser!(u32).range(2..=100), help_heading = MORE)]
    pub rounds: u32,
    /// Laws with a share of their own; smaller ones are one part
    #[arg(long, value_name = "N", default_value_t = USUAL_SINGLE, value_parser = clap::value_parser!(u8).range(1..=10), help_heading = MORE)]
    pub single: u8,
    /// Number of parallel trials [default: one for each CPU]; does not affect results
    #[arg(long, value_name = "N", help_heading = MORE)]
    pub jobs: Option<usize>,
    /// Print the causes as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `watch`.
#[derive(Args, Debug)]
pub struct WatchArgs {
    /// Disk or partition; it is not opened, and nothing is written to it
    pub device: PathBuf,
    /// Length of an interval, 10ms or more
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = interval, allow_hyphen_values = true)]
    pub interval: Nanos,
    /// End after this number of intervals
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Keep the timeline and the requests as a run file, for `seekwell report`
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Print a line per interval even on a terminal
    #[arg(long)]
    pub lines: bool,
    /// Print a line of JSON per interval
    #[arg(long)]
    pub json: bool,
    /// Do not read block events; show counters only
    #[arg(long)]
    pub counters_only: bool,
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Run file of the first run (before)
    #[arg(required_unless_present = "before", requires = "second")]
    pub first: Option<PathBuf>,
    /// Run file of the second run (after)
    pub second: Option<PathBuf>,
    /// Run files before the change, three or more, made in turn with those after it
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "after", conflicts_with = "first")]
    pub before: Vec<PathBuf>,
    /// Run files after the change, three or more
    #[arg(long, value_name = "RUN", num_args = 1.., requires = "before")]
    pub after: Vec<PathBuf>,
    /// Stack that the change does not touch: compare the ratios of the other stacks to it, so that
    /// changes of the whole machine cancel
    #[arg(long, value_name = "STACK")]
    pub reference: Option<String>,
    /// Fail if a stack is shown to be worse than before by more than this, for example 5%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fail_above: Option<f64>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
    /// Write the comparison as Markdown, made for a change request
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// A time above 0.
///
/// # Errors
/// A message when it is no time, or zero.
pub fn some_time(text: &str) -> Result<Nanos, String> {
    let time = any_time(text)?;
    match time.0 {
        0 => Err("the time must be above 0, for example 2min".to_owned()),
        _ => Ok(time),
    }
}

/// A size that a trace, or a part of one, can have.
///
/// # Errors
/// A message when it is no size, or zero.
pub fn some_trace(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error: UnitError| error.to_string())?;
    match size.0 {
        0 => Err("the size must be above 0, for example 500MiB".to_owned()),
        _ => Ok(size),
    }
}

/// A time of 0 or more.
///
/// # Errors
/// A message when it is no time, or negative.
pub fn any_time(text: &str) -> Result<Nanos, String> {
    if let Some(time) = text.strip_prefix('-').filter(|time| time.parse::<Nanos>().is_ok()) {
        return Err(format!("a time cannot be negative; write {time}"));
    }
    text.parse().map_err(|error: UnitError| error.to_string())
}

/// Shorter intervals tell nothing: the kernel counts busy time in milliseconds.
const SHORTEST_INTERVAL: Nanos = Nanos(10_000_000);

/// The length of an interval of `watch`.
///
/// # Errors
/// A message when it is no time, or too short.
fn interval(text: &str) -> Result<Nanos, String> {
    let time = any_time(text)?;
    if time < SHORTEST_INTERVAL {
        return Err(
            "an interval must be 10ms or more, because the kernel counts busy time in milliseconds"
                .to_owned(),
        );
    }
    Ok(time)
}

/// A share as people write it: `5%` or `0.05`.
///
/// # Errors
/// A message when it is neither, or outside 0 to 1000 %.
fn share(text: &str) -> Result<f64, String> {
    let number = match text.trim().strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.trim().parse::<f64>(),
    };
    let percent = text.contains('%');
    match number {
        // Whoever writes 5 means 5 %, and a threshold of 500 % would hold always.
        Ok(share) if share >= 1.0 && !percent => Err(format!(
            "{share} would be {} %; write {share}% or {}",
            share * 100.0,
            share / 100.0
        )),
        Ok(share) if (0.0..=10.0).contains(&share) => Ok(share),
        _ => Err("write a share such as 5% or 0.05, at most 1000%".to_owned()),
    }
}

/// Arguments of `replicate`.
#[derive(Args, Debug)]
pub struct ReplicateArgs {
    /// Number of the study [default: all of them]
    pub study: Option<String>,
    /// Run the quick set: smaller labs, minutes instead of hours
    #[arg(long)]
    pub quick: bool,
    /// Backend: guests on modelled disks, or this machine's kernel with --device
    #[arg(long, default_value = "virtual", value_parser = PossibleValuesParser::new(backends::names()))]
    pub place: String,
    /// Device to use instead of the modelled ones: a claimed disk or partition by stable path, or
    /// loop:SIZE, ram:SIZE
    #[arg(long, value_name = "DEVICE", help_heading = MORE)]
    pub device: Option<String>,
    /// Replace the lab's external journal devices by this one
    #[arg(long, value_name = "DEVICE", requires = "device", help_heading = MORE)]
    pub journal_device: Option<String>,
    /// Lab kernel to run [default: that of `kernel build`]
    #[arg(long, value_name = "ID", help_heading = VIRTUAL)]
    pub kernel: Option<String>,
    /// Number of parallel trials [default: one for each CPU]; does not affect results
    #[arg(long, value_name = "N", help_heading = VIRTUAL)]
    pub jobs: Option<usize>,
    /// Directory of labs and run files; finished runs in it are kept and not repeated
    #[arg(short, long, value_name = "DIR", default_value = "replications")]
    pub output: PathBuf,
    /// Run nothing and judge the existing run files; without --quick, use the quick run of a lab
    /// whose full run is missing or incomplete
    #[arg(long)]
    pub kept: bool,
    /// Also run the labs with every undetermined parameter at both bounds of its range
    #[arg(long, help_heading = MORE)]
    pub ranges: bool,
    /// Fit the modelled devices to the published values reserved for it, and print the parameters
    /// found
    #[arg(long, conflicts_with_all = ["kept", "ranges", "device"], help_heading = MORE)]
    pub fit: bool,
    /// Read the studies from this directory instead of the built-in ones
    #[arg(long, value_name = "DIR", help_heading = MORE)]
    pub from: Option<PathBuf>,
    /// Write the comparison as Markdown, with a picture of each study and tables of values, claims, conditions, runs
    /// and notes next to it
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Replace existing files even if they are not earlier comparisons
    #[arg(long)]
    pub force: bool,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `calibrate`.
#[derive(Args, Debug)]
pub struct CalibrateArgs {
    /// Measure the work of layers too: ciphers by cryptsetup, parity by the kernel's own figures,
    /// compression by lzop. Only the lab kernel of the set layers charges it
    #[arg(long)]
    pub layers: bool,
}

/// Arguments of `claim`.
#[derive(Args, Debug)]
pub struct ClaimArgs {
    /// Disk or partition, by stable path: /dev/disk/by-id/…; or the directory of an NFS server:
    /// SERVER:/PATH
    pub device: PathBuf,
    /// Confirmation for scripts: the last characters of the serial number, or the size in sectors
    /// if the device has none; of a directory its last name
    #[arg(long, value_name = "TEXT")]
    pub confirm: Option<String>,
}

/// Arguments of `release`.
#[derive(Args, Debug)]
pub struct ReleaseArgs {
    /// Disk or partition as it was claimed, or SERVER:/PATH
    pub device: PathBuf,
    /// Restore the partition table and signatures that a trial erased, if nothing else has written to the disk
    #[arg(long)]
    pub restore: bool,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `documents`.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub struct DocumentsArgs {
    /// Directory such as /usr/local/share
    pub directory: Option<PathBuf>,
    /// Print the command reference as Markdown
    #[arg(long)]
    pub reference: bool,
    /// Print the JSON Schema of the JSON of a run
    #[arg(long)]
    pub schema: bool,
}

#[cfg(test)]
mod tests;
