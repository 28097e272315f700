//! Options that a search tries: values that differ in speed alone. None loses what was synced, shows old data after a
//! power cut, or gives up a copy or a checksum of metadata.

/// An option with its values besides the default of the filesystem's program and driver.
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
    Choice::Mkfs(&[&["-O", "fast_commit"]]),
    Choice::Mkfs(&[&["-J", "size=16"], &["-J", "size=256"]]),
    Choice::Mkfs(&[&["-I", "512"]]),
    Choice::Mount(&[&["max_batch_time=0"]]),
    Choice::Mount(&[&["nodelalloc"]]),
];

pub(super) const XFS: &[Choice] = &[
    TIMES,
    Choice::Mkfs(&[&["-l", "size=64m"], &["-l", "size=512m"]]),
    Choice::Mkfs(&[&["-d", "agcount=2"], &["-d", "agcount=16"]]),
    Choice::Mkfs(&[&["-i", "size=1024"]]),
    Choice::Mkfs(&[&["-m", "reflink=0"]]),
    Choice::Mount(&[&["logbsize=256k"]]),
    Choice::Mount(&[&["allocsize=1m"], &["allocsize=64m"]]),
];

pub(super) const BTRFS: &[Choice] = &[
    TIMES,
    Choice::Mount(&[&["nodatacow"], &["compress=lzo"], &["compress=zstd:1"]]),
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
