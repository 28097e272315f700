//! The run file inside a page: packed with gzip, as base64, in an element that no browser runs.

use super::page::Page;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use std::io::Read;

/// What of a run file goes into its page.
#[derive(Clone, Copy, Debug, Default)]
pub enum Inside<'a> {
    /// Nothing: the page has the summary alone.
    #[default]
    Nothing,
    /// All its bytes: [`extract`] gives them back.
    Whole(&'a [u8]),
    /// A copy without timelines and block events, for a smaller page.
    WithoutTimelines(&'a [u8]),
}

impl<'a> Inside<'a> {
    /// The stable word in the page's summary.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Whole(_) => "whole",
            Self::WithoutTimelines(_) => "without-timelines",
        }
    }

    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Nothing => None,
            Self::Whole(bytes) | Self::WithoutTimelines(bytes) => Some(bytes),
        }
    }
}

/// Why a page gives no run file back.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// No element of ours is in it.
    #[error("it is no report with a run file inside; only the HTML of `seekwell report --html` is")]
    NotAReport,
    /// The page was written without.
    #[error(
        "the page was written with --lean, so that timelines are missing from what is inside; \
         ask for the run file, or for a page without --lean"
    )]
    Lean,
    /// The element was changed or cut off.
    #[error("the run file inside the page is damaged ({0}); get the page anew")]
    Damaged(String),
}

const WHOLE: &str = "<script type=\"application/x-seekwell-run\" id=\"run\">";
const LEAN: &str = "<script type=\"application/x-seekwell-lean\" id=\"run\">";
const END: &str = "</script>";

/// Writes the element.
pub(super) fn write(page: &mut Page, inside: Inside) {
    let Some(bytes) = inside.bytes() else { return };
    page.raw(if matches!(inside, Inside::Whole(_)) { WHOLE } else { LEAN });
    let mut packed = Vec::new();
    // What is inside a run file is packed already: more effort costs time and saves little.
    let read = GzEncoder::new(bytes, Compression::new(4)).read_to_end(&mut packed);
    // Memory does not fail to be read.
    debug_assert!(read.is_ok());
    page.letters(&STANDARD.encode(&packed));
    page.raw(END);
    page.raw("\n");
}

/// The run file inside a page, byte by byte as it was.
///
/// # Errors
/// When there is none, or it is not whole.
pub fn extract(page: &str) -> Result<Vec<u8>, ExtractError> {
    let Some(begin) = page.find(WHOLE) else {
        return Err(if page.contains(LEAN) {
            ExtractError::Lean
        } else {
            ExtractError::NotAReport
        });
    };
    let rest = &page[begin + WHOLE.len()..];
    let damaged = |what: String| ExtractError::Damaged(what);
    let end = rest.find(END).ok_or_else(|| damaged("it ends early".to_owned()))?;
    let packed = STANDARD.decode(rest[..end].trim()).map_err(|error| damaged(error.to_string()))?;
    let mut bytes = Vec::new();
    // The format ends with a checksum and the length, which are compared here.
    GzDecoder::new(packed.as_slice())
        .read_to_end(&mut bytes)
        .map_err(|error| damaged(error.to_string()))?;
    Ok(bytes)
}
