//! One way from a lab to a verdict: resolve what a lab needs, plan it, run it, each once.
//!
//! ```text
//! Session ─resolve→ Resolved ─plan→ Planned ─create / resume→ Run ─execute→ Finished
//!  machine,          lab, facts       Plan       backend, run file    run file, verdict
//!  devices
//! ```
//!
//! A [`Session`] holds the facts about its machine and loads the catalogue of modelled devices,
//! once. [`Session::resolve`] reads a lab and lets the chosen backend adapt it,
//! [`Resolved::plan`] orders its trials, and [`Planned`] opens the backend and the run file. The
//! values that are passed in are plain: no terminal, no environment variable and no command line is
//! needed, see `examples/verdict.rs`.
//!
//! Backends are a table ([`backends::BACKENDS`]): a name, the options it takes, and how it is set
//! up. A new one implements [`Setup`] here and `seekwell_model::backend::Backend` in a crate of its
//! own, and adds a line to that table.
//!
//! Not for: what a trial does (`agent`), the order of trials and the verdict (`runner`), how a run is
//! shown (`report`, `cli`).

mod advised;
pub mod atlas;
pub mod backends;
mod cuts;
mod devices;
mod earlier;
mod effects;
mod error;
mod guests;
mod host;
mod kept;
mod leftovers;
mod load_folder;
mod loaded;
mod machine;
mod marked;
mod merged;
mod nodes;
mod options;
mod own_cpu;
mod prices;
mod probed;
mod process;
mod replay_check;
mod resolved;
mod run;
mod served;
mod setup;
mod shared_disks;
mod sizing;
mod slurm_doctor;
mod traces;
mod tried;
mod tuned;
mod why;
mod worker;

pub use advised::{Advice, Advised};
pub use cuts::{AskedCuts, Case, FoundCuts};
pub use devices::device_text;
pub use earlier::Since;
pub use effects::Effects;
pub use error::{Kind, SessionError};
pub use host::environment as host_environment;
pub use kept::{Standing, set_aside};
pub use leftovers::put_back;
pub use loaded::Session;
pub use machine::Machine;
pub use marked::all_marked;
pub use merged::merge;
pub use options::{Change, More, OnCluster, Options, Price, Wait, Workers};
pub use probed::{ProbedDevice, ProbedError, ProbedWrites};
pub use process::{ServeError, serve};
pub use resolved::{LabText, Resolved};
pub use run::{Done, Finished, Planned, Run, outcomes};
pub use seekwell_cluster::Say;
pub use seekwell_host::sysfs::System;
pub use seekwell_runner::execute::{Event, OVER};
pub use seekwell_serve::{Floor, Report, Served, ServedError};
pub use seekwell_virtual::CpuCharge;
pub use served::ServingError;
pub use setup::{Opened, Setup};
pub use sizing::{Amounts, Seen};
pub use slurm_doctor::{ClusterQuestion, slurm_findings};
pub use tried::{Tried, TriedTrace};
pub use tuned::{Tuned, Tuning};
pub use why::{Asked, AskedTwin, Step};
