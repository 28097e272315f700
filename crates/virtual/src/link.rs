//! The sockets between a guest and its controller: whole messages in, whole messages out.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::clock::{MESSAGE_BYTES, TimeMessage};
use crate::vhost::{self, Header, MessageFault};

#[cfg(test)]
mod tests;

/// A guest that began a message finishes it within this time, or is broken.
const MESSAGE_LIMIT: Duration = Duration::from_secs(10);

/// Most files that come with one message.
const MOST_FILES: usize = 8;

/// Errors of waiting for a message.
#[derive(Debug, thiserror::Error)]
pub enum LinkFault {
    #[error("the guest closed its connection")]
    Closed,
    #[error("a socket to the guest failed: {0}")]
    Socket(io::Error),
    #[error("the guest sent an unknown message to its clock")]
    UnknownOperation,
    #[error(transparent)]
    Message(#[from] MessageFault),
}

impl From<io::Error> for LinkFault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::BrokenPipe
            | io::ErrorKind::ConnectionReset => Self::Closed,
            _ => Self::Socket(error),
        }
    }
}

/// Listens under `name` in a directory, however long the directory's path is.
///
/// # Errors
///
/// The system's error.
pub fn listen(directory: &Path, name: &str) -> io::Result<UnixListener> {
    let directory = File::open(directory)?;
    UnixListener::bind(format!("/proc/self/fd/{}/{name}", directory.as_raw_fd()))
}

/// Takes the connection that waits at `listener`.
///
/// # Errors
///
/// The system's error.
pub fn accept(listener: &UnixListener) -> io::Result<UnixStream> {
    let (stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(MESSAGE_LIMIT))?;
    stream.set_write_timeout(Some(MESSAGE_LIMIT))?;
    Ok(stream)
}

/// The guest's connection to its clock.
#[derive(Debug)]
pub struct TimeLink(UnixStream);

impl TimeLink {
    /// Over this connection.
    #[must_use]
    pub fn new(stream: UnixStream) -> Self {
        Self(stream)
    }

    /// The next message; waits for it.
    ///
    /// # Errors
    ///
    /// [`LinkFault`].
    pub fn receive(&mut self) -> Result<TimeMessage, LinkFault> {
        let mut bytes = [0; MESSAGE_BYTES];
        self.0.read_exact(&mut bytes)?;
        TimeMessage::decode(&bytes).ok_or(LinkFault::UnknownOperation)
    }

    /// Sends a message.
    ///
    /// # Errors
    ///
    /// [`LinkFault`].
    pub fn send(&mut self, message: &TimeMessage) -> Result<(), LinkFault> {
        Ok(self.0.write_all(&message.encode())?)
    }

    /// Sends a message with files.
    ///
    /// # Errors
    ///
    /// [`LinkFault`].
    pub fn send_with_files(
        &mut self,
        message: &TimeMessage,
        files: &[BorrowedFd<'_>],
    ) -> Result<(), LinkFault> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(files));
        let bytes = message.encode();
        let slices = [IoSlice::new(&bytes)];
        let flags = SendFlags::NOSIGNAL;
        let sent = sendmsg(&self.0, &slices, &mut ancillary, flags).map_err(io::Error::from)?;
        if sent == bytes.len() { Ok(()) } else { Err(LinkFault::Closed) }
    }
}

impl AsFd for TimeLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A message of a disk's driver.
#[derive(Debug)]
pub struct DiskMessage {
    /// Its header, checked.
    pub header: Header,
    /// The request.
    pub request: vhost::Request,
    /// Files that came with it.
    pub files: Vec<OwnedFd>,
}

/// The connection of a disk's driver.
#[derive(Debug)]
pub struct DiskLink {
    stream: UnixStream,
    input: Vec<u8>,
    files: Vec<OwnedFd>,
}

impl DiskLink {
    /// Over this connection.
    #[must_use]
    pub fn new(stream: UnixStream) -> Self {
        Self { stream, input: Vec::new(), files: Vec::new() }
    }

    /// Returns true if [`receive`](Self::receive) would return without asking the kernel.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.header()
            .is_some_and(|header| self.input.len() >= vhost::HEADER_BYTES + header.size as usize)
    }

    /// The next message; waits for it.
    ///
    /// # Errors
    ///
    /// [`LinkFault`].
    pub fn receive(&mut self) -> Result<DiskMessage, LinkFault> {
        loop {
            if let Some(header) = self.header() {
                vhost::check(&header)?;
                let end = vhost::HEADER_BYTES + header.size as usize;
                if self.input.len() >= end {
                    let payload = &self.input[vhost::HEADER_BYTES..end];
                    let request = vhost::parse(&header, payload)?;
                    self.input.drain(..end);
                    let files = std::mem::take(&mut self.files);
                    return Ok(DiskMessage { header, request, files });
                }
            }
            self.fill()?;
        }
    }

    /// Sends bytes of a whole message.
    ///
    /// # Errors
    ///
    /// [`LinkFault`].
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), LinkFault> {
        Ok(self.stream.write_all(bytes)?)
    }

    fn header(&self) -> Option<Header> {
        self.input.first_chunk().map(Header::decode)
    }

    fn fill(&mut self) -> Result<(), LinkFault> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FILES))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut bytes = [0; 512];
        let mut slices = [IoSliceMut::new(&mut bytes)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = recvmsg(&self.stream, &mut slices, &mut ancillary, flags);
        let received = received.map_err(io::Error::from)?.bytes;
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.files.extend(files);
            }
        }
        if received == 0 {
            return Err(LinkFault::Closed);
        }
        self.input.extend_from_slice(&bytes[..received]);
        Ok(())
    }
}

impl AsFd for DiskLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
