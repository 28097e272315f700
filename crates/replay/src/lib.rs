//! Replay: the calls of a trace once more, below a directory of any filesystem, and its block requests
//! on any raw device.
//!
//! For: turning a trace into a [`Plan`] (the tree that must exist before, and operations in the
//! order that paths, descriptors, files and threads demand), rebuilding that tree, issuing the
//! operations, and telling how faithful that was; block requests at their times or after the
//! completions that they waited for.
//!
//! Not for: recording, mounting, dropping caches, choosing a directory, judging results.
//! Nothing leaves the directory or the device that the caller opened: threads that issue calls have it as their root and keep no
//! capability but those on files of any owner.

mod action;
mod attributes;
mod cloned;
mod encode;
mod engine;
mod error;
mod fidelity;
#[cfg(test)]
mod fixture;
mod jail;
mod lanes;
mod links;
mod order;
mod perform;
mod plan;
mod planner;
mod rebuild;
mod requests;
mod slot;
mod window;

pub use action::Action;
pub use encode::Operation;
pub use engine::{Options, Speed, replay};
pub use error::ReplayError;
pub use fidelity::{Difference, Fidelity, Replayed};
pub use plan::{DeviceBytes, Limits, Plan, Reason, Recorded, TreeEntry, TreeKind};
pub use planner::{Choice, plan};
pub use rebuild::{Content, Rebuilt, check_room, rebuild};
pub use requests::{
    Failure, Place, RecordedRequests, RequestChoice, RequestPlan, RequestsReplayed, fill,
    plan_requests, replay_requests,
};
