//! Words over TCP, one JSON text a line.

use crate::error::ClusterError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// Longest line. A histogram has some kilobytes.
const LONGEST: u64 = 16 << 20;

/// One end of a line.
pub(super) struct Line {
    reader: BufReader<TcpStream>,
    writer: TcpStream,
}

impl Line {
    pub(super) fn new(stream: TcpStream) -> Result<Self, ClusterError> {
        let wrong = |error: std::io::Error| ClusterError::Step(format!("a line broke: {error}"));
        // Words are short and waited for.
        stream.set_nodelay(true).map_err(wrong)?;
        let reader = BufReader::new(stream.try_clone().map_err(wrong)?);
        Ok(Self { reader, writer: stream })
    }

    pub(super) fn say(&mut self, words: &impl Serialize) -> Result<(), ClusterError> {
        let mut text = serde_json::to_vec(words)
            .map_err(|error| ClusterError::Step(format!("cannot be said: {error}")))?;
        text.push(b'\n');
        let sent = self.writer.write_all(&text);
        sent.map_err(|error| ClusterError::Step(format!("another client is gone: {error}")))
    }

    pub(super) fn hear<T: DeserializeOwned>(&mut self) -> Result<T, ClusterError> {
        let mut text = Vec::new();
        let read = (&mut self.reader).take(LONGEST).read_until(b'\n', &mut text);
        match read {
            Ok(_) if text.last() == Some(&b'\n') => serde_json::from_slice(&text)
                .map_err(|error| ClusterError::Step(format!("not understood: {error}"))),
            Ok(_) => Err(ClusterError::Step("another client is gone".to_owned())),
            Err(error) => Err(ClusterError::Step(format!("another client is gone: {error}"))),
        }
    }

    /// Limits the wait for words; `None` waits as long as it takes.
    pub(super) fn wait_for(&self, time: Option<Duration>) -> Result<(), ClusterError> {
        let set = self.writer.set_read_timeout(time);
        set.map_err(|error| ClusterError::Step(format!("a line broke: {error}")))
    }

    /// The error of words that do not belong here.
    pub(super) fn unexpected(&self) -> ClusterError {
        ClusterError::Step("a client of another version answered".to_owned())
    }
}
