//! The run file inside a page: gzip in letters that mean nothing in markup, in an element that no browser runs.

use super::letters::{self, LetterWriter};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::{GzDecoder, GzEncoder};
use std::io::{self, Read, Write};

/// The part of a run file that goes into its page, with its number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inside {
    /// Nothing: the page has the summary alone.
    #[default]
    Nothing,
    /// All its bytes: [`extract`] gives them back.
    Whole(u64),
    /// A copy without timelines and block events, for a smaller page.
    WithoutTimelines(u64),
}

impl Inside {
    /// The stable word in the page's summary.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Whole(_) => "whole",
            Self::WithoutTimelines(_) => "without-timelines",
        }
    }

    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Whole(bytes) | Self::WithoutTimelines(bytes) => bytes,
        }
    }
}

/// Errors of a page from which no run file can be extracted.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// It has no element with a run file.
    #[error("not a report that contains its run file; give a page of `seekwell report --html`")]
    NotAReport,
    /// The page was written without.
    #[error(
        "the page was written with --lean and lacks the timelines; ask for the run file or for a \
         page without --lean"
    )]
    Lean,
    /// The element was changed or cut off.
    #[error("the run file inside the page is damaged ({0}); get another copy of the page")]
    Damaged(String),
}

const WHOLE: &str = "<script type=\"application/x-seekwell-run-letters\" id=\"run\">";
/// The form that an earlier version wrote: base64 of gzip.
const BASE64: &str = "<script type=\"application/x-seekwell-run\" id=\"run\">";
const LEAN: &str = "<script type=\"application/x-seekwell-lean\" id=\"run\">";
const END: &str = "</script>";

/// Bytes of a run file from which time counts more than size: its records are deflated already, so that another 8 % took
/// as long as all the rest of the report.
const LARGE: u64 = 64 << 20;

fn level(bytes: u64) -> Compression {
    if bytes < LARGE { Compression::default() } else { Compression::fast() }
}

/// Writes the element with the run file, whose bytes and letters are never in memory at once: it may have a gigabyte.
pub(super) fn write(inside: Inside, run: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
    let begin = match inside {
        Inside::Nothing => return Ok(()),
        Inside::Whole(_) => WHOLE,
        Inside::WithoutTimelines(_) => LEAN,
    };
    out.write_all(begin.as_bytes())?;
    let mut letters = LetterWriter::new(&mut *out);
    let run = run.take(inside.bytes());
    io::copy(&mut GzEncoder::new(run, level(inside.bytes())), &mut letters)?;
    letters.finish()?;
    out.write_all(END.as_bytes())?;
    out.write_all(b"\n")
}

/// The run file inside a page, byte by byte as it was.
///
/// # Errors
/// When there is none, or it is not whole.
pub fn extract(page: &str) -> Result<Vec<u8>, ExtractError> {
    let damaged = ExtractError::Damaged;
    if let Some(text) = content(page, WHOLE) {
        let foreign = || damaged("it contains unknown characters".to_owned());
        let zipped = letters::decode(text?).ok_or_else(foreign)?;
        // The format ends with a checksum and the length, which are compared here.
        return unzip(&zipped).map_err(damaged);
    }
    if let Some(text) = content(page, BASE64) {
        let zipped = STANDARD.decode(text?).map_err(|error| damaged(error.to_string()))?;
        return unzip(&zipped).map_err(damaged);
    }
    Err(if page.contains(LEAN) { ExtractError::Lean } else { ExtractError::NotAReport })
}

/// A damaged page must not take all memory.
const LARGEST: u64 = 4 << 30;

/// Decompresses gzip; the error says what is damaged.
fn unzip(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let read = GzDecoder::new(bytes).take(LARGEST).read_to_end(&mut out);
    read.map_err(|error| error.to_string())?;
    Ok(out)
}

/// The text of an element that begins so, when the page has it.
fn content<'a>(page: &'a str, begin: &str) -> Option<Result<&'a str, ExtractError>> {
    let rest = &page[page.find(begin)? + begin.len()..];
    let text = rest.find(END).map(|end| rest[..end].trim());
    Some(text.ok_or_else(|| ExtractError::Damaged("it ends early".to_owned())))
}
