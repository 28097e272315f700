//! The reference of the lab format, made from the definitions that the reader itself uses.

/// The reference as Markdown.
#[must_use]
pub fn lab_reference_markdown() -> String {
    String::new()
}
