use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::thread;

use rustix::fs::{MemfdFlags, memfd_create};

use super::*;
use crate::clock::MESSAGE_BYTES;
use crate::content::{Content, Keeping};
use crate::disk::{Disk, DiskParts};
use crate::instant;

/// A guest that is a thread of the test; its "kernel" is a sleeping shell.
struct Guest {
    time: UnixStream,
    sequence: u32,
}

impl Guest {
    fn send(&mut self, operation: TimeOperation, time_ns: u64) -> u32 {
        self.sequence += 1;
        let message = TimeMessage { operation, sequence: self.sequence, time_ns };
        self.time.write_all(&message.encode()).unwrap();
        self.sequence
    }

    fn receive(&mut self) -> TimeMessage {
        let mut bytes = [0; MESSAGE_BYTES];
        self.time.read_exact(&mut bytes).unwrap();
        TimeMessage::decode(&bytes).unwrap()
    }

    /// Sends a message and takes its acknowledgement.
    fn ask(&mut self, operation: TimeOperation, time_ns: u64) -> u64 {
        let sequence = self.send(operation, time_ns);
        let answer = self.receive();
        assert_eq!((answer.operation, answer.sequence), (TimeOperation::Ack, sequence));
        answer.time_ns
    }

    /// Waits until it may run; acknowledges what comes before.
    fn wait(&mut self) -> (u64, u64) {
        self.ask(TimeOperation::Wait, 0);
        let free = self.receive();
        assert_eq!(free.operation, TimeOperation::FreeUntil);
        self.time.write_all(&free.ack(0).encode()).unwrap();
        let run = self.receive();
        assert_eq!(run.operation, TimeOperation::Run);
        self.time.write_all(&run.ack(0).encode()).unwrap();
        (run.time_ns, free.time_ns)
    }
}

fn limits() -> Limits {
    Limits {
        wall: Duration::from_secs(120),
        spin: Duration::from_secs(60),
        virtual_ns: 1_000_000_000,
    }
}

fn port(directory: &std::path::Path, index: u8) -> Port {
    let keeping = Keeping { memory_bytes: 1 << 20, directory: std::env::temp_dir() };
    let sectors = 1 << 24;
    let content = Content::new(sectors, keeping);
    let model = Box::new(instant::Instant::new(sectors));
    let disk = Disk::new(index, "disk", DiskParts::new(model, content), false);
    Port::new(link::listen(directory, &format!("d{index}")).unwrap(), disk)
}

/// Runs a controller against `script` and returns why it stopped.
fn play(
    limits: Limits,
    transport: Transport,
    script: impl FnOnce(Guest, &std::path::Path) + Send + 'static,
) -> (Halt, u64) {
    let directory = tempfile::tempdir().unwrap();
    symlink("/bin/sh", directory.path().join("linux")).unwrap();
    let console = File::from(memfd_create(c"console", MemfdFlags::CLOEXEC).unwrap());
    let arguments = ["-c".to_owned(), "exec /bin/sleep 600".to_owned()];
    let mut process = GuestProcess::start(directory.path(), &arguments, console).unwrap();
    let scene = Scene {
        listener: link::listen(directory.path(), "t").unwrap(),
        clock: SharedClock::new(transport).unwrap(),
        epoch_ns: 77,
        ports: vec![port(directory.path(), 0)],
        measured: 0,
        mailbox: Mailbox { port: 0, reader: Reader::default() },
        limits,
        stop: Arc::default(),
        notes: Notes::default(),
    };
    let path = directory.path().to_path_buf();
    let guest = thread::spawn(move || {
        let time = UnixStream::connect(path.join("t")).unwrap();
        script(Guest { time, sequence: 0 }, &path);
    });
    let mut controller = Controller::new(&mut process, scene, Instant::now());
    let halt = controller.run(&mut |_| None);
    let now_ns = controller.now_ns;
    drop(controller);
    guest.join().unwrap();
    (halt, now_ns)
}

fn play_messages(script: impl FnOnce(&mut Guest) + Send + 'static) -> (Halt, u64) {
    play(limits(), Transport::Messages, |mut guest, _| {
        assert_eq!(guest.ask(TimeOperation::Start, 1), u64::from(crate::clock::GUEST));
        script(&mut guest);
    })
}

#[test]
fn time_passes_to_what_the_guest_asked_for_last() {
    let (halt, now_ns) = play_messages(|guest| {
        assert_eq!(guest.ask(TimeOperation::TimeOfDay, 0), 77);
        assert_eq!(guest.ask(TimeOperation::Get, 0), 0);
        guest.ask(TimeOperation::Request, 900);
        guest.ask(TimeOperation::Request, 500);
        assert_eq!(guest.wait(), (500, 500 + FREE_RUN_NS));
        assert_eq!(guest.ask(TimeOperation::Get, 0), 500);
        guest.ask(TimeOperation::Update, 600);
        assert_eq!(guest.ask(TimeOperation::Get, 0), 600);
    });
    assert!(matches!(halt, Halt::Gone), "{halt}");
    assert_eq!(now_ns, 600);
}

#[test]
fn a_guest_that_waits_for_nothing_is_dead_locked() {
    let (halt, _) = play_messages(|guest| {
        guest.ask(TimeOperation::Wait, 0);
    });
    assert!(matches!(halt, Halt::Ended(End::Deadlock)), "{halt}");
    let (halt, _) = play_messages(|guest| {
        guest.ask(TimeOperation::Request, i64::MAX as u64);
        guest.ask(TimeOperation::Wait, 0);
    });
    assert!(
        matches!(halt, Halt::Ended(End::Deadlock)),
        "asking for the end of time is no request: {halt}"
    );
}

#[test]
fn time_never_goes_back() {
    let (halt, _) = play_messages(|guest| {
        guest.ask(TimeOperation::Update, 600);
        guest.send(TimeOperation::Update, 599);
    });
    assert!(matches!(halt, Halt::Time { from_ns: 600, to_ns: 599 }), "{halt}");
}

#[test]
fn a_message_out_of_turn_ends_the_trial() {
    for operation in [TimeOperation::Ack, TimeOperation::Run, TimeOperation::FreeUntil] {
        let (halt, _) = play_messages(move |guest| {
            guest.send(operation, 0);
        });
        assert!(matches!(halt, Halt::OutOfTurn(found) if found == operation));
    }
}

#[test]
fn a_wrong_acknowledgement_ends_the_trial() {
    let (halt, _) = play_messages(|guest| {
        guest.ask(TimeOperation::Request, 5);
        guest.ask(TimeOperation::Wait, 0);
        let mut free = guest.receive();
        free.sequence += 1;
        guest.time.write_all(&free.ack(0).encode()).unwrap();
    });
    assert!(matches!(halt, Halt::OutOfTurn(TimeOperation::Ack)), "{halt}");
}

#[test]
fn an_unknown_message_is_a_fault() {
    let (halt, _) = play_messages(|guest| {
        guest.time.write_all(&[0xee; MESSAGE_BYTES]).unwrap();
    });
    assert!(matches!(halt, Halt::Fault(PortFault::Link(LinkFault::UnknownOperation))), "{halt}");
}

#[test]
fn virtual_time_has_a_limit() {
    let (halt, now_ns) = play_messages(|guest| {
        for step in 1..=10 {
            guest.ask(TimeOperation::Request, step * 100_000_000);
            assert_eq!(guest.wait().0, step * 100_000_000);
        }
        guest.ask(TimeOperation::Request, 1_000_000_001);
        guest.ask(TimeOperation::Wait, 0);
    });
    assert!(matches!(halt, Halt::Ended(End::VirtualLimit)), "{halt}");
    assert_eq!(now_ns, 1_000_000_000);
}

#[test]
fn a_guest_that_never_says_anything_is_ended_by_the_wall_clock() {
    let limits = Limits { wall: Duration::from_millis(300), ..limits() };
    let (halt, _) = play(limits, Transport::Messages, |mut guest, _| {
        guest.ask(TimeOperation::Start, 1);
        let mut rest = Vec::new();
        guest.time.read_to_end(&mut rest).unwrap();
    });
    assert!(matches!(halt, Halt::Ended(End::WallLimit)), "{halt}");
}

#[test]
fn a_broken_ring_ends_the_trial_and_not_this_process() {
    let (halt, _) = play(limits(), Transport::Messages, |mut guest, directory| {
        guest.ask(TimeOperation::Start, 1);
        let mut disk = UnixStream::connect(directory.join("d0")).unwrap();
        let send = |disk: &mut UnixStream, request: u32, payload: &[u8]| {
            let header = [request, 9, payload.len() as u32];
            let mut bytes: Vec<u8> = header.iter().flat_map(|n| n.to_le_bytes()).collect();
            bytes.extend(payload);
            disk.write_all(&bytes).unwrap();
        };
        send(&mut disk, 8, &[0, 0, 0, 0, 8, 0, 0, 0]);
        let mut answer = [0; 20];
        disk.read_exact(&mut answer).unwrap();
        let mut addresses = vec![0; 40];
        addresses[8] = 1;
        send(&mut disk, 9, &addresses);
        disk.read_exact(&mut answer).unwrap();
        send(&mut disk, 18, &[0, 0, 0, 0, 1, 0, 0, 0]);
        disk.read_exact(&mut answer).unwrap();
        send(&mut disk, 35, &[0; 8]);
        let mut rest = Vec::new();
        let _ = disk.read_to_end(&mut rest);
    });
    let Halt::Fault(fault) = halt else { panic!("{halt}") };
    assert_eq!(
        fault.to_string(),
        "a disk's virtqueue is malformed: the ring points outside the guest's memory: 2 bytes at 0x2 are not in the guest's memory"
    );
}

#[test]
fn a_driver_that_leaves_does_not_end_the_trial() {
    let (halt, now_ns) = play(limits(), Transport::Messages, |mut guest, directory| {
        guest.ask(TimeOperation::Start, 1);
        drop(UnixStream::connect(directory.join("d0")).unwrap());
        guest.ask(TimeOperation::Request, 42);
        assert_eq!(guest.wait().0, 42);
    });
    assert!(matches!(halt, Halt::Gone), "{halt}");
    assert_eq!(now_ns, 42);
}
