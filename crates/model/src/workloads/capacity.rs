//! `capacity`: whether a device has the bytes that it claims.

use super::{CacheState, FieldConflict, OperationCost, StepOutline, WorkloadKind, WorkloadParams};
use crate::field::{Values, field};
use serde::{Deserialize, Serialize};

/// Parameters of `capacity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacityParams {
    /// Write and read every block, instead of a few that are restored.
    pub full: bool,
}

/// Test that a device keeps the data of all of its blocks.
pub const CAPACITY: WorkloadKind = WorkloadKind {
    name: "capacity",
    doc: "Tests that a device has its stated capacity: a fake wraps around, or drops data beyond its true end. Quick: stamps at power-of-two distances and at the end are read back, then the old content is restored; it finds devices that drop writes or whose true size is a power of two or a sum of two. `full` destroys the content and finds every kind.",
    fields: &[field!("full": Bool, default "false",
        "Write every block and read all of it back. Destroys the content.")],
    on_raw: true,
    programs: &[],
    build,
};

#[allow(clippy::unnecessary_wraps, reason = "the type that all kinds have")]
fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    Ok(WorkloadParams::Capacity(CapacityParams { full: values.bool("full") }))
}

impl CapacityParams {
    /// The step.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let metrics = ["ops", "app_bytes", "checked_bytes", "wrong_bytes"];
        vec![StepOutline {
            cache: CacheState::Direct,
            operation: OperationCost::Access,
            ..StepOutline::new("capacity", &metrics)
        }]
    }
}
