//! Labs as text: a TOML file goes in, the lab of the model comes out, its axes expanded into
//! stacks on request.
//!
//! Every table is defined once, in [`tables`]; the reader, its messages and the reference in
//! `docs/` are made from these definitions. A mistake is one [`Diagnostic`] with file, line,
//! column, the offending value and what to write instead.
//!
//! This room reads no files and knows no machine: the text is given to it, and so is what the
//! backend can do. It orders nothing and costs nothing; that is the plan's business. It never
//! guesses what a lab could have meant.

mod build;
mod definition;
mod diagnostic;
pub mod draft;
mod expand;
mod lab_file;
pub mod reference;
mod source;
pub mod tables;
mod walk;

pub use definition::{Entry, FieldsByKind, Form, TableDefinition};
pub use diagnostic::Diagnostic;
pub use expand::{Expansion, MAX_CANDIDATES, MAX_TRIALS, expand};
pub use lab_file::{LabFile, MAX_LAB_BYTES, read_lab, read_lab_bytes};
pub use walk::{nearest, owner_of_key};
