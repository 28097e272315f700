//! Names that both sides of a guest rely on: the controller outside, the first program inside.

use std::path::PathBuf;

/// Most disks of a trial; with root and mailbox, `vda` to `vdz` suffice.
pub const MOST_DISKS: usize = 24;

/// Environment of every program in every guest. The kernel passes it to the first program, which
/// passes it on.
pub const ENVIRONMENT: [(&str, &str); 5] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"),
    ("HOME", "/root"),
    ("LC_ALL", "C"),
    ("TZ", "UTC"),
    ("TMPDIR", "/tmp"),
];

/// Returns the guest's path of the disk at a position.
#[must_use]
pub fn device_path(position: usize) -> PathBuf {
    let letter = char::from(b'a' + u8::try_from(position.min(MOST_DISKS)).unwrap_or(0));
    PathBuf::from(format!("/dev/vd{letter}"))
}
