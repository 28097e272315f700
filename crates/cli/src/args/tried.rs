//! Arguments of questions without a lab file: `try` and `advise`.

use super::{BackendArgs, some_time, waiting};
use clap::Args;
use seekwell_model::filesystems::USUAL_FILESYSTEMS;
use seekwell_model::units::{Bytes, Nanos};
use seekwell_session::{Advised, Options, Tried};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Arguments of `try`.
#[derive(Args, Debug)]
pub struct TryArgs {
    /// Shell command to run on every stack, inside the mounted filesystem ({dir}), one of mail, seek and
    /// stream, or the path of a recording to replay
    pub work: String,
    /// Command that prepares the work in {dir}; not measured
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,
    /// Filesystems to compare
    #[arg(
        long = "fs",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "ext4,xfs,btrfs"
    )]
    pub filesystems: Vec<String>,
    /// I/O schedulers to compare
    #[arg(long = "sched", value_name = "LIST", value_delimiter = ',', default_value = "none")]
    pub schedulers: Vec<String>,
    /// Time limit for all trials together; the run ends earlier if the verdict is clear
    #[arg(long = "for", value_name = "TIME", default_value = "2min", value_parser = some_time, allow_hyphen_values = true)]
    pub time: Nanos,
    /// Size of the scratch image
    #[arg(long, value_name = "SIZE", default_value = "2GiB")]
    pub size: Bytes,
    /// Run file to write; the lab is written next to it [default: try.seekwell, or try-2.seekwell …]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Backend.
    #[command(flatten)]
    pub at: BackendArgs,
    /// Start and output of the run.
    #[command(flatten)]
    pub run: RunAtOnceArgs,
}

impl TryArgs {
    /// The question that the words ask.
    pub fn tried(&self) -> Tried {
        // A scratch device that takes the place of the lab's has a size of its own.
        let of_device = self.at.device.as_deref().and_then(|device| device.split_once(':'));
        let size = of_device.and_then(|(_, size)| size.parse().ok()).unwrap_or(self.size);
        Tried {
            work: self.work.clone(),
            prepare: self.prepare.clone(),
            filesystems: self.filesystems.clone(),
            schedulers: self.schedulers.clone(),
            size,
            time: self.time,
            trace: None,
        }
    }
}

/// Options of commands that draft a lab and run it.
#[derive(Args, Debug)]
pub struct RunAtOnceArgs {
    /// Host: wait for the end of another run on this machine
    #[arg(long)]
    pub wait: bool,
    /// Print the whole run as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Print a line per trial even on a terminal
    #[arg(long)]
    pub no_screen: bool,
}

impl RunAtOnceArgs {
    /// The options of a session; `stop` ends the wait for another run.
    pub fn options(&self, at: &BackendArgs, stop: &Arc<AtomicBool>) -> Options {
        Options { wait: self.wait.then(|| waiting(stop)), ..at.options() }
    }
}

/// I/O schedulers that `advise` compares by default.
pub const ADVISED_SCHEDULERS: &str = "none,mq-deadline";

/// Arguments of `advise`.
#[derive(Args, Debug)]
pub struct AdviseArgs {
    /// Folder of the trace that `capture` or `trace import` wrote
    pub trace: PathBuf,
    /// Folder of the recorded machine that would move to another stack [default: the one that capture
    /// walked, or that with most of the time in calls]
    #[arg(long, value_name = "DIR")]
    pub only: Option<String>,
    /// Run the lab for at most this long; else it is shown
    #[arg(long = "for", value_name = "TIME", value_parser = some_time, allow_hyphen_values = true)]
    pub time: Option<Nanos>,
    /// Filesystems to compare, and no others [default: ext4, xfs and btrfs, also with the mount options
    /// that can matter]
    #[arg(long = "fs", value_name = "LIST", value_delimiter = ',')]
    pub filesystems: Option<Vec<String>>,
    /// I/O schedulers to compare where they can matter; the first one is used elsewhere
    #[arg(
        long = "sched",
        value_name = "LIST",
        value_delimiter = ',',
        default_value = ADVISED_SCHEDULERS
    )]
    pub schedulers: Vec<String>,
    /// Run file to write; the lab is written next to it [default: advise.seekwell, or
    /// advise-2.seekwell …]
    #[arg(short, long, value_name = "FILE", requires = "time")]
    pub output: Option<PathBuf>,
    /// Backend.
    #[command(flatten)]
    pub at: BackendArgs,
    /// Start and output of the run.
    #[command(flatten)]
    pub run: RunAtOnceArgs,
}

impl AdviseArgs {
    /// The question; its trace has an absolute path, since a lab names one.
    pub fn advised(&self) -> std::io::Result<Advised> {
        Ok(Advised {
            trace: self.trace.canonicalize()?,
            only: self.only.clone(),
            filesystems: self
                .filesystems
                .clone()
                .unwrap_or(USUAL_FILESYSTEMS.map(str::to_owned).to_vec()),
            has_variants: self.filesystems.is_none(),
            is_virtual: self.at.options().backend != "host",
            schedulers: self.schedulers.clone(),
            time: self.time,
        })
    }
}
