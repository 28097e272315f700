//! Clusters: the trials of a run on many nodes.
//!
//! For: the folder that a session and its workers share ([`Spool`]), the backend that puts trials into
//! it and takes records out ([`Cluster`]), the loop of a worker ([`work`]), and the jobs in which a
//! scheduler of clusters runs workers ([`Queue`], [`Slurm`]).
//!
//! Not for: running a trial, judging, deciding which trials run. A trial depends on its request alone,
//! so it does not matter which worker runs it, nor whether two do.

mod backend;
mod error;
#[cfg(test)]
mod fixture;
pub mod pace;
mod queue;
mod say;
mod slurm;
mod spool;
mod work;

pub use backend::{Cluster, Patience, Unit};
pub use error::ClusterError;
pub use queue::{JobId, Live, Others, Queue};
pub use say::Say;
pub use slurm::{Array, Programs, Slurm};
pub use spool::{Delivery, Line, Outcome, Share, Sheet, Spool, Work, Writer};
pub use work::{Worked, confirmed, work};
