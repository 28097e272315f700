//! Block requests of a trace once more, on a raw device.

#[cfg(test)]
mod fixture;
mod issue;
mod place;
mod plan;
mod ring;

pub use issue::{Failure, RequestsReplayed};
pub use place::Place;
pub use plan::{RecordedRequests, RequestChoice, RequestPlan, plan_requests};
pub use ring::{fill, replay_requests};
