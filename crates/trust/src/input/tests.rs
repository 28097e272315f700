use super::*;
use std::os::unix::net::UnixListener;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The result of an attempt that must not wait.
fn at_once<T: Send + 'static>(attempt: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = channel();
    std::thread::spawn(move || done.send(attempt()));
    result.recv_timeout(Duration::from_secs(20)).expect("it waits")
}

fn fifo(path: &Path) {
    rustix::fs::mkfifoat(CWD, path, Mode::from_raw_mode(0o600)).unwrap();
}

#[test]
fn what_is_no_regular_file_is_refused_at_once_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let [named, socket] = ["fifo", "socket"].map(|name| folder.path().join(name));
    fifo(&named);
    let _listener = UnixListener::bind(&socket).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&named, &link).unwrap();
    for (path, kind) in [
        (named.as_path(), "a FIFO"),
        (&link, "a FIFO"),
        (&socket, "a socket"),
        (folder.path(), "a directory"),
        (Path::new("/dev/zero"), "a character device"),
    ] {
        for opened in [|path: &Path| open(path, u64::MAX), open_or_pipe] {
            let path = path.to_owned();
            let error = at_once(move || opened(&path)).unwrap_err();
            assert_eq!(error.to_string(), format!("it is {kind}, not a regular file"));
        }
    }
}

#[test]
fn a_pipe_of_the_shell_is_read_to_its_end_where_it_is_taken() {
    let (reader, mut writer) = io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&reader));
    assert!(open(Path::new(&path), u64::MAX).is_err());
    let mut opened = open_or_pipe(Path::new(&path)).unwrap();
    let writing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        io::Write::write_all(&mut writer, b"late").unwrap();
    });
    let mut text = [0; 4];
    opened.read_exact(&mut text).unwrap();
    writing.join().unwrap();
    assert_eq!(&text, b"late");
}

#[test]
fn a_file_is_read_up_to_its_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "12345").unwrap();
    assert_eq!(read(&path, 5).unwrap(), b"12345");
    let error = read(&path, 4).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    assert_eq!(error.to_string(), "it has more than 4 bytes");
    // Files of the kernel say that they are empty.
    assert!(read_text(Path::new("/proc/self/mountinfo"), 1 << 20).unwrap().contains("/proc"));
    std::fs::write(&path, [0xff]).unwrap();
    assert_eq!(read_text(&path, 5).unwrap_err().kind(), io::ErrorKind::InvalidData);
}
