//! The program of the page and the style sheets, as the build script found them.

/// The program and style sheet that `make web` built.
pub(crate) struct Program {
    pub(crate) text: &'static str,
    pub(crate) hash: &'static str,
    /// The style sheet of the plain page and its own.
    pub(crate) style: &'static str,
    pub(crate) style_hash: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/program.rs"));
