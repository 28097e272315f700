//! What happens beside a trial: block device counters, timelines, block events, SMART data, and
//! the comparison of application bytes with device bytes.
//!
//! Everything is read from the running kernel (or from a directory that looks like its root, for
//! tests) and handed back as data. This room changes nothing on a device, and it does not decide
//! whether a trial counts: it reports doubts as warnings, and others judge.

mod block_events;
mod clock;
mod counters;
mod error;
mod machine;
mod marks;
mod smart;
mod timeline;

pub use block_events::{
    BlockEventOptions, BlockEventStream, DeviceNumber, INSTANCE_PREFIX, instance_name,
    remove_instance,
};
pub use clock::monotonic_ns;
pub use counters::{DeviceCounters, sample_between, totals_between};
pub use error::ObserveError;
pub use machine::{MemoryState, PressureTotals};
pub use marks::{StepBytes, read_per_byte, step_warnings, written_per_byte};
pub use smart::{SMART_TIMEOUT, read_smart};
pub use timeline::{Timeline, TimelineOptions, Timelines};
