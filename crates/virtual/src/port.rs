//! One disk's connection to the guest: what the driver has set up so far, and its ring.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;

use crate::disk::{Disk, DiskFault};
use crate::fingerprint::Event;
use crate::link::{DiskLink, DiskMessage, LinkFault};
use crate::mapped::{MappedMemory, RegionFault, RegionPlan};
use crate::ring::{Ring, RingFault, RingLayout};
use crate::vhost::{self, Request, RingAddresses};

#[cfg(test)]
mod tests;

/// Errors after which a disk's connection cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum PortFault {
    #[error(transparent)]
    Link(#[from] LinkFault),
    #[error(transparent)]
    Disk(#[from] DiskFault),
    #[error(transparent)]
    Region(#[from] RegionFault),
    #[error(transparent)]
    Ring(#[from] RingFault),
    #[error("the driver sent a {0} before it had set up the device")]
    Order(&'static str),
    #[error("cannot accept the guest's connection: {0}")]
    Accept(io::Error),
}

/// Result of handling a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// Answered, if it wanted an answer.
    Done,
    /// A kick, not answered yet: the clock must be right before it is.
    Kick {
        /// The driver expects an answer.
        answer: bool,
    },
}

/// One disk's connection.
#[derive(Debug)]
pub struct Port {
    listener: UnixListener,
    /// The driver's connection, once it is there.
    pub link: Option<DiskLink>,
    left: bool,
    /// True if the driver rings a bell instead of sending kicks, and is called the same way.
    pub rings: bool,
    /// The socket on which the driver is called, once it is there.
    pub call: Option<File>,
    memory: MappedMemory,
    size: u16,
    base: u16,
    addresses: Option<RingAddresses>,
    ring: Option<Ring>,
    /// The disk.
    pub disk: Disk,
}

impl Port {
    /// A disk whose driver will connect to `listener`.
    #[must_use]
    pub fn new(listener: UnixListener, disk: Disk) -> Self {
        Self {
            listener,
            link: None,
            left: false,
            rings: false,
            call: None,
            memory: MappedMemory::default(),
            size: 0,
            base: 0,
            addresses: None,
            ring: None,
            disk,
        }
    }

    /// Returns the socket on which the driver connects; `None` once it has.
    #[must_use]
    pub fn listener(&self) -> Option<&UnixListener> {
        (self.link.is_none() && !self.left).then_some(&self.listener)
    }

    /// The driver has closed its connection, as it does when the guest switches off.
    pub fn leave(&mut self) {
        self.left = true;
        self.link = None;
        self.ring = None;
    }

    /// Takes the driver's connection.
    ///
    /// # Errors
    ///
    /// [`PortFault::Accept`].
    pub fn accept(&mut self) -> Result<(), PortFault> {
        let stream = crate::link::accept(&self.listener).map_err(PortFault::Accept)?;
        self.link = Some(DiskLink::new(stream));
        Ok(())
    }

    /// Handles one message of the driver.
    ///
    /// # Errors
    ///
    /// [`PortFault`].
    pub fn handle(&mut self) -> Result<Handled, PortFault> {
        let link = self.link.as_mut().ok_or(PortFault::Order("message"))?;
        let DiskMessage { header, request, files } = link.receive()?;
        let reply = match request {
            Request::GetFeatures => Some(vhost::reply_number(
                header.request,
                self.disk.features() | vhost::FEATURE_PROTOCOL,
            )),
            Request::GetProtocolFeatures => {
                Some(vhost::reply_number(header.request, vhost::PROTOCOL_FEATURES))
            }
            Request::GetConfig(size) => {
                Some(vhost::reply_config(header.request, size, &self.disk.config()))
            }
            Request::Kick => return Ok(Handled::Kick { answer: header.needs_reply() }),
            request => {
                let refused = u64::from(!self.set_up(request, files)?);
                header.needs_reply().then(|| vhost::reply_number(header.request, refused))
            }
        };
        if let Some(reply) = reply {
            self.link.as_mut().ok_or(LinkFault::Closed)?.send(&reply)?;
        }
        Ok(Handled::Done)
    }

    /// Takes what the driver made available.
    ///
    /// # Errors
    ///
    /// [`PortFault`].
    pub fn take_requests(&mut self, now_ns: u64) -> Result<(), PortFault> {
        let ring = self.ring.as_mut().ok_or(PortFault::Order("kick"))?;
        Ok(self.disk.kicked(now_ns, ring, &mut self.memory)?)
    }

    /// Answers a kick.
    ///
    /// # Errors
    ///
    /// [`PortFault`].
    pub fn answer_kick(&mut self) -> Result<(), PortFault> {
        let reply = vhost::reply_number(vhost::KICK, 0);
        Ok(self.link.as_mut().ok_or(LinkFault::Closed)?.send(&reply)?)
    }

    /// Lets time pass. Returns whether the driver must be called.
    ///
    /// # Errors
    ///
    /// [`PortFault`].
    pub fn advance(
        &mut self,
        now_ns: u64,
        record: &mut impl FnMut(Event),
    ) -> Result<bool, PortFault> {
        let Some(ring) = self.ring.as_mut() else { return Ok(false) };
        let answered = self.disk.advance(now_ns, ring, &mut self.memory, record)?;
        Ok(answered && ring.wants_call(&self.memory)?)
    }

    /// Calls the driver; its answer is still to come.
    ///
    /// # Errors
    ///
    /// [`PortFault`].
    pub fn call(&mut self) -> Result<(), PortFault> {
        let socket = self.call.as_mut().ok_or(PortFault::Order("request"))?;
        Ok(socket.write_all(&vhost::call(0)).map_err(LinkFault::from)?)
    }

    /// Takes the driver's answer to a call.
    ///
    /// # Errors
    ///
    /// [`PortFault`].
    pub fn take_answer(&mut self) -> Result<(), PortFault> {
        let socket = self.call.as_mut().ok_or(PortFault::Order("answer"))?;
        let mut answer = [0; vhost::HEADER_BYTES + 8];
        Ok(socket.read_exact(&mut answer).map_err(LinkFault::from)?)
    }

    /// Handles a message that sets something up; `false` when it is not known.
    fn set_up(&mut self, request: Request, files: Vec<OwnedFd>) -> Result<bool, PortFault> {
        match request {
            Request::SetOwner | Request::SetFeatures(_) | Request::SetProtocolFeatures(_) => {}
            Request::SetMemoryTable(regions) => self.map(&regions, &files)?,
            Request::SetRingSize(size) => {
                self.size = u16::try_from(size).map_err(|_| RingFault::Size(size))?;
            }
            Request::SetRingBase(base) => self.base = base as u16,
            Request::SetRingAddresses(addresses) => self.addresses = Some(addresses),
            Request::EnableRing(enable) => {
                self.ring = if enable { Some(self.make_ring()?) } else { None };
            }
            Request::SetCallSocket => {
                let socket = files.into_iter().next();
                let socket = socket.ok_or(PortFault::Order("call socket"))?;
                self.call = Some(File::from(socket));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn map(&mut self, regions: &[RegionPlan], files: &[OwnedFd]) -> Result<(), PortFault> {
        if regions.len() != files.len() {
            return Err(PortFault::Order("memory table"));
        }
        let mut memory = MappedMemory::default();
        for (plan, file) in regions.iter().zip(files) {
            memory.add(*plan, file)?;
        }
        self.memory = memory;
        Ok(())
    }

    fn make_ring(&self) -> Result<Ring, PortFault> {
        let addresses = self.addresses.ok_or(PortFault::Order("ring"))?;
        let RingAddresses { descriptors, used, available } = addresses;
        let layout = RingLayout { size: self.size, descriptors, available, used };
        Ok(Ring::new(layout, self.base)?)
    }
}
