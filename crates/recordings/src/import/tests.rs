use super::{blkparse, blktrace, strace};
use seekwell_trace::TraceError;
use std::path::Path;
use std::time::Duration;

fn at_once<T: Send + 'static>(
    attempt: impl FnOnce() -> Result<T, TraceError> + Send + 'static,
) -> String {
    let (done, result) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(attempt().err().map(|error| error.to_string())));
    result.recv_timeout(Duration::from_secs(20)).expect("it waits").expect("it is refused")
}

#[test]
fn a_fifo_in_the_place_of_an_imported_file_is_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let fifo = at("in.blktrace.0");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for import in [strace, blkparse, blktrace] {
        let (input, output) = (fifo.clone(), at("out"));
        let error = at_once(move || import(&input, &output));
        assert!(error.contains("it is a FIFO, not a regular file"), "{error}");
        assert!(!at("out").exists());
        let output = at("out");
        let error = at_once(move || import(Path::new("/dev/zero"), &output));
        assert!(error.contains("it is a character device, not a regular file"), "{error}");
    }
}
