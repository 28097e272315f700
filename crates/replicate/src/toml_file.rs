//! Reading a file with what is wrong in it by line.

use serde::de::DeserializeOwned;

/// An error in a file, with its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {problem}")]
pub struct FileError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The error and its fix.
    pub problem: String,
}

/// A file under its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    /// Parses the file.
    pub(crate) fn read<T: DeserializeOwned>(self) -> Result<T, FileError> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.wrong(at, error.message().to_owned())
        })
    }

    /// Something wrong where this part of the text is first.
    pub(crate) fn wrong_about(self, part: &str, problem: String) -> FileError {
        self.wrong(self.text.find(part).unwrap_or(0), problem)
    }

    /// Something wrong at a place of the text.
    pub(crate) fn wrong(self, at: usize, problem: String) -> FileError {
        let before = self.text.as_bytes().iter().take(at);
        let line = 1 + before.filter(|byte| **byte == b'\n').count();
        FileError { file: self.name.to_owned(), line, problem }
    }
}
