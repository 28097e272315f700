//! Files that others made to take all memory or all time.

use super::{seekwell, talk};
use seekwell_trace::meta::Meta;
use seekwell_trace::{FileEntry, FileId, Limits, TraceWriter};
use std::path::Path;
use std::process::{Command, Output};

/// Runs the program with a lower limit of the shell in the place of the program's own.
fn limited(directory: &Path, limit: &str, words: &[&str]) -> Output {
    let program = seekwell(directory);
    let mut shell = Command::new("/bin/sh");
    shell.current_dir(directory).args(["-c", &format!("ulimit {limit}; exec \"$@\""), "sh"]);
    shell.arg(program.get_program()).args(words).output().unwrap()
}

/// Each path has all but its last letters in common with the one before, so that the file is small.
fn trace_of_long_paths(folder: &Path) {
    const ROWS: u32 = 30_000;
    let mut writer = TraceWriter::create(folder, &Meta::new("test"), Limits::default()).unwrap();
    for id in 0..ROWS {
        let path = Some(format!("/{}{id}", "a".repeat(8_000)));
        writer.file(FileEntry {
            id: FileId(id),
            path,
            device: None,
            inode: None,
            mode: None,
            bytes: None,
        });
    }
    let bytes = writer.finish(&Meta::new("test")).unwrap();
    assert!(bytes < 16 << 20, "{bytes}");
}

#[test]
fn a_small_trace_that_fills_the_memory_ends_with_an_error_that_names_the_fix() {
    let all = tempfile::tempdir().unwrap();
    trace_of_long_paths(&all.path().join("trace"));
    for words in [["trace", "info", "trace"], ["advise", "trace", "--place=virtual"]] {
        let output = limited(all.path(), "-v 300000", &words);
        let text = talk(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("reading needs more memory than files of others may take"), "{text}");
        assert!(text.contains("seekwell trace filter"), "{text}");
    }
}

#[test]
fn an_import_without_end_ends_with_an_error_that_names_the_fix() {
    let all = tempfile::tempdir().unwrap();
    let endless = std::fs::File::create(all.path().join("endless")).unwrap();
    endless.set_len(1 << 39).unwrap();
    let words = ["trace", "import", "blkparse", "endless", "-o", "trace"];
    let output = limited(all.path(), "-S -t 1", &words);
    let text = talk(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("reading takes more CPU time than files of others may take"), "{text}");
}
