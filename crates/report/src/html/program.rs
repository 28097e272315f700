//! The program of the page and the style sheets, as the build script found them.

/// The program and style sheet that `make web` built.
pub(super) struct Program {
    pub(super) text: &'static str,
    pub(super) hash: &'static str,
    /// The style sheet of the plain page and its own.
    pub(super) style: &'static str,
    pub(super) style_hash: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/program.rs"));
