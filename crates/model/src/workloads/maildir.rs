//! `maildir`: a mail server's store while mails arrive, are read and removed.

use super::mail::LARGEST_FILE;
use super::pgbench::database_steps;
use super::{
    CacheState, FieldConflict, OperationCost, StepOutline, WorkloadKind, WorkloadParams, conflict,
};
use crate::field::{Values, field};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Parameters of `maildir`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaildirParams {
    /// Name of the measured step.
    pub step: String,
    /// Mailboxes, each with its own `tmp`, `new` and `cur`.
    pub mailboxes: u64,
    /// Mails that the store has before, in all mailboxes.
    pub mails: u64,
    /// Median size of a mail.
    pub median_size: Bytes,
    /// Standard deviation of the natural logarithm of the size.
    pub spread: f64,
    /// Sessions that work at the same time.
    pub threads: u32,
    /// Mails that are read for each one that is delivered.
    pub reads: u64,
    /// Durability of a delivery.
    pub sync: DeliverySync,
    /// State of the page cache when the measured step starts.
    pub cache: CacheState,
    /// Deliveries, of all sessions together; `None` when only time bounds them.
    pub count: Option<u64>,
    /// Time bound; `None` when only the count does.
    pub time: Option<Nanos>,
}

/// Calls that make a delivery durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeliverySync {
    /// `fsync` of the mail before it gets its name in `new`.
    File,
    /// The same, and `fsync` of `new` after it.
    Directory,
    /// No call: a power cut may lose mails that were accepted.
    None,
}

/// Metrics of the measured step.
const METRICS: &[&str] = &[
    "deliveries_per_s", "deliver_latency_p50", "deliver_latency_p99", "fetch_latency_p50",
    "fetch_latency_p99", "ops", "iops", "app_bytes",
];

/// A mail server's store in use.
pub const MAILDIR: WorkloadKind = WorkloadKind {
    name: "maildir",
    doc: "A Maildir store in use: each session delivers a mail (create in `tmp`, write, fsync, rename to `new`), lists `new`, moves the mail to `cur`, reads mails at random, and removes the mailbox's oldest.",
    fields: &[
        field!("step": Text, default "\"delivery\"", "Name of the measured step."),
        field!("mailboxes": integer(1, 1_000_000), default "100",
            "Mailboxes; each session has its own, so at least one for each of `threads`."),
        field!("mails": integer(0, 100_000_000), default "2_000",
            "Mails in the store before, spread evenly over the mailboxes."),
        field!("median_size": size(Bytes(1), LARGEST_FILE), default "\"4KiB\"",
            "Median size of a mail."),
        field!("spread": number(0.0, 4.0), default "1.2",
            "Standard deviation of the natural logarithm of the size; 0 makes all mails equal. Sizes are cut at 16 MiB."),
        field!("threads": integer(1, 256), default "4", "Sessions that work at the same time."),
        field!("reads": integer(0, 1_000), default "2",
            "Mails that are read, each whole, for each one that is delivered."),
        field!("sync": Choice(&["file", "directory", "none"]), default "\"file\"",
            "`file`: fsync of the mail before its rename to `new`, as Postfix and Dovecot do. `directory`: and of `new` after it. `none`: a power cut may lose accepted mails."),
        field!("cache": Choice(&["cold", "warm"]), default "\"cold\"",
            "`cold`: remounted and caches dropped before the measured step. `warm`: as it is."),
        field!("count": integer(1, 1_000_000_000),
            "Mails to deliver, by all sessions together. Without `count` and `time` the step runs 5 s."),
        field!("time": Duration,
            "Ends the step after this time, or at `count`, whichever comes first."),
    ],
    on_raw: false,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let (mailboxes, threads) = (values.count("mailboxes"), values.count("threads"));
    if mailboxes < threads {
        let problem = format!("{threads} sessions cannot share {mailboxes} mailboxes");
        return conflict("mailboxes", problem, "write at least one mailbox for each of threads");
    }
    let count = values.integer("count");
    let unbound = count.is_none().then_some(Nanos::seconds(5));
    Ok(WorkloadParams::Maildir(MaildirParams {
        step: values.text("step").unwrap_or("delivery").to_owned(),
        mailboxes,
        mails: values.count("mails"),
        median_size: values.bytes("median_size"),
        spread: values.decimal("spread"),
        threads: u32::try_from(threads).unwrap_or(u32::MAX),
        reads: values.count("reads"),
        sync: values.choice("sync").unwrap_or(DeliverySync::File),
        cache: CacheState::of(values),
        count,
        time: values.duration("time").or(unbound),
    }))
}

impl MaildirParams {
    /// Mean size of a mail: an estimate that ignores the cut tail.
    fn mean_bytes(&self) -> f64 {
        self.median_size.0 as f64 * (self.spread * self.spread / 2.0).exp()
    }

    /// Bytes of the store, whose number of mails does not change.
    #[must_use]
    pub fn predicted_bytes(&self) -> Bytes {
        let most = self.mails.saturating_add(self.threads.into());
        Bytes((self.mean_bytes() * most as f64) as u64)
    }

    /// The store is filled; then it is used.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let calls = self.reads.saturating_add(3);
        let measured = StepOutline {
            cache: self.cache,
            operations: self.count.map(|count| count.saturating_mul(calls)),
            operation: match self.sync {
                DeliverySync::None => OperationCost::File,
                DeliverySync::File | DeliverySync::Directory => OperationCost::Sync,
            },
            time_ns: self.time.map(|time| time.0),
            ..StepOutline::new(&self.step, METRICS)
        };
        let filled = Bytes((self.mean_bytes() * self.mails as f64) as u64);
        database_steps(&self.step, filled, measured)
    }
}
