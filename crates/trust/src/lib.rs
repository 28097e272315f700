//! Files, folders and programs that another user may have made, or may exchange.
//!
//! For: opening input that may be hostile ([`open`], [`read`]), holding a folder by its descriptor ([`Folder`],
//! [`Entry`]), naming a parent folder in which others can rename ([`exchangeable`]), and finding programs in folders that only
//! root or this user can change ([`program`]).
//!
//! Not for: parsing, and not for block devices, which the guard of the room `host` judges.

mod folder;
mod input;
mod program;

pub use folder::{Entry, Folder, exchangeable, shown};
pub use input::{check, open, open_or_pipe, read, read_text};
pub use program::program;
