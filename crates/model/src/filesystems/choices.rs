//! Options that a search tries. Each keeps what was synced, shows no old data after a power cut, and leaves copies,
//! checksums and features as they are; the size of a journal is a lab's own axis. `fast_commit` is not among them
//! (damage after power cuts: `benches/runs/virtual/cuts`), nor `nodatacow`, which drops checksums of data, nor
//! compression, whose CPU time is not charged.

/// An option with its values besides the one that labs have by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Arguments of mkfs for each value.
    Mkfs(&'static [&'static [&'static str]]),
    /// Mount options for each value.
    Mount(&'static [&'static [&'static str]]),
}

impl Choice {
    /// Its values.
    #[must_use]
    pub fn values(&self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Mkfs(values) | Self::Mount(values) => values,
        }
    }
}

const TIMES: Choice = Choice::Mount(&[&["noatime"], &["lazytime"]]);

pub(super) const EXT4: &[Choice] = &[
    TIMES,
    Choice::Mount(&[&["data=journal"]]),
    Choice::Mkfs(&[&["-I", "512"]]),
    Choice::Mount(&[&["max_batch_time=0"]]),
    Choice::Mount(&[&["nodelalloc"]]),
];

pub(super) const XFS: &[Choice] = &[
    TIMES,
    Choice::Mkfs(&[&["-d", "agcount=16"]]),
    Choice::Mkfs(&[&["-i", "size=1024"]]),
    Choice::Mount(&[&["logbsize=256k"]]),
    Choice::Mount(&[&["allocsize=1m"], &["allocsize=64m"]]),
];

pub(super) const BTRFS: &[Choice] = &[
    TIMES,
    Choice::Mkfs(&[&["-n", "4096"], &["-n", "32768"], &["-n", "65536"]]),
    Choice::Mount(&[&["max_inline=0"]]),
    Choice::Mount(&[&["ssd"], &["ssd_spread"], &["nossd"]]),
];

pub(super) const F2FS: &[Choice] = &[
    TIMES,
    Choice::Mount(&[&["active_logs=2"], &["active_logs=4"]]),
    Choice::Mount(&[&["mode=lfs"]]),
    Choice::Mkfs(&[&["-s", "4"]]),
    Choice::Mount(&[&["noinline_data"]]),
];
