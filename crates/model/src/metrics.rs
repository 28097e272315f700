//! The catalogue of metrics that steps report: one definition each.

use serde::{Deserialize, Serialize};

/// Unit of a metric's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Operations or files per second.
    PerSecond,
    /// Megabytes (10⁶ bytes) per second.
    MegabytesPerSecond,
    /// Bytes.
    Bytes,
    /// A count.
    Count,
    /// Years.
    Years,
    /// A ratio without unit.
    Ratio,
}

impl Unit {
    /// As printed after a number.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Nanoseconds => "ns",
            Self::PerSecond => "/s",
            Self::MegabytesPerSecond => "MB/s",
            Self::Bytes => "B",
            Self::Count => "",
            Self::Years => "years",
            Self::Ratio => "×",
        }
    }
}

/// Direction in which a metric improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Smaller is better: times, latencies.
    Lower,
    /// Larger is better: rates.
    Higher,
}

/// Definition of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MetricDefinition {
    /// Name behind the dot of `STEP.METRIC`.
    pub name: &'static str,
    /// Unit of its value.
    pub unit: Unit,
    /// Direction in which it improves.
    pub better: Better,
    /// Its meaning.
    pub doc: &'static str,
}

macro_rules! metrics {
    ($($name:literal $unit:ident $better:ident $doc:literal)*) => {
        /// Every metric that a step of Seekwell can report. A `command` adds those that its
        /// patterns name.
        pub const METRICS: &[MetricDefinition] = &[$(MetricDefinition {
            name: $name, unit: Unit::$unit, better: Better::$better, doc: $doc,
        }),*];
    };
}

metrics! {
    "elapsed" Seconds Lower "Time until the last call of the step returned. Written data may still be in memory."
    "elapsed_durable" Seconds Lower "Time until the data is on the device: elapsed plus syncfs and a flush of the device."
    "undurable_bytes" Bytes Lower "Bytes that were dirty or under write-back when the last call of the step returned."
    "ops" Count Higher "Operations completed."
    "iops" PerSecond Higher "Operations per second."
    "read_iops" PerSecond Higher "Read operations per second."
    "write_iops" PerSecond Higher "Write operations per second."
    "mb_per_s" MegabytesPerSecond Higher "Application bytes per second of elapsed time, in units of 10^6 bytes."
    "mb_per_s_durable" MegabytesPerSecond Higher "Application bytes per second of elapsed_durable, in units of 10^6 bytes."
    "deliveries_per_s" PerSecond Higher "Mails delivered per second; each is also moved, and others are read and removed meanwhile."
    "deliver_latency_p50" Nanoseconds Lower "Median time of a delivery: from the creation of the mail until it has its name in `new`, its syncs included."
    "deliver_latency_p99" Nanoseconds Lower "99th percentile of the time of a delivery."
    "fetch_latency_p50" Nanoseconds Lower "Median time to open a mail, read it whole and close it."
    "fetch_latency_p99" Nanoseconds Lower "99th percentile of the time to fetch a mail."
    "files_per_s" PerSecond Higher "Files handled per second of elapsed time."
    "latency_mean" Nanoseconds Lower "Mean completion latency (clat) of one operation; of a synced write from its start until its sync has returned."
    "latency_p50" Nanoseconds Lower "Median completion latency."
    "latency_p99" Nanoseconds Lower "99th percentile of the completion latency."
    "latency_p999" Nanoseconds Lower "99.9th percentile of the completion latency."
    "latency_max" Nanoseconds Lower "Largest completion latency."
    "commit_latency_p50" Nanoseconds Lower "Median time from the start of a write until its sync has returned: then it survives a power cut."
    "commit_latency_p99" Nanoseconds Lower "99th percentile of the time from the start of a write until its sync has returned."
    "write_latency_p50" Nanoseconds Lower "Median time of the write call alone, without its sync: usually a copy into the page cache."
    "write_latency_p99" Nanoseconds Lower "99th percentile of the time of the write call alone, without its sync."
    "sync_latency_p50" Nanoseconds Lower "Median time of a sync call; with group_commit including the wait for a sync in progress."
    "sync_latency_p99" Nanoseconds Lower "99th percentile of the time of a sync call."
    "writes_per_sync" Ratio Higher "Mean number of writes that one sync made durable."
    "cpu_ns_per_op" Nanoseconds Lower "CPU time of all threads of the step per operation."
    "cpu" Seconds Lower "CPU time, user and system, of the agent and its children during the step."
    "app_bytes" Bytes Lower "Bytes that the workload read or wrote."
    "device_read_bytes" Bytes Lower "Bytes that the device was asked to read during the step."
    "device_written_bytes" Bytes Lower "Bytes that the device was asked to write during the step, journal device included."
    "written_per_byte" Ratio Lower "Bytes written to the device per byte written by the workload: wear."
    "read_per_byte" Ratio Lower "Bytes read from the device per byte read by the workload; below 1 the cache answered."
    "arm_time" Seconds Lower "Time that the arm of a modelled disk moved and its heads changed until the next step began, journal device included."
    "rotation_time" Seconds Lower "Time that a modelled disk waited for a sector to pass under its head."
    "transfer_time" Seconds Lower "Time that sectors passed under the head of a modelled disk for requests and for its own write-back."
    "erases" Count Lower "Blocks that modelled flash erased until the next step began, journal device included: wear."
    "programmed_bytes" Bytes Lower "Bytes that modelled flash programmed into its cells, its own copies included."
    "programmed_per_byte" Ratio Lower "Bytes programmed per byte that the device was asked to write: write amplification."
    "erases_per_mb" Count Lower "Blocks that modelled flash erased per 10^6 bytes that the workload wrote: wear."
    "time_to_rating" Years Higher "Years of this load until modelled flash reaches its rated erases, on the device that gets there first; with wear leveling as if all blocks wore alike. Missing without an erase or a rating."
    "seek_time" Nanoseconds Lower "Time of one access: elapsed time times threads times depth, divided by operations."
    "thread_mb_per_s_min" MegabytesPerSecond Higher "Application bytes per second of the slowest thread."
    "thread_mb_per_s_max" MegabytesPerSecond Higher "Application bytes per second of the fastest thread."
    "imbalance" Ratio Lower "Fastest thread relative to the slowest one: 1 is fair, large is one thread starving another."
    "chunk_read" Seconds Lower "Mean time of reading the whole chunk with one call."
    "chunk_write" Seconds Lower "Mean time of writing the whole chunk with one call."
    "extents" Count Lower "Extents of the file, as FIEMAP reports them."
    "pointer_blocks" Count Lower "Indirect blocks or nodes of the extent tree of the file (ext2 to ext4)."
    "device_reads_per_op" Ratio Lower "Read requests of the device per operation."
    "device_writes_per_op" Ratio Lower "Write requests of the device per operation."
    "metadata_reads" Count Lower "Read requests of the device that were not for data of the file."
    "cuts" Count Higher "Power cuts of the workload that were looked at (`[trial] power_cut`)."
    "cuts_survived" Count Higher "Power cuts after which the filesystem mounts, has all synced data and is consistent."
    "cuts_lost_synced" Count Lower "Power cuts that lost data for which a sync had returned."
    "cuts_unmountable" Count Lower "Power cuts after which the filesystem cannot be mounted, read or unmounted."
    "cuts_damaged" Count Lower "Power cuts that lost nothing synced, but after which the checker finds damage."
    "cuts_torn" Count Lower "Power cuts that left a file of which a part of the synced bytes is missing."
    "cuts_reordered" Count Lower "Power cuts after which a later change of a file is there and an earlier one is not, neither of them synced."
    "cuts_need_fsck" Count Lower "Power cuts after which the filesystem does not mount, or its checker finds damage."
    "cuts_repaired" Count Lower "Of these: the filesystem's checker repairs it."
    "cuts_database_damaged" Count Lower "Power cuts after which the database's own check finds damage."
    "lost_files_max" Count Lower "Synced files and names that the worst power cut took."
    "lost_bytes_max" Bytes Lower "Synced bytes that the worst power cut took."
    "lost_transactions_max" Count Lower "Committed transactions that the worst power cut took."
    "latency_ratio" Ratio Lower "Mean latency with the background workload, relative to alone."
    "cpu_share" Ratio Lower "CPU time, user and system, of all threads of the step per elapsed time."
    "files" Count Higher "Files that have data."
    "extents_per_file" Ratio Lower "Mean number of extents of a file, as FIEMAP reports them; extents that continue each other are one."
    "extents_p50" Count Lower "Median number of extents of a file."
    "extents_per_file_before" Ratio Lower "Mean number of extents of a file before the step."
    "extent_distance" Bytes Lower "Mean distance on the device from the end of one extent of a file to the start of the next."
    "extent_distance_before" Bytes Lower "Mean distance between the extents of a file before the step."
    "used_share" Ratio Lower "Share of the filesystem that is in use."
    "free_extents" Count Lower "Free extents (reported by ext4 and xfs only)."
    "free_extents_before" Count Lower "Free extents before the step."
    "free_largest" Bytes Higher "Largest free extent."
    "free_under_64k" Bytes Lower "Free bytes in extents below 64 KiB."
    "free_under_1m" Bytes Lower "Free bytes in extents from 64 KiB to below 1 MiB."
    "free_under_16m" Bytes Higher "Free bytes in extents from 1 MiB to below 16 MiB."
    "free_from_16m" Bytes Higher "Free bytes in extents of 16 MiB or more."
    "updates_per_s" PerSecond Higher "Round-robin files updated per second, before they are durable; mean over the polls."
    "poll_elapsed" Seconds Lower "Mean time of a poll from its first update until the last update returned."
    "poll_durable" Seconds Lower "Mean time of a poll from its first update until all are durable."
    "poll_durable_max" Seconds Lower "Longest time of a poll from its first update until all are durable."
    "fsync_p50" Nanoseconds Lower "Median latency of the other tenant's small fsyncs during the polls, from when they were due."
    "fsync_p99" Nanoseconds Lower "99th percentile of the latency of the other tenant's small fsyncs during the polls."
    "fsync_max" Nanoseconds Lower "Largest latency of the other tenant's small fsyncs during the polls."
    "fsync_alone_p99" Nanoseconds Lower "99th percentile of the latency of the other tenant's small fsyncs before the first poll."
    "transactions_per_s" PerSecond Higher "Transactions, or operations of a key-value store, per second, as the database's own benchmark counts them."
    "time_in_calls" Seconds Lower "Time that all threads of a replay together spent inside of calls."
    "fidelity" Ratio Higher "Share of the recorded calls on files that a replay issued and that had the recorded result."
    "calls_differing" Count Lower "Calls of a replay with another result than recorded: another number of bytes, another error."
    "calls_left_out" Count Lower "Recorded calls on files that a replay did not issue for lack of arguments, such as asynchronous I/O."
    "files_unknown" Count Lower "Files that a replayed load removes or cuts and whose size the trace does not tell; the rebuilt ones may be smaller."
    "concurrency" Ratio Higher "Mean number of calls or block requests that a replay had in progress at the same time."
    "concurrency_recorded" Ratio Higher "Mean number of calls or block requests that the recorded program had in progress at the same time."
    "device_read_recorded" Bytes Lower "`device_read_bytes` of the recording, where the trace has block requests: of all devices with files of the load."
    "device_written_recorded" Bytes Lower "`device_written_bytes` of the recording."
    "lateness_p50" Nanoseconds Lower "Median of the time from the moment a block request of a replay was due until it was issued."
    "lateness_p99" Nanoseconds Lower "99th percentile of the time from when a replayed call or block request was due until it was issued. A call is due when those that it waits for are over and its recorded pause has passed. None with `speed = \"asap\"`."
    "drift" Ratio Lower "Time from the first to the last issue of replayed block requests per recorded time, the factor `scale` taken out: 1 is as recorded."
    "requests_failed" Count Lower "Replayed block requests that the device failed."
    "requests_left_out" Count Lower "Recorded block requests that were not issued, since the trace does not tell their purpose or the recording lost them."
    "checked_bytes" Bytes Higher "Bytes that were written and then compared with what the device returned."
    "wrong_bytes" Bytes Lower "Checked bytes whose content differed, in pieces of 4 KiB: they are lost."
    "exit_status" Count Lower "Exit status of the command."
}

/// The definition of a metric by name.
#[must_use]
pub fn metric(name: &str) -> Option<&'static MetricDefinition> {
    METRICS.iter().find(|definition| definition.name == name)
}
