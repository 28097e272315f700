//! Programs recorded on this machine, in a folder below that for temporary files.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A recording on this machine.
pub struct Recorded {
    pub trace: PathBuf,
    /// Folder of the program.
    pub folder: PathBuf,
    _place: tempfile::TempDir,
}

/// Words of a lab's text, as the shell of a guest gets them.
fn unquoted(words: &str, folder: &Path) -> String {
    words.replace("\\\"", "\"").replace("{dir}", &folder.to_string_lossy())
}

/// Runs the preparation, then the command under `seekwell capture`.
pub fn record(capture: &Path, prepare: &str, line: &str) -> Recorded {
    let place = tempfile::tempdir().unwrap();
    let [trace, folder] = ["trace", "folder"].map(|name| place.path().join(name));
    std::fs::create_dir(&folder).unwrap();
    // The names of files on the way would be others in the trace.
    let folder = folder.canonicalize().unwrap();
    let done = |command: &mut Command| {
        let output = command.current_dir(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    done(Command::new("sh").args(["-ec", &unquoted(prepare, &folder)]));
    done(Command::new("sync").arg("-f").arg(&folder));
    let mut command = Command::new(capture);
    command.args(["capture", "--same-device", "--no-block", "-o"]).arg(&trace);
    done(command.args(["--", "sh", "-ec", &unquoted(line, &folder)]));
    Recorded { trace, folder, _place: place }
}
