//! Models of disks and flash: how long a request takes, and what survives when the power fails.
//!
//! A model is a pure function of the requests, the virtual time at which each is submitted, the device file
//! and a seed. Times are whole nanoseconds; the same calls give the same answers on every machine.
//!
//! What this room is not: it moves no data, opens no file or socket, reads no clock and knows neither
//! virtio nor the kernel. Whoever carries requests here keeps the content.
//!
//! ```
//! use seekwell_device::{Lba, Operation, Request, build, load};
//!
//! let file = load(
//!     r#"
//!     name = "quick"
//!     title = "100 us for every request"
//!     kind = "fixed"
//!     [presented]
//!     sectors = 2048
//!     queue_depth = 4
//!     max_request_kib = 128
//!     [fixed]
//!     read_latency_us = 100
//!     write_latency_us = 100
//!     mb_per_s = 512
//!     parallel = 4
//!     [sources]
//!     presented = "chosen"
//!     fixed = "chosen"
//!     "#,
//! )?;
//! let mut model = build(&file, 1);
//! let request = Request { id: 1, operation: Operation::Read, lba: Lba(0), sectors: 8, fua: false };
//! model.submit(5_000, request)?;
//! assert_eq!(model.next_event_ns(), Some(113_000));
//! let mut completions = Vec::new();
//! model.advance(113_000, &mut completions);
//! assert_eq!(completions[0].id, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod accuracy;
pub mod bus;
pub mod catalogue;
mod change;
pub mod check;
pub mod evidence;
pub mod file;
pub mod fixed;
pub mod flash;
pub mod model;
pub mod presented;
pub mod probed;
pub mod published;
pub mod rotating;
pub mod shrunk;
pub mod ssd;
pub mod trial;
pub mod truth;
pub mod withheld;

mod amount;
mod build;
mod clock;
mod error;
mod extents;
mod fingerprint;
mod front;
mod volatile;

pub use build::build;
pub use catalogue::catalogue;
pub use change::Change;
pub use error::DeviceError;
pub use file::{DeviceFile, load, with_origin};
pub use fingerprint::fingerprint;
pub use model::{
    Completion, Geometry, Lba, LostRange, LostWrites, Model, Operation, Piece, Refused, Request,
    SectorRange,
};
