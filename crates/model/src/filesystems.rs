//! The catalogue of filesystems: one definition each, as data.
//!
//! Arguments are templates: `{dev}` is the data device, `{journal}` the journal device,
//! `{journal_mib}` the journal's size in MiB, `{journal_blocks}` in blocks of 4 KiB,
//! `{block}` the block size in bytes, `{block_sectors}` in logical sectors of the device, `{dir}` the
//! mount point. Adding a filesystem is adding an entry here.

mod choices;
mod own;
mod refused;
mod remote;
pub mod ufs2;

pub use remote::NFS_CLIENT;

use crate::units::Bytes;
use crate::workloads::Program;

pub use choices::Choice;
pub use own::Own;
pub use refused::{MkfsOptions, RefusedOption};

/// Block size that every filesystem with a choice is made with, so that stacks are comparable.
pub const BLOCK_SIZE: Bytes = Bytes::kib(4);

/// Measured with 300 small mails unpacked until durable, eight rounds against ext4 on the same
/// kernel (6.18): 8.3 times its time at 512 MiB, 6.3 at 768 MiB, 3.8 at 1 GiB, 2.2 at 1.5 GiB, 2.1 at
/// 2 GiB and 1.8 at 4 GiB (`benches/runs/host/btrfs-device-size`).
const BTRFS_CRAMPED: (Bytes, &str) =
    (Bytes::mib(2048), "little room for metadata makes it write early while files are created");

/// Journal placements that a filesystem supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalDefinition {
    /// Formats the journal device before mkfs; empty when mkfs does it.
    pub prepare: &'static [&'static str],
    /// Arguments of mkfs for a journal on `{journal}`.
    pub external_mkfs: &'static [&'static str],
    /// Mount options for a journal on `{journal}`.
    pub external_mount: &'static [&'static str],
    /// Arguments of mkfs that set the size of an internal journal; empty when it has no choice.
    pub internal_mkfs: &'static [&'static str],
    /// Arguments of fsck for a journal on `{journal}`; empty where fsck finds it by itself.
    pub external_fsck: &'static [&'static str],
    /// True if mkfs fills the whole journal device: then the device must have the journal's size.
    pub fills_device: bool,
    /// Smallest journal that mkfs takes.
    pub minimum: Bytes,
    /// An internal journal may be at most one part in so many of the device.
    pub internal_divisor: u64,
    /// Size when the lab names none, the same inside and outside.
    pub default: Bytes,
    /// True if `data=journal|ordered|writeback` exist.
    pub data_modes: bool,
}

/// State of the directory tree after a power cut, on a device that keeps what it flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterPowerCut {
    /// The next mount recovers it, by a journal, a log or copy on write.
    Recovers,
    /// It needs a check: nothing orders the writes of its metadata.
    NeedsCheck,
    /// There is no tree.
    NoTree,
}

/// Definition of a filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FilesystemDefinition {
    /// As labs call it.
    pub name: &'static str,
    /// A description in a few words.
    pub doc: &'static str,
    /// Type for mount and in `/proc/filesystems`; `None` for a raw device.
    pub kernel_type: Option<&'static str>,
    /// Kernel configuration that brings it.
    pub kernel_config: &'static str,
    /// The mkfs program and the arguments that are always given.
    pub mkfs: &'static [&'static str],
    /// Options of mkfs with a list of suboptions as value that must be given once: repeated, mke2fs
    /// forgets all but the last `-E`, and mkfs.xfs refuses a suboption that comes twice.
    pub merged: &'static [&'static str],
    /// Arguments that make stacks comparable: no lazy initialisation, equal block size.
    pub comparable: &'static [&'static str],
    /// Arguments that keep mkfs from discarding; empty when it never does.
    pub no_discard: &'static [&'static str],
    /// Arguments that make mkfs discard, where that is not its default.
    pub discard: &'static [&'static str],
    /// Last arguments, the device among them.
    pub target: &'static [&'static str],
    /// Mount options that make stacks comparable.
    pub mount: &'static [&'static str],
    /// Mount option for online discard; `None` when it has none.
    pub discard_mount: Option<&'static str>,
    /// Mount option that keeps the kernel from discarding, where it does by default.
    pub no_discard_mount: Option<&'static str>,
    /// Journal placement; `None` when it has no journal or no choice.
    pub journal: Option<JournalDefinition>,
    /// Checks without repairing; exit status 0 is clean. Empty when there is no checker.
    pub fsck: &'static [&'static str],
    /// Repairs without asking. Empty when there is no such program, or it is not advised.
    pub repair: &'static [&'static str],
    /// Debian package of mkfs and fsck.
    pub package: &'static str,
    /// Smallest device that mkfs takes.
    pub minimum: Bytes,
    /// A device below this size makes it behave unlike on a larger one, and why; `None` where no
    /// such effect was measured.
    pub cramped: Option<(Bytes, &'static str)>,
    /// The data that survives a power cut after fsync, in words for the report.
    pub durability: &'static str,
    /// The state of its tree after a power cut.
    pub after_power_cut: AfterPowerCut,
    /// Mount options with which it sends no flushes, so that fsync promises nothing.
    pub no_flush_mount: &'static [&'static str],
    /// Features of mkfs with which the checker finds damage after some power cuts, each with what was found.
    pub damaged_with: &'static [(&'static str, &'static str)],
    /// True if it is in memory: it leaves its device unused, and its content ends with the mount.
    pub is_in_memory: bool,
    /// True if it is a directory of another machine: it leaves its device unused, and a trial has a
    /// directory of its own in it.
    pub is_remote: bool,
    /// True if the reduced lab kernel has it too; the full one has every filesystem.
    pub in_reduced_kernel: bool,
    /// Set if it is written here, because Linux has no program that makes it: then the command of mkfs
    /// has the form of the program of another system, and no such program is needed.
    pub own: Option<Own>,
    /// The program and the argument that print the version of its tools.
    pub version: Option<(&'static str, &'static str)>,
    /// Argument syntax of mkfs, and the options that a lab must not give it.
    pub options: MkfsOptions,
    /// Mount options, up to a `=`, that name another device or file: the agent sets them itself.
    pub refused_mount: &'static [&'static str],
    /// Options that a search tries; empty for what is not searched.
    pub choices: &'static [Choice],
}

impl FilesystemDefinition {
    /// Returns true if no program makes it: a raw device, and what mounting makes.
    #[must_use]
    pub fn is_never_made(&self) -> bool {
        self.mkfs.is_empty()
    }

    /// The program that makes it; `None` if none is needed.
    #[must_use]
    pub fn maker(&self) -> Option<&'static str> {
        self.mkfs.first().copied().filter(|_| self.own.is_none())
    }

    /// Returns true for the device itself without a filesystem.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        self.kernel_type.is_none()
    }
}

const NOTHING: &[&str] = &[];

/// Fields of what no program makes or checks, and what has no tree of its own on a device.
const UNMADE: FilesystemDefinition = FilesystemDefinition {
    name: "",
    doc: "",
    kernel_type: None,
    kernel_config: "",
    mkfs: NOTHING,
    merged: NOTHING,
    comparable: NOTHING,
    no_discard: NOTHING,
    discard: NOTHING,
    target: NOTHING,
    mount: NOTHING,
    discard_mount: None,
    no_discard_mount: None,
    journal: None,
    fsck: NOTHING,
    repair: NOTHING,
    package: "",
    minimum: Bytes::mib(1),
    cramped: None,
    durability: "",
    after_power_cut: AfterPowerCut::NoTree,
    no_flush_mount: NOTHING,
    damaged_with: &[],
    is_in_memory: false,
    is_remote: false,
    in_reduced_kernel: false,
    own: None,
    version: None,
    options: harmless(""),
    refused_mount: NOTHING,
    choices: &[],
};

/// Fields that most filesystems made by a program share.
const MADE: FilesystemDefinition = FilesystemDefinition {
    target: &["{dev}"],
    discard_mount: Some("discard"),
    after_power_cut: AfterPowerCut::Recovers,
    ..UNMADE
};

/// Fields that most journals share.
const PLAIN_JOURNAL: JournalDefinition = JournalDefinition {
    prepare: NOTHING,
    external_mkfs: NOTHING,
    external_mount: NOTHING,
    internal_mkfs: NOTHING,
    external_fsck: NOTHING,
    fills_device: false,
    minimum: Bytes::mib(4),
    internal_divisor: 3,
    default: Bytes::mib(64),
    data_modes: false,
};

/// Names that a user may try for what is not in the catalogue, with the reason.
pub const NOT_AVAILABLE: &[(&str, &str)] = &[
    ("zfs", "ZFS is not part of Linux and cannot be run here yet"),
    ("ufs", "of the kinds of UFS Linux writes, `ufs2` alone is made here"),
];

/// Kernel type that a backend names among its filesystems when a trial can start an NFS server.
pub const NFS_SERVER: &str = "nfsd";

/// Programs that make the link to an NFS server.
pub const NFS_PROGRAMS: &[Program] =
    &[Program { name: "ip", package: "iproute2" }, Program { name: "tc", package: "iproute2" }];

/// The filesystem of a lab that names none.
pub const DEFAULT_FILESYSTEM: &str = "ext4";

/// Filesystems that a lab compares when its writer names none.
pub const USUAL_FILESYSTEMS: [&str; 3] = ["ext4", "xfs", "btrfs"];

/// mke2fs of e2fsprogs 1.47: `getopt` and the options that open files of the host.
const EXT_OPTIONS: MkfsOptions = MkfsOptions {
    with_value: "bCdeEgGiIJlLmMNoOrRstTUz",
    refused: &[
        RefusedOption::new("-d", "copies a directory or an archive of the host"),
        RefusedOption::new("-l", "reads a list of bad blocks from a file of the host"),
        RefusedOption::new("-z", "writes an undo file to the host"),
        RefusedOption::journal("-J device"),
    ],
};

const BTRFS_OPTIONS: MkfsOptions = MkfsOptions {
    with_value: "AbdlLmnOrRsuU",
    refused: &[
        RefusedOption::new("-r", "copies a directory of the host"),
        RefusedOption::new("--rootdir", "copies a directory of the host"),
    ],
};

/// No option of these opens a file.
const fn harmless(with_value: &'static str) -> MkfsOptions {
    MkfsOptions { with_value, refused: &[] }
}

/// ext3 and ext4 share everything of their journal.
const EXT_JOURNAL: JournalDefinition = JournalDefinition {
    prepare: &[
        "mke2fs", "-q", "-F", "-b", "{block}", "-E", "nodiscard", "-O", "journal_dev", "{journal}",
        "{journal_blocks}",
    ],
    external_mkfs: &["-J", "device={journal}"],
    internal_mkfs: &["-J", "size={journal_mib}"],
    minimum: Bytes::mib(4),
    // mke2fs: at most half of what the inode tables leave free.
    internal_divisor: 3,
    data_modes: true,
    ..PLAIN_JOURNAL
};

const EXT_NO_JOURNAL_DURABILITY: &str = "fsynced data; the tree needs fsck after a power cut";
const JOURNALLED_DURABILITY: &str = "fsynced data; metadata journalled";

const EXT4: FilesystemDefinition = FilesystemDefinition {
    name: "ext4",
    doc: "ext4 with a journal and extents.",
    kernel_type: Some("ext4"),
    kernel_config: "CONFIG_EXT4_FS",
    mkfs: &["mkfs.ext4", "-q", "-F"],
    merged: &["-E", "-J"],
    comparable: &["-b", "{block}", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    no_discard: &["-E", "nodiscard"],
    discard: &["-E", "discard"],
    no_discard_mount: Some("nodiscard"),
    journal: Some(EXT_JOURNAL),
    fsck: &["e2fsck", "-f", "-n", "{dev}"],
    repair: &["e2fsck", "-f", "-y", "{dev}"],
    package: "e2fsprogs",
    minimum: Bytes::mib(16),
    durability: JOURNALLED_DURABILITY,
    no_flush_mount: &["nobarrier", "barrier=0"],
    in_reduced_kernel: true,
    version: Some(("mke2fs", "-V")),
    options: EXT_OPTIONS,
    refused_mount: &["journal_path", "journal_dev"],
    ..MADE
};

/// Every filesystem that a lab can name.
pub const FILESYSTEMS: &[FilesystemDefinition] = &[
    FilesystemDefinition {
        name: "ext2",
        doc: "ext2: block pointers, no journal.",
        kernel_type: Some("ext2"),
        kernel_config: "CONFIG_EXT2_FS, or CONFIG_EXT4_FS with CONFIG_EXT4_USE_FOR_EXT2",
        mkfs: &["mkfs.ext2", "-q", "-F"],
        comparable: &["-b", "{block}", "-E", "lazy_itable_init=0"],
        journal: None,
        discard_mount: None,
        no_discard_mount: None,
        durability: EXT_NO_JOURNAL_DURABILITY,
        after_power_cut: AfterPowerCut::NeedsCheck,
        ..EXT4
    },
    FilesystemDefinition {
        name: "ext3",
        doc: "ext3: block pointers and a journal.",
        kernel_type: Some("ext3"),
        kernel_config: "CONFIG_EXT4_FS with CONFIG_EXT4_USE_FOR_EXT2",
        mkfs: &["mkfs.ext3", "-q", "-F"],
        ..EXT4
    },
    FilesystemDefinition {
        choices: choices::EXT4,
        // `benches/runs/virtual/cuts/bugs.csv`, Linux 6.12.
        damaged_with: &[(
            "fast_commit",
            "e2fsck finds damage after 22 of 1,600 short sequences that a power cut ends",
        )],
        ..EXT4
    },
    FilesystemDefinition {
        name: "ext4-nojournal",
        doc: "ext4 without a journal.",
        mkfs: &["mkfs.ext4", "-q", "-F", "-O", "^has_journal"],
        comparable: &["-b", "{block}", "-E", "lazy_itable_init=0"],
        journal: None,
        durability: EXT_NO_JOURNAL_DURABILITY,
        after_power_cut: AfterPowerCut::NeedsCheck,
        ..EXT4
    },
    FilesystemDefinition {
        name: "xfs",
        doc: "XFS: extents, allocation groups, metadata log.",
        kernel_type: Some("xfs"),
        kernel_config: "CONFIG_XFS_FS",
        mkfs: &["mkfs.xfs", "-q", "-f"],
        merged: &["-b", "-d", "-i", "-l", "-m", "-n", "-r", "-s"],
        comparable: &["-b", "size={block}"],
        no_discard: &["-K"],
        journal: Some(JournalDefinition {
            external_mkfs: &["-l", "logdev={journal},size={journal_mib}m"],
            external_mount: &["logdev={journal}"],
            internal_mkfs: &["-l", "size={journal_mib}m"],
            external_fsck: &["-l", "{journal}"],
            minimum: Bytes::mib(64),
            // The log is in one of at least four allocation groups.
            internal_divisor: 5,
            ..PLAIN_JOURNAL
        }),
        fsck: &["xfs_repair", "-n", "{dev}"],
        repair: &["xfs_repair", "{dev}"],
        package: "xfsprogs",
        minimum: Bytes::mib(300),
        durability: JOURNALLED_DURABILITY,
        no_flush_mount: &["nobarrier"],
        in_reduced_kernel: true,
        version: Some(("mkfs.xfs", "-V")),
        options: MkfsOptions {
            with_value: "bcdilLmnprs",
            refused: &[
                RefusedOption::new("-c", "reads a configuration file of the host"),
                RefusedOption::new(
                    "-p",
                    "copies the files that a prototype file of the host names",
                ),
                RefusedOption::new("-d name", "names another device or file"),
                RefusedOption::new("-d file", "makes a file of the host"),
                RefusedOption::journal("-l name"),
                RefusedOption::journal("-l logdev"),
                RefusedOption::new("-l file", "makes a file of the host"),
                RefusedOption::new("-r name", "names another device or file"),
                RefusedOption::new("-r rtdev", "names another device"),
                RefusedOption::new("-r file", "makes a file of the host"),
            ],
        },
        refused_mount: &["logdev", "rtdev"],
        choices: choices::XFS,
        ..MADE
    },
    FilesystemDefinition {
        name: "btrfs",
        doc: "Btrfs: copy on write, checksums.",
        kernel_type: Some("btrfs"),
        kernel_config: "CONFIG_BTRFS_FS",
        mkfs: &["mkfs.btrfs", "-q", "-f"],
        comparable: &["-s", "{block}"],
        no_discard: &["-K"],
        discard_mount: Some("discard=async"),
        no_discard_mount: Some("nodiscard"),
        fsck: &["btrfs", "check", "--readonly", "{dev}"],
        package: "btrfs-progs",
        minimum: Bytes::mib(128),
        cramped: Some(BTRFS_CRAMPED),
        durability: "fsynced data; copy on write, checksummed",
        no_flush_mount: &["nobarrier"],
        in_reduced_kernel: true,
        version: Some(("mkfs.btrfs", "--version")),
        options: BTRFS_OPTIONS,
        refused_mount: &["device"],
        choices: choices::BTRFS,
        ..MADE
    },
    FilesystemDefinition {
        name: "f2fs",
        doc: "F2FS: log-structured, made for flash.",
        kernel_type: Some("f2fs"),
        kernel_config: "CONFIG_F2FS_FS",
        mkfs: &["mkfs.f2fs", "-q", "-f"],
        no_discard: &["-t", "0"],
        discard: &["-t", "1"],
        no_discard_mount: Some("nodiscard"),
        fsck: &["fsck.f2fs", "--dry-run", "{dev}"],
        repair: &["fsck.f2fs", "-f", "-y", "{dev}"],
        package: "f2fs-tools",
        minimum: Bytes::mib(64),
        durability: "fsynced data; log-structured",
        no_flush_mount: &["nobarrier", "fsync_mode=nobarrier"],
        version: Some(("mkfs.f2fs", "-V")),
        options: MkfsOptions {
            with_value: "acCdeEglLoORsStTUwz",
            refused: &[RefusedOption::new("-c", "names other devices")],
        },
        choices: choices::F2FS,
        ..MADE
    },
    FilesystemDefinition {
        name: "jfs",
        doc: "JFS: extents, metadata log.",
        kernel_type: Some("jfs"),
        kernel_config: "CONFIG_JFS_FS",
        mkfs: &["mkfs.jfs", "-q"],
        journal: Some(JournalDefinition {
            prepare: &["mkfs.jfs", "-q", "-J", "journal_dev", "{journal}"],
            external_mkfs: &["-J", "device={journal}"],
            internal_mkfs: &["-s", "{journal_mib}"],
            fills_device: true,
            minimum: Bytes::mib(1),
            // mkfs.jfs: "Log too large" from a tenth on.
            internal_divisor: 11,
            ..PLAIN_JOURNAL
        }),
        fsck: &["fsck.jfs", "-n", "{dev}"],
        package: "jfsutils",
        minimum: Bytes::mib(16),
        durability: JOURNALLED_DURABILITY,
        version: Some(("mkfs.jfs", "-V")),
        options: MkfsOptions {
            with_value: "jJLs",
            refused: &[
                RefusedOption::journal("-j"),
                RefusedOption::journal("-J device"),
                RefusedOption::journal("-J journal_dev"),
            ],
        },
        ..MADE
    },
    FilesystemDefinition {
        name: "reiserfs",
        doc: "ReiserFS 3.6: balanced trees, tails, metadata journal.",
        kernel_type: Some("reiserfs"),
        kernel_config: "CONFIG_REISERFS_FS (removed in Linux 6.13)",
        mkfs: &["mkfs.reiserfs", "-q", "-ff"],
        comparable: &["-b", "{block}"],
        discard_mount: None,
        journal: Some(JournalDefinition {
            external_mkfs: &["-j", "{journal}", "-s", "{journal_blocks}"],
            external_mount: &["jdev={journal}"],
            internal_mkfs: &["-s", "{journal_blocks}"],
            external_fsck: &["-j", "{journal}"],
            minimum: Bytes::mib(4),
            internal_divisor: 2,
            default: Bytes::mib(32),
            data_modes: true,
            ..PLAIN_JOURNAL
        }),
        fsck: &["fsck.reiserfs", "--check", "-q", "-y", "{dev}"],
        package: "reiserfsprogs",
        minimum: Bytes::mib(64),
        durability: JOURNALLED_DURABILITY,
        no_flush_mount: &["barrier=none"],
        version: Some(("mkfs.reiserfs", "-V")),
        options: MkfsOptions {
            with_value: "bBhjlostu",
            refused: &[
                RefusedOption::new("-B", "reads a list of bad blocks from a file of the host"),
                RefusedOption::new(
                    "--badblocks",
                    "reads a list of bad blocks from a file of the host",
                ),
                RefusedOption::journal("-j"),
                RefusedOption::journal("--journal-device"),
            ],
        },
        refused_mount: &["jdev"],
        ..MADE
    },
    FilesystemDefinition {
        name: "nilfs2",
        doc: "NILFS2: log-structured with continuous snapshots.",
        kernel_type: Some("nilfs2"),
        kernel_config: "CONFIG_NILFS2_FS",
        mkfs: &["mkfs.nilfs2", "-q", "-f"],
        comparable: &["-b", "{block}"],
        no_discard: &["-K"],
        no_discard_mount: Some("nodiscard"),
        package: "nilfs-tools",
        minimum: Bytes::mib(134),
        durability: "fsynced data; log-structured",
        no_flush_mount: &["nobarrier"],
        version: Some(("mkfs.nilfs2", "-V")),
        options: harmless("bBLmOP"),
        ..MADE
    },
    FilesystemDefinition {
        name: "bcachefs",
        doc: "bcachefs: copy on write, checksums.",
        kernel_type: Some("bcachefs"),
        kernel_config: "CONFIG_BCACHEFS_FS (left Linux in 6.18)",
        mkfs: &["mkfs.bcachefs", "-q", "-f"],
        comparable: &["--block_size={block}"],
        discard: &["--discard"],
        fsck: &["fsck.bcachefs", "-n", "{dev}"],
        package: "bcachefs-tools",
        minimum: Bytes::mib(64),
        durability: "fsynced data; copy on write, checksummed",
        no_flush_mount: &["nofsync"],
        version: Some(("mkfs.bcachefs", "--version")),
        options: MkfsOptions {
            with_value: "LU",
            refused: &[RefusedOption::new("--source", "copies a directory of the host")],
        },
        ..MADE
    },
    FilesystemDefinition {
        name: "vfat",
        doc: "FAT32: cameras, boot partitions.",
        kernel_type: Some("vfat"),
        kernel_config: "CONFIG_VFAT_FS",
        mkfs: &["mkfs.vfat"],
        comparable: &["-F", "32", "-s", "{block_sectors}"],
        fsck: &["fsck.vfat", "-n", "{dev}"],
        repair: &["fsck.vfat", "-a", "{dev}"],
        package: "dosfstools",
        // FAT32 needs 65,525 clusters.
        minimum: Bytes::mib(260),
        durability: "fsynced data; the tree needs fsck after a power cut",
        after_power_cut: AfterPowerCut::NeedsCheck,
        version: Some(("mkfs.vfat", "--help")),
        options: MkfsOptions {
            with_value: "bDfFghilmMnrRsS",
            refused: &[
                RefusedOption::new("-C", "makes a file of the host"),
                RefusedOption::new("-l", "reads a list of bad blocks from a file of the host"),
                RefusedOption::new("-m", "copies a file of the host into the boot sector"),
            ],
        },
        ..MADE
    },
    FilesystemDefinition {
        name: "exfat",
        doc: "exFAT: large memory cards.",
        kernel_type: Some("exfat"),
        kernel_config: "CONFIG_EXFAT_FS",
        mkfs: &["mkfs.exfat"],
        comparable: &["-c", "{block}"],
        fsck: &["fsck.exfat", "-n", "{dev}"],
        repair: &["fsck.exfat", "-y", "{dev}"],
        package: "exfatprogs",
        minimum: Bytes::mib(8),
        durability: "fsynced data; the tree needs fsck after a power cut",
        after_power_cut: AfterPowerCut::NeedsCheck,
        version: Some(("mkfs.exfat", "-V")),
        options: harmless("LcbsU"),
        ..MADE
    },
    FilesystemDefinition {
        name: "ufs2",
        doc: "UFS2 of FreeBSD with the driver of Linux: no soft updates, no journal, one lock for all of it. Takes `-b`, `-f`, `-i` and `-m` of `newfs`.",
        kernel_type: Some("ufs"),
        kernel_config: "CONFIG_UFS_FS and CONFIG_UFS_FS_WRITE",
        mkfs: &["newfs", "-O", "2"],
        comparable: &["-f", "{block}"],
        mount: &["ufstype=ufs2"],
        discard_mount: None,
        package: "",
        minimum: Bytes::mib(16),
        durability: "fsynced data; the tree needs a check after a power cut, and Linux has no checker",
        after_power_cut: AfterPowerCut::NeedsCheck,
        own: Some(Own::Ufs2),
        version: None,
        options: harmless("Obfim"),
        ..MADE
    },
    FilesystemDefinition {
        name: "tmpfs",
        doc: "Files in memory, as large as the stack's device, which stays unused, and at most half of the trial's memory; a cold step finds the files in memory.",
        kernel_type: Some("tmpfs"),
        kernel_config: "CONFIG_TMPFS",
        mount: &["mode=755"],
        durability: "nothing: all of it is in memory",
        is_in_memory: true,
        in_reduced_kernel: true,
        ..UNMADE
    },
    remote::NFS,
    FilesystemDefinition {
        name: "raw",
        doc: "The block device itself, without a filesystem.",
        minimum: Bytes(4096),
        durability: "flushed data; there is no tree",
        in_reduced_kernel: true,
        ..UNMADE
    },
];

/// The definition of a filesystem by name.
#[must_use]
pub fn filesystem(name: &str) -> Option<&'static FilesystemDefinition> {
    FILESYSTEMS.iter().find(|definition| definition.name == name)
}

/// The names of the filesystems that fit, as a sentence lists them: "ext3, ext4 or xfs".
pub fn names_of(fits: impl Fn(&FilesystemDefinition) -> bool) -> String {
    let names: Vec<&str> = FILESYSTEMS.iter().filter(|one| fits(one)).map(|one| one.name).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests;
