//! Models of disks and flash: how long a request takes, and what survives when the power fails.
//!
//! A model is a pure function of the requests, the virtual time at which each is submitted, the device file
//! and a seed. Times are whole nanoseconds; the same calls give the same answers on every machine.
//!
//! What this room is not: it moves no data, opens no file or socket, reads no clock and knows neither
//! virtio nor the kernel. Whoever carries requests here keeps the content.

pub mod accuracy;
pub mod evidence;
pub mod file;
pub mod fixed;
pub mod flash;
pub mod measured;
pub mod model;
pub mod rotating;
pub mod ssd;

mod build;
mod bus;
mod clock;
mod draw;
mod extents;
mod front;
mod volatile;

pub use build::build;
pub use draw::draw;
pub use file::{DeviceError, DeviceFile, load};
pub use model::{
    Completion, Geometry, Lba, LostRange, LostWrites, Model, Operation, Refused, Request,
    SectorRange,
};
