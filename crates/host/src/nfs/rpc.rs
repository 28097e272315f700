//! The two services that NFS v3 needs besides its server: rpcbind, with which the kernel registers its
//! lock manager, and mountd, which gives a client the handle of the exported folder. They answer the
//! kernel of this process alone.

use crate::error::{Error, Result};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle};

#[cfg(test)]
mod tests;

/// Abstract name of the socket of rpcbind.
const REGISTRY: &str = "/run/rpcbind.sock";
/// Port of rpcbind.
const REGISTRY_PORT: u16 = 111;
/// Bytes of the longest call that is read.
const LONGEST_CALL: usize = 64 << 10;
/// Set in the length of a record's last fragment.
const LAST: u32 = 1 << 31;
/// Words of a call before its credentials: number, type, version of RPC, program, version, procedure.
const CALL_WORDS: usize = 6;
/// `PROC_UNAVAIL`.
const NO_SUCH_PROCEDURE: u32 = 3;
/// `AUTH_SYS`.
const AUTH_SYS: u32 = 1;

/// A service.
#[derive(Clone, Debug)]
enum Program {
    /// Confirms each registration.
    Registry,
    /// Gives this handle for every path.
    Mounts(Vec<u8>),
}

impl Program {
    /// Results of a procedure; `None` if the service has no such procedure.
    fn results(&self, procedure: u32) -> Option<Vec<u8>> {
        match (self, procedure) {
            (_, 0) => Some(Vec::new()),
            // SET and UNSET: true.
            (Self::Registry, 1 | 2) => Some(words(&[1])),
            // MNT: status, handle, flavours of authentication.
            (Self::Mounts(handle), 1) => {
                let mut results = words(&[0, handle.len() as u32]);
                results.extend(handle);
                results.resize(results.len().next_multiple_of(4), 0);
                results.extend(words(&[1, AUTH_SYS]));
                Some(results)
            }
            _ => None,
        }
    }
}

/// A running service. It ends when it is dropped.
#[derive(Debug)]
pub struct Service {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    wake: fn(),
}

impl Service {
    /// Starts rpcbind's part.
    ///
    /// # Errors
    /// When its socket is in use.
    pub fn registry() -> Result<Self> {
        let failed = |source| call("listen where rpcbind does", source);
        let address = SocketAddr::from_abstract_name(REGISTRY).map_err(failed)?;
        let listener = UnixListener::bind_addr(&address).map_err(failed)?;
        let accept = move || listener.accept().map(|(stream, _)| stream);
        Self::start("rpcbind", Program::Registry, accept, || {
            let address = SocketAddr::from_abstract_name(REGISTRY);
            drop(address.and_then(|address| UnixStream::connect_addr(&address)));
        })
    }

    /// Starts rpcbind's part at its port on the loopback device, where kernels before 6.3 look for it.
    ///
    /// # Errors
    /// When its port is in use.
    pub fn registry_at_its_port() -> Result<Self> {
        Self::at_port::<REGISTRY_PORT>("rpcbind", Program::Registry, "listen at rpcbind's port")
    }

    /// Starts mountd's part on the loopback device.
    ///
    /// # Errors
    /// When its port is in use.
    pub fn mounts(handle: Vec<u8>) -> Result<Self> {
        let program = Program::Mounts(handle);
        Self::at_port::<{ super::MOUNT_PORT }>("mountd", program, "listen where mountd does")
    }

    fn at_port<const PORT: u16>(name: &str, program: Program, action: &str) -> Result<Self> {
        let listener =
            TcpListener::bind((super::ADDRESS, PORT)).map_err(|source| call(action, source))?;
        let accept = move || listener.accept().map(|(stream, _)| stream);
        Self::start(name, program, accept, || drop(TcpStream::connect((super::ADDRESS, PORT))))
    }

    fn start<S: Read + Write + Send + 'static>(
        name: &str,
        program: Program,
        accept: impl Fn() -> io::Result<S> + Send + 'static,
        wake: fn(),
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        let listen = move || {
            while let Ok(stream) = accept() {
                if seen.load(Ordering::Relaxed) {
                    return;
                }
                let program = program.clone();
                // The kernel keeps a connection for as long as it likes; each ends with it.
                let started = Builder::new().spawn(move || drop(answer_all(stream, &program)));
                drop(started);
            }
        };
        let thread = Builder::new()
            .name(name.to_owned())
            .spawn(listen)
            .map_err(|source| call("start a thread", source))?;
        Ok(Self { stop, thread: Some(thread), wake })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        (self.wake)();
        if let Some(thread) = self.thread.take() {
            // A service that panicked is gone too.
            let _ = thread.join();
        }
    }
}

fn call(action: &str, source: io::Error) -> Error {
    Error::call(action, "nothing else may serve NFS in this kernel")(source)
}

/// Answers calls until the connection ends.
fn answer_all(mut stream: impl Read + Write, program: &Program) -> io::Result<()> {
    loop {
        let mut head = [0; 4];
        stream.read_exact(&mut head)?;
        let length = (u32::from_be_bytes(head) & !LAST) as usize;
        if length > LONGEST_CALL {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut call = vec![0; length];
        stream.read_exact(&mut call)?;
        let Some(reply) = reply(&call, program) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut record = words(&[reply.len() as u32 | LAST]);
        record.extend(reply);
        stream.write_all(&record)?;
    }
}

/// The reply to a call; `None` if it is shorter than a call.
fn reply(call: &[u8], program: &Program) -> Option<Vec<u8>> {
    let head: Vec<u32> = call
        .chunks_exact(4)
        .take(CALL_WORDS)
        .map(|word| word.iter().fold(0, |sum, byte| (sum << 8) | u32::from(*byte)))
        .collect();
    let &[number, .., procedure] = head.as_slice() else { return None };
    if head.len() < CALL_WORDS {
        return None;
    }
    let results = program.results(procedure);
    let state = if results.is_some() { 0 } else { NO_SUCH_PROCEDURE };
    // A reply, accepted, without a verifier.
    let mut reply = words(&[number, 1, 0, 0, 0, state]);
    reply.extend(results.unwrap_or_default());
    Some(reply)
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}
