//! Arguments of `capture` and `trace`.

use clap::{ArgGroup, Args, Subcommand};
use seekwell_model::units::{Bytes, Nanos};
use std::ffi::OsString;
use std::path::PathBuf;

/// Usage of `capture`: what clap makes of the group is too long for a line.
const USAGE: &str = "seekwell capture [OPTIONS] -o <DIR> -- <COMMAND>...\n       \
                     seekwell capture [OPTIONS] -o <DIR> --pid|--unit|--container|--system …";

/// Arguments of `capture`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("target").required(true), override_usage = USAGE)]
pub struct CaptureArgs {
    /// Folder of the trace to write; it must not exist or be empty
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Command to start and record, with all that it starts; under sudo it runs as the user who
    /// called sudo
    #[arg(last = true, value_name = "COMMAND", group = "target")]
    pub command: Vec<OsString>,
    /// Record a process that runs already, with its descendants
    #[arg(long, value_name = "PID", group = "target")]
    pub pid: Option<u32>,
    /// Record every process of a cgroup: its path below /sys/fs/cgroup
    #[arg(long, value_name = "DIR", group = "target")]
    pub cgroup: Option<PathBuf>,
    /// Record every process of a systemd unit
    #[arg(long, value_name = "NAME", group = "target")]
    pub unit: Option<String>,
    /// Record every process of a container of docker, podman or Kubernetes, by its name (in Kubernetes POD,
    /// POD/CONTAINER or NAMESPACE/POD/CONTAINER) or 12 or more digits of its id
    #[arg(long, value_name = "NAME|ID", group = "target")]
    pub container: Option<String>,
    /// Record every process except this one
    #[arg(long, group = "target")]
    pub system: bool,
    /// Keep only calls on files below this directory; may be given more than once
    #[arg(long = "path", value_name = "DIR")]
    pub paths: Vec<PathBuf>,
    /// End after this time [default: with the command or process, or at Ctrl-C]
    #[arg(long = "for", alias = "time", value_name = "TIME", value_parser = super::some_time, allow_hyphen_values = true)]
    pub time: Option<Nanos>,
    /// Leave out block requests
    #[arg(long, help_heading = super::MORE)]
    pub no_block: bool,
    /// Allow the trace inside a traced directory or on its device; it adds to the load there
    #[arg(long, help_heading = super::MORE)]
    pub same_device: bool,
    /// Leave out the state of the traced directories (without --path: of the working directory of a
    /// command) before the start
    #[arg(long, help_heading = super::MORE)]
    pub no_walk: bool,
    /// Replace the names of files and programs by meaningless words; sizes, times and process numbers stay
    #[arg(long, help_heading = super::MORE)]
    pub anonymize: bool,
    /// End when the trace has this size
    #[arg(long, value_name = "SIZE", value_parser = super::some_trace, help_heading = super::MORE)]
    pub max_size: Option<Bytes>,
}

/// Actions on traces.
#[derive(Debug, Subcommand)]
pub enum TraceCommand {
    /// Describe the load in a trace: three sentences, then numbers
    Info(TraceInfoArgs),
    /// Show which block requests single calls caused, such as the writes of an fsync
    Requests(TraceRequestsArgs),
    /// Keep a time, directories or processes of a trace as a new trace
    Filter(TraceFilterArgs),
    /// Make a trace from the records of another program
    Import(TraceImportArgs),
}

/// Arguments of `trace info`.
#[derive(Args, Debug)]
pub struct TraceInfoArgs {
    /// Folder of the trace
    pub trace: PathBuf,
    /// Print the numbers as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `trace requests`.
#[derive(Args, Debug)]
pub struct TraceRequestsArgs {
    /// Folder of the trace
    pub trace: PathBuf,
    /// Look at this call, such as write; may be given more than once [default: fsync and all others that
    /// wait until data is on the device]
    #[arg(long = "call", value_name = "NAME")]
    pub calls: Vec<String>,
    /// Look only at calls on files below this directory; may be given more than once
    #[arg(long = "path", value_name = "DIR")]
    pub paths: Vec<String>,
    /// Look only at calls of this process; may be given more than once
    #[arg(long = "process", value_name = "PID")]
    pub processes: Vec<u32>,
    /// Number of calls to show, those that took longest
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub longest: u32,
    /// Print them as JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `trace import`.
#[derive(Args, Debug)]
pub struct TraceImportArgs {
    /// Program that wrote the records
    #[arg(value_enum)]
    pub format: TraceFormat,
    /// File with the records
    pub input: PathBuf,
    /// Folder of the trace to write; it must not exist or be empty
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
}

/// Records that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TraceFormat {
    /// `strace -f -ttt -T -yy`; -t, -tt, -r, -k, -i, -n, -C too
    Strace,
    /// Binary files: one, or their name without .blktrace.N
    Blktrace,
    /// Text of `blkparse -i DEVICE`
    Blkparse,
}

/// Arguments of `trace filter`.
#[derive(Args, Debug)]
pub struct TraceFilterArgs {
    /// Folder of the trace; it stays as it is
    pub trace: PathBuf,
    /// Folder of the trace to write; it must not exist or be empty
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// Leave out events that began before this time of the trace
    #[arg(long, value_name = "TIME", value_parser = super::any_time, allow_hyphen_values = true)]
    pub from: Option<Nanos>,
    /// Leave out events that began at this time of the trace or later
    #[arg(long, value_name = "TIME", value_parser = super::any_time, allow_hyphen_values = true)]
    pub to: Option<Nanos>,
    /// Keep only calls on files below this directory; may be given more than once
    #[arg(long = "path", value_name = "DIR")]
    pub paths: Vec<String>,
    /// Keep only this process; may be given more than once
    #[arg(long = "process", value_name = "PID")]
    pub processes: Vec<u32>,
}
