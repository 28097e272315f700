//! A modelled device as a block device of this machine: `/dev/loopN` that answers in real time.
//!
//! ```text
//! program → /dev/loopN → one file of a FUSE file system → the server's process: model and content
//! ```
//!
//! [`Served`] is the side of the command: it starts the server, attaches the loop device with direct I/O,
//! and takes everything down. [`serve`] is the server, a process of its own: each request reaches the model
//! when it arrives and is answered when the model's clock, which is the real one, says so.
//!
//! Nothing of it has a name: the file system is not mounted anywhere, the loop device detaches itself with
//! its last user, and the server ends when the loop device lets the file go. When the command is killed, the
//! server puts the queue's settings back ([`is_left_alone`]); when the server is killed, the command does.
//!
//! Not for: how long a device takes (crate `device`), what it holds (crate `virtual`), guests in virtual time.

mod disk;
mod floor;
mod mount;
mod protocol;
mod served;
mod server;

pub use disk::Disk;
pub use floor::{Floor, floor};
pub use mount::FILE_NAME;
pub use served::{Served, ServedError, Setup};
pub use server::{Report, ServerError, is_left_alone, serve};
