use std::os::fd::AsRawFd;

use super::*;
use crate::clock::TimeOperation;
use crate::vhost::Request;

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = [request, flags, payload.len() as u32]
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    bytes.extend(payload);
    bytes
}

fn send_with_file(stream: &UnixStream, bytes: &[u8], file: &File) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let files = [file.as_fd()];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&files)));
    let sent = sendmsg(stream, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::empty());
    assert_eq!(sent.unwrap(), bytes.len());
}

#[test]
fn a_socket_may_lie_deeper_than_an_address_is_long() {
    let top = tempfile::tempdir().unwrap();
    let deep = top.path().join("d".repeat(120));
    std::fs::create_dir(&deep).unwrap();
    let listener = listen(&deep, "t").unwrap();
    assert!(deep.join("t").exists());
    drop(listener);
}

#[test]
fn time_messages_go_both_ways_with_files() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut link = TimeLink::new(ours);
    let file = tempfile::tempfile().unwrap();
    let start = TimeMessage { operation: TimeOperation::Ack, sequence: 1, time_ns: 1 };
    link.send_with_files(&start, &[file.as_fd(), file.as_fd()]).unwrap();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = [0; 64];
    let received =
        recvmsg(&theirs, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, RecvFlags::empty());
    assert_eq!(received.unwrap().bytes, MESSAGE_BYTES);
    let files = ancillary.drain().map(|message| match message {
        RecvAncillaryMessage::ScmRights(files) => files.count(),
        _ => 0,
    });
    assert_eq!(files.sum::<usize>(), 2);
    let wait = TimeMessage { operation: TimeOperation::Wait, sequence: 2, time_ns: 0 };
    (&theirs).write_all(&wait.encode()).unwrap();
    assert_eq!(link.receive().unwrap(), wait);
}

#[test]
fn a_closed_end_is_told_apart_from_nonsense() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut link = TimeLink::new(ours);
    (&theirs).write_all(&[99; MESSAGE_BYTES]).unwrap();
    assert!(matches!(link.receive(), Err(LinkFault::UnknownOperation)));
    drop(theirs);
    assert!(matches!(link.receive(), Err(LinkFault::Closed)));
    let wait = TimeMessage { operation: TimeOperation::Wait, sequence: 2, time_ns: 0 };
    assert!(matches!(link.send(&wait), Err(LinkFault::Closed)));
}

#[test]
fn disk_messages_come_one_by_one_however_they_arrive() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut link = DiskLink::new(ours);
    let kick = message(35, 9, &[0; 8]);
    let two = [message(3, 1, &[]), message(1, 1, &[])].concat();
    (&theirs).write_all(&two).unwrap();
    assert!(!link.has_message());
    assert_eq!(link.receive().unwrap().request, Request::SetOwner);
    assert!(link.has_message());
    assert_eq!(link.receive().unwrap().request, Request::GetFeatures);
    assert!(!link.has_message());
    let writer = std::thread::spawn(move || {
        for byte in kick {
            (&theirs).write_all(&[byte]).unwrap();
        }
        theirs
    });
    assert_eq!(link.receive().unwrap().request, Request::Kick);
    drop(writer.join().unwrap());
    assert!(matches!(link.receive(), Err(LinkFault::Closed)));
}

#[test]
fn a_file_comes_with_its_message() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut link = DiskLink::new(ours);
    let file = tempfile::tempfile().unwrap();
    send_with_file(&theirs, &message(21, 9, &[]), &file);
    let received = link.receive().unwrap();
    assert_eq!(received.request, Request::SetCallSocket);
    assert_eq!(received.files.len(), 1);
    let flags = rustix::io::fcntl_getfd(&received.files[0]).unwrap();
    assert!(flags.contains(rustix::io::FdFlags::CLOEXEC), "no guest inherits it");
    assert_ne!(received.files[0].as_raw_fd(), file.as_raw_fd());
}

#[test]
fn a_message_without_end_is_refused_before_it_is_read() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut link = DiskLink::new(ours);
    let mut header = message(24, 1, &[]);
    header[8..].copy_from_slice(&u32::MAX.to_le_bytes());
    (&theirs).write_all(&header).unwrap();
    let fault = link.receive().unwrap_err();
    assert!(matches!(fault, LinkFault::Message(MessageFault::Length(u32::MAX))));
}
