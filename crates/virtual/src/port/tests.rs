use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::*;
use crate::content::{Content, Keeping};
use crate::disk::DiskParts;
use crate::instant::Instant;
use crate::link::listen;

/// The driver's side of a port.
struct Driver {
    port: Port,
    stream: UnixStream,
    memory: File,
    _directory: tempfile::TempDir,
}

const MEMORY: u64 = 1 << 20;
const GUEST: u64 = 0x6000_0000;

fn words(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

fn longs(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

impl Driver {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let keeping = Keeping { memory_bytes: 1 << 20, directory: std::env::temp_dir() };
        let content = Content::new(1000, keeping);
        let parts = DiskParts::new(Box::new(Instant::new(1000)), content);
        let listener = listen(directory.path(), "d0").unwrap();
        let mut port = Port::new(listener, Disk::new(0, "data", parts, false));
        let stream = UnixStream::connect(directory.path().join("d0")).unwrap();
        port.accept().unwrap();
        let memory = memfd_create(c"memory", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&memory, MEMORY).unwrap();
        Self { port, stream, memory: File::from(memory), _directory: directory }
    }

    fn send(&mut self, request: u32, flags: u32, payload: &[u8], files: &[&File]) {
        let mut bytes = words(&[request, flags, payload.len() as u32]);
        bytes.extend(payload);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        if !files.is_empty() {
            assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
        }
        sendmsg(&self.stream, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::empty()).unwrap();
    }

    /// Sends a request that wants an answer, and returns its payload.
    fn ask(&mut self, request: u32, payload: &[u8], files: &[&File]) -> Result<Vec<u8>, PortFault> {
        let needs_reply = if matches!(request, 1 | 15 | 24) { 0 } else { 8 };
        self.send(request, 1 | needs_reply, payload, files);
        self.port.handle()?;
        let mut header = [0; 12];
        self.stream.read_exact(&mut header).unwrap();
        assert_eq!(header[..8], words(&[request, 5])[..]);
        let mut payload = vec![0; header[8] as usize];
        self.stream.read_exact(&mut payload).unwrap();
        Ok(payload)
    }

    fn set_up(&mut self) -> UnixStream {
        let memory = self.memory.try_clone().unwrap();
        let (call, theirs) = UnixStream::pair().unwrap();
        let theirs = File::from(OwnedFd::from(theirs));
        assert_eq!(self.ask(21, &[], &[&theirs]).unwrap(), [0; 8]);
        let mut table = words(&[1, 0]);
        table.extend(longs(&[GUEST, MEMORY, GUEST, 0]));
        assert_eq!(self.ask(5, &table, &[&memory]).unwrap(), [0; 8]);
        assert_eq!(self.ask(8, &words(&[0, 4]), &[]).unwrap(), [0; 8]);
        assert_eq!(self.ask(10, &words(&[0, 0]), &[]).unwrap(), [0; 8]);
        let mut addresses = words(&[0, 0]);
        addresses.extend(longs(&[GUEST, GUEST + 0x2000, GUEST + 0x1000, u64::MAX]));
        assert_eq!(self.ask(9, &addresses, &[]).unwrap(), [0; 8]);
        assert_eq!(self.ask(18, &words(&[0, 1]), &[]).unwrap(), [0; 8]);
        call
    }
}

#[test]
fn a_driver_learns_what_it_needs() {
    let mut driver = Driver::new();
    driver.send(3, 1, &[], &[]);
    assert_eq!(driver.port.handle().unwrap(), Handled::Done);
    let features = driver.ask(1, &[], &[]).unwrap();
    let features = u64::from_le_bytes(*features.first_chunk().unwrap());
    assert_eq!(features & (1 << 32 | 1 << 30 | 1 << 28), 1 << 32 | 1 << 30 | 1 << 28);
    let protocol = driver.ask(15, &[], &[]).unwrap();
    assert_eq!(protocol, longs(&[vhost::PROTOCOL_FEATURES]));
    let config = driver.ask(24, &words(&[0, 8, 0, 0, 0]), &[]).unwrap();
    assert_eq!(config[12..], longs(&[1000]));
    assert_eq!(driver.ask(16, &longs(&[vhost::PROTOCOL_FEATURES]), &[]).unwrap(), [0; 8]);
    assert_eq!(driver.ask(99, &[], &[]).unwrap(), longs(&[1]), "what is not known is refused");
}

#[test]
fn a_request_goes_through_the_ring_and_back() {
    let mut driver = Driver::new();
    let mut call = driver.set_up();
    let header = [words(&[0, 0]), longs(&[3])].concat();
    driver.memory.write_all_at(&header, 0x4000).unwrap();
    for (index, (address, length, flags, next)) in
        [(0x4000_u64, 16_u32, 1_u16, 1_u16), (0x5000, 512, 3, 2), (0x4100, 1, 2, 0)]
            .iter()
            .enumerate()
    {
        let mut descriptor = longs(&[GUEST + address]);
        descriptor.extend(words(&[*length]));
        descriptor.extend(flags.to_le_bytes());
        descriptor.extend(next.to_le_bytes());
        driver.memory.write_all_at(&descriptor, index as u64 * 16).unwrap();
    }
    driver.memory.write_all_at(&[0xff], 0x4100).unwrap();
    driver.memory.write_all_at(&[1, 0], 0x1002).unwrap();
    driver.send(35, 9, &words(&[0, 0]), &[]);
    assert_eq!(driver.port.handle().unwrap(), Handled::Kick { answer: true });
    driver.port.take_requests(5).unwrap();
    driver.port.answer_kick().unwrap();
    assert_eq!(driver.port.disk().next_event_ns(5), Some(5));
    let mut events = Vec::new();
    assert!(driver.port.advance(5, &mut |event| events.push(event)).unwrap());
    assert_eq!((events.len(), events[0].lba.0), (1, 3));
    let mut status = [9];
    driver.memory.read_exact_at(&mut status, 0x4100).unwrap();
    assert_eq!(status, [0]);
    driver.port.call().unwrap();
    let mut message = [0; 20];
    call.read_exact(&mut message).unwrap();
    assert_eq!(message, vhost::call(0));
    call.write_all(&[0; 20]).unwrap();
    driver.port.take_answer().unwrap();
}

#[test]
fn what_was_not_set_up_cannot_be_used() {
    let mut driver = Driver::new();
    assert!(matches!(driver.port.take_requests(0), Err(PortFault::Order { what: "kick" })));
    let fault = driver.ask(18, &words(&[0, 1]), &[]).unwrap_err();
    assert!(matches!(fault, PortFault::Order { what: "ring" }), "{fault}");
    assert!(matches!(driver.port.call(), Err(PortFault::Order { what: "request" })));
    assert!(!driver.port.advance(0, &mut |_| {}).unwrap());
}

#[test]
fn nonsense_of_the_driver_is_a_fault() {
    let fault =
        |request: u32, payload: &[u8]| Driver::new().ask(request, payload, &[]).unwrap_err();
    assert!(matches!(fault(8, &words(&[1, 4])), PortFault::RingNumber { ring: 1 }));
    assert!(matches!(
        fault(8, &words(&[0, 70_000])),
        PortFault::Ring(RingFault::Size { size: 70_000 })
    ));
    assert!(matches!(fault(8, &[]), PortFault::Link(LinkFault::Message(_))));
    assert!(matches!(fault(21, &[]), PortFault::Order { what: "call socket" }));
    let mut table = words(&[1, 0]);
    table.extend(longs(&[GUEST, MEMORY, GUEST, 0]));
    assert!(matches!(fault(5, &table), PortFault::Order { what: "memory table" }));
    let mut driver = Driver::new();
    let memory = driver.memory.try_clone().unwrap();
    table[16 + 3] = 0xff;
    let fault = driver.ask(5, &table, &[&memory]).unwrap_err();
    assert!(matches!(fault, PortFault::Region(RegionFault::Extent { .. })), "{fault}");
}

#[test]
fn a_driver_that_left_is_not_waited_for() {
    let mut driver = Driver::new();
    assert!(driver.port.listener().is_none());
    driver.port.leave();
    assert!(driver.port.link().is_none() && driver.port.listener().is_none());
}
