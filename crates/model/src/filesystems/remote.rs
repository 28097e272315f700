//! Directories of other machines.

use super::{FilesystemDefinition, UNMADE};

/// Configuration of a kernel that mounts directories of servers.
pub const NFS_CLIENT: &str = "CONFIG_NFS_FS, CONFIG_NFS_V3 and CONFIG_NFS_V4_2";

pub(super) const NFS: FilesystemDefinition = FilesystemDefinition {
    name: "nfs",
    doc: "A directory that an NFS server exports, see `export`; the device stays unused.",
    kernel_type: Some("nfs"),
    kernel_config: NFS_CLIENT,
    durability: "as the server promises",
    is_remote: true,
    // They lead to another server, or share the cache with other mounts of it.
    refused_mount: &[
        "addr", "clientaddr", "fsc", "mountaddr", "mounthost", "mountport", "nfsvers", "port",
        "rsize", "sharecache", "source", "v3", "v4", "v4.0", "v4.1", "v4.2", "vers", "wsize",
    ],
    ..UNMADE
};
