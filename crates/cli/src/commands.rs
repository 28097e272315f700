//! One module per command.

pub mod advised;
pub mod bench;
pub mod calibrate;
pub mod capture;
pub mod claim;
pub mod compare;
mod deadline;
pub mod device;
pub mod doctor;
pub mod documents;
pub mod extract;
pub mod init;
pub mod kernel;
pub mod merge;
pub mod plan;
pub mod probe;
pub mod ranges;
pub mod repair;
pub mod replicate;
pub mod report;
pub mod run;
pub mod trace;
pub mod tried;
pub mod verify;
pub mod watch;
pub mod work;
