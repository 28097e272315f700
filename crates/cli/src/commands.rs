//! One module per command.

pub mod bench;
pub mod claim;
pub mod doctor;
pub mod internal;
pub mod plan;
pub mod report;
pub mod run;
