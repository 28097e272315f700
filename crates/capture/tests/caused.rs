//! Calls joined to the block requests that they caused. It needs root, eBPF and ext4 on a loop device.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{captured, of_command, rows};
use seekwell_recordings::caused::{Wanted, caused, text};
use seekwell_trace::Trace;
use seekwell_trace::calls::CallId;
use std::process::Command;

#[test]
fn an_fsync_has_its_writes_and_those_of_the_journal() {
    let test = "an_fsync_has_its_writes_and_those_of_the_journal";
    let programs = ["mkfs.ext4", "unshare", "dd"];
    if let Some(missing) = programs.iter().find(|name| seekwell_testing::tool(name).is_none()) {
        return seekwell_testing::skip(test, &format!("{missing} is not installed"));
    }
    let work = tempfile::tempdir().unwrap();
    let path = work.path().canonicalize().unwrap();
    let (image, disk) = (path.join("image"), path.join("disk"));
    std::fs::create_dir(&disk).unwrap();
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    let mkfs = seekwell_testing::tool("mkfs.ext4").unwrap();
    let made = Command::new(mkfs).args(["-q", "-E", "lazy_itable_init=0"]).arg(&image).status();
    assert!(made.unwrap().success());
    // The mount ends with its namespace, however the test ends. What the mount wrote is not the call's.
    let (from, to) = (image.display(), disk.display());
    let script = format!(
        "mount -o loop {from} {to} && cd {to} && echo x >first && sync && \
         dd if=/dev/zero of=file bs=64k count=4 conv=fsync status=none && cd / && umount {to}"
    );
    let words = ["unshare", "--mount", "sh", "-c", &script];
    let mut options = of_command(&path.join("trace"), &words);
    options.walk = false;
    let Some(captured) = captured(test, &options) else { return };
    if captured.status.is_none_or(|status| !status.success()) {
        return seekwell_testing::skip(test, "cannot mount ext4 on a loop device here");
    }
    assert_eq!(captured.lost, []);
    let trace = Trace::open(&options.output).unwrap();
    let fsync = CallId::named("fsync").unwrap();
    let of_file = vec![disk.join("file").to_string_lossy().into_owned()];
    let wanted =
        Wanted { calls: vec![fsync], paths: of_file.clone(), longest: 10, ..Wanted::default() };
    let found = caused(&trace, &wanted).unwrap();
    let said = text(&found);
    assert_eq!((found.calls, found.longest.len()), (1, 1), "{said}");
    let is_it = |row: &&common::Row| row.0.call == fsync && row.1 == of_file[0];
    let row = rows(&trace).into_iter().find(|row| is_it(&row)).unwrap().0;
    let call = &found.longest[0];
    assert_eq!((call.start_ns, Some(call.duration_ns)), (row.start_ns, row.duration_ns));
    // The data, which the program's own thread issues when it syncs.
    let own = call.requests.iter().filter(|request| request.own && request.operation == "write");
    assert_eq!(own.map(|request| request.bytes).sum::<u64>(), 256 << 10, "{said}");
    // The commit of the journal: its thread has no calls.
    let of_journal = |program: &String| program.starts_with("jbd2/");
    let journal =
        call.requests.iter().filter(|request| request.program.as_ref().is_some_and(of_journal));
    let journal: Vec<_> = journal.collect();
    assert!(journal.iter().any(|request| request.operation == "write"), "{said}");
    assert!(journal.iter().all(|request| !request.own && request.after_ns <= call.duration_ns));
    assert_eq!(call.others.count + call.own.count, call.requests.len() as u64, "{said}");
}
