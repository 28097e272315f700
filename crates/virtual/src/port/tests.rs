use std::fs::File;
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

use proptest::prelude::*;
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
    now_ns: u64,
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
        Self { port, stream, memory: File::from(memory), now_ns: 0, _directory: directory }
    }

    fn send(&mut self, request: u32, flags: u32, payload: &[u8], files: &[&File]) {
        let mut bytes = words(&[request, flags, payload.len() as u32]);
        bytes.extend(payload);
        self.send_bytes(&bytes, files);
    }

    fn send_bytes(&mut self, bytes: &[u8], files: &[&File]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let files: Vec<_> = files.iter().map(|file| file.as_fd()).collect();
        if !files.is_empty() {
            assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
        }
        sendmsg(&self.stream, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::empty()).unwrap();
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
    assert_eq!(driver.port.disk.next_event_ns(5), Some(5));
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
    assert!(matches!(driver.port.take_requests(0), Err(PortFault::Order("kick"))));
    let fault = driver.ask(18, &words(&[0, 1]), &[]).unwrap_err();
    assert!(matches!(fault, PortFault::Order("ring")), "{fault}");
    assert!(matches!(driver.port.call(), Err(PortFault::Order("request"))));
    assert!(!driver.port.advance(0, &mut |_| {}).unwrap());
}

#[test]
fn nonsense_of_the_driver_is_a_fault() {
    let fault =
        |request: u32, payload: &[u8]| Driver::new().ask(request, payload, &[]).unwrap_err();
    assert!(fault(8, &words(&[1, 4])).to_string().starts_with("the driver set up ring 1"));
    assert!(matches!(fault(8, &words(&[0, 70_000])), PortFault::Ring(RingFault::Size(70_000))));
    assert!(matches!(fault(8, &[]), PortFault::Link(LinkFault::Message(_))));
    assert!(matches!(fault(21, &[]), PortFault::Order("call socket")));
    let mut table = words(&[1, 0]);
    table.extend(longs(&[GUEST, MEMORY, GUEST, 0]));
    assert!(matches!(fault(5, &table), PortFault::Order("memory table")));
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
    assert!(driver.port.link.is_none() && driver.port.listener().is_none());
}

/// What a guest gone mad does next.
#[derive(Clone, Debug)]
enum Act {
    /// Any message, its payload as long as it says or not.
    Message { request: u32, flags: u32, size: Option<u32>, payload: Vec<u8>, file: bool },
    /// Anything in the ring, then a kick.
    Kick { descriptors: Vec<(u64, u32, u16, u16)>, header: (u32, u64), available: (u16, [u16; 4]) },
    /// Time passes.
    Advance(u64),
}

fn wild_address() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => (0..8_u64).prop_map(|page| GUEST + page * 0x1000),
        1 => Just(GUEST + MEMORY - 8),
        1 => Just(u64::MAX - 3),
        1 => any::<u64>(),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let request = prop_oneof![0..40_u32, Just(5), Just(8), Just(9), Just(18), any::<u32>()];
    let number = prop_oneof![Just(0_u32), Just(1), Just(4), Just(70_000), any::<u32>()];
    let payload = prop_oneof![
        proptest::collection::vec(number, 0..12).prop_map(|numbers| words(&numbers)),
        (proptest::collection::vec(wild_address(), 0..5)).prop_map(|addresses| [
            words(&[1, 0]),
            longs(&addresses)
        ]
        .concat()),
        proptest::collection::vec(any::<u8>(), 0..64),
    ];
    let size = proptest::option::weighted(0.1, prop_oneof![0..80_u32, Just(4097), any::<u32>()]);
    let flags = prop_oneof![6 => Just(9_u32), 3 => Just(1), 1 => any::<u32>()];
    let message = (request, flags, size, payload, any::<bool>()).prop_map(
        |(request, flags, size, payload, file)| Act::Message {
            request,
            flags,
            size,
            payload,
            file,
        },
    );
    let length = prop_oneof![Just(16_u32), Just(512), Just(4096), Just(1), Just(0), any::<u32>()];
    let next = prop_oneof![3 => 0..4_u16, 1 => any::<u16>()];
    let descriptor = (wild_address(), length, 0..8_u16, next);
    let kind =
        prop_oneof![Just(0_u32), Just(1), Just(4), Just(8), Just(11), Just(13), any::<u32>()];
    let sector = prop_oneof![0..1100_u64, Just(u64::MAX), Just(1 << 55), any::<u64>()];
    let index = prop_oneof![4 => 0..6_u16, 1 => any::<u16>()];
    let kick = (
        proptest::collection::vec(descriptor, 8),
        (kind, sector),
        (index.clone(), [index.clone(), index.clone(), index.clone(), index]),
    )
        .prop_map(|(descriptors, header, available)| Act::Kick {
            descriptors,
            header,
            available,
        });
    prop_oneof![2 => message, 5 => kick, 2 => any::<u64>().prop_map(Act::Advance)]
}

impl Driver {
    /// Does what a guest may do; whether the trial goes on.
    fn act(&mut self, act: &Act) -> Result<(), PortFault> {
        match act {
            Act::Message { request, flags, size, payload, file } => {
                let memory = self.memory.try_clone().unwrap();
                let mut bytes = words(&[*request, *flags, size.unwrap_or(payload.len() as u32)]);
                bytes.extend(payload);
                let files = [&memory];
                self.send_bytes(&bytes, if *file { &files } else { &[] });
                if size.is_some() {
                    // What is missing never comes: the guest is gone in the middle of a message.
                    self.stream.shutdown(std::net::Shutdown::Write).unwrap();
                }
                self.port.handle()?;
            }
            Act::Kick { descriptors, header, available } => {
                for (index, (address, length, flags, next)) in descriptors.iter().enumerate() {
                    let bytes = [
                        &longs(&[*address])[..],
                        &words(&[*length]),
                        &flags.to_le_bytes(),
                        &next.to_le_bytes(),
                    ]
                    .concat();
                    // Four in the ring, four in a table for indirect ones.
                    let at = if index < 4 {
                        index as u64 * 16
                    } else {
                        0x3000 + (index as u64 - 4) * 16
                    };
                    self.memory.write_all_at(&bytes, at).unwrap();
                }
                for page in [0x4000, 0x5000] {
                    let bytes = [words(&[header.0, 0]), longs(&[header.1])].concat();
                    self.memory.write_all_at(&bytes, page).unwrap();
                }
                let (index, ring) = available;
                let bytes: Vec<u8> = [&[0, *index][..], ring]
                    .concat()
                    .iter()
                    .flat_map(|number| number.to_le_bytes())
                    .collect();
                self.memory.write_all_at(&bytes, 0x1000).unwrap();
                self.port.take_requests(self.now_ns)?;
            }
            Act::Advance(by) => {
                self.now_ns = self.now_ns.saturating_add(by % 1_000_000_000);
                if self.port.advance(self.now_ns, &mut |_| {})? {
                    self.port.call()?;
                }
            }
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wild_cases(), ..ProptestConfig::default() })]

    /// Whatever a guest does, it gets an error or the trial ends; we go on.
    #[test]
    fn no_guest_breaks_a_disk(acts in proptest::collection::vec(act(), 1..24), orderly in any::<bool>()) {
        let mut driver = Driver::new();
        let _call = orderly.then(|| driver.set_up());
        for act in &acts {
            // A guest that broke off in a message is gone, also when nothing was missing after all.
            let gone = matches!(act, Act::Message { size: Some(_), .. });
            if driver.act(act).is_err() || gone {
                break;
            }
        }
        prop_assert_eq!(driver.port.disk.content().sectors(), 1000);
    }
}

/// `SEEKWELL_FUZZ_CASES` asks for more than fit into an ordinary run of the tests.
fn wild_cases() -> u32 {
    std::env::var("SEEKWELL_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(600)
}
