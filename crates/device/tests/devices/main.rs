//! The device files that come with Seekwell, the promises of every model, and how near the models come to the world:
//! all through the front door.

#![cfg(test)]

mod accuracy;
mod closed_form;
mod files;
#[path = "../../../bench/examples/disksim/fitted.rs"]
mod fitted;
mod harness;
mod laws;
mod oracle;
mod planted;
mod promises;
mod rates;
mod small;
mod ssd_oracle;
#[path = "../../../bench/examples/disksim/trace.rs"]
mod trace;
mod truth;
