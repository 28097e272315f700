//! Application bytes beside device bytes: was it the device that was measured?

use seekwell_model::record::DeviceTotals;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::CacheState;

/// Below this share of the application's bytes the cache must have answered. Filesystems that
/// compress or keep small files inside metadata come near 1; a cache leaves far less.
const SERVED_SHARE: f64 = 0.9;
/// Above this factor a step moves far more than was asked: read-ahead, a block size that does not
/// fit, a data journal, copy on write of large extents.
const AMPLIFIED_FACTOR: f64 = 2.0;
/// Differences below this are metadata and alignment of a small step, not a finding.
const NOISE_BYTES: u64 = 1 << 20;

/// A device with less work than this share of the time is idle but for the system's own ticking.
const BUSY_SHARE: f64 = 0.05;

/// The doubt about a measurement on a device that had work of others just before it: its counters
/// over an interval of `interval_ms`, in which nobody measured. `None` when it was idle.
#[must_use]
pub fn busy_before(name: &str, seen: &DeviceTotals, interval_ms: u64) -> Option<Warning> {
    let share = seen.busy_ms as f64 / interval_ms.max(1) as f64;
    let requests = seen.reads + seen.writes;
    (share > BUSY_SHARE && requests > 0).then(|| {
        Warning::new(WarningCode::DeviceBusy, format!(
                "{name} was busy {:.0} % of the time before it was measured: {requests} requests of \
                 others in {interval_ms} ms",
                (share * 100.0).min(100.0)
            )).with_remedy(format!("stop the processes that use it and try again; seekwell watch {name} shows their requests"))
    })
}

/// Bytes that a step moved, by the workload's and the device's account.
#[derive(Clone, Copy, Debug)]
pub struct StepBytes<'a> {
    /// Name of the step, for the texts.
    pub step: &'a str,
    /// Requested state of the page cache when the step started.
    pub cache: CacheState,
    /// Bytes that the application read; `None` when unknown.
    pub app_read: Option<u64>,
    /// Part of them that the step had read or written before: the page cache may answer it.
    pub app_reread: u64,
    /// Bytes that the application wrote; `None` when unknown.
    pub app_written: Option<u64>,
    /// Totals of the data device over the step, durability included; `None` when unknown.
    pub device: Option<DeviceTotals>,
    /// Totals of the external journal's device.
    pub journal: Option<DeviceTotals>,
}

impl StepBytes<'_> {
    /// Bytes that the devices were asked to read, journal device included.
    fn device_read(&self) -> Option<u64> {
        Some(self.device?.read_bytes + self.journal.map_or(0, |journal| journal.read_bytes))
    }

    /// Bytes that the devices were asked to write, journal device included.
    fn device_written(&self) -> Option<u64> {
        Some(self.device?.written_bytes + self.journal.map_or(0, |journal| journal.written_bytes))
    }
}

fn ratio(device: Option<u64>, app: Option<u64>) -> Option<f64> {
    let app = app.filter(|bytes| *bytes > 0)?;
    Some(device? as f64 / app as f64)
}

/// Bytes read from the device per byte read by the application: the metric `read_per_byte`.
/// `None` when either is unknown or the application read nothing.
#[must_use]
pub fn read_per_byte(bytes: &StepBytes<'_>) -> Option<f64> {
    ratio(bytes.device_read(), bytes.app_read)
}

/// Bytes written to the device per byte written by the application, journal device included: the
/// metric `written_per_byte`. `None` when either is unknown or the application wrote nothing.
#[must_use]
pub fn written_per_byte(bytes: &StepBytes<'_>) -> Option<f64> {
    ratio(bytes.device_written(), bytes.app_written)
}

/// The doubts that the two accounts raise about a step: `served-from-cache`, `read-amplified`,
/// `write-absorbed`, `write-amplified`. Unknown bytes raise none.
#[must_use]
pub fn step_warnings(bytes: &StepBytes<'_>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let (Some(app), Some(device)) = (bytes.app_read, bytes.device_read()) {
        warnings.extend(read_warning(bytes, app, device));
    }
    if let (Some(app), Some(device)) = (bytes.app_written, bytes.device_written()) {
        warnings.extend(write_warning(bytes, app, device));
    }
    warnings
}

fn served(app: u64, device: u64) -> bool {
    (device as f64) < app as f64 * SERVED_SHARE
}

fn amplified(app: u64, device: u64) -> bool {
    device as f64 > app as f64 * AMPLIFIED_FACTOR && device - app >= NOISE_BYTES
}

fn read_warning(bytes: &StepBytes<'_>, app: u64, device: u64) -> Option<Warning> {
    let step = bytes.step;
    let amounts = format!("{} read by the workload, {} by the device", mb(app), mb(device));
    if app == 0 {
        return None;
    }
    // A warm step is meant to be answered by the cache.
    let is_cached = served(app.saturating_sub(bytes.app_reread), device);
    if bytes.cache != CacheState::Warm && is_cached {
        let remedy = match bytes.cache {
            CacheState::Cold => {
                "make the data set larger than the memory limit, or read each byte once; \
                 a compressing filesystem also reads less"
            }
            CacheState::Direct | CacheState::Warm => {
                "the filesystem does not honour O_DIRECT here, or the file has holes: \
                 write it in full first, or declare the step warm"
            }
        };
        return Some(
            Warning::new(WarningCode::ServedFromCache, format!("{step}: {amounts}"))
                .with_remedy(remedy),
        );
    }
    amplified(app, device)
        .then(|| Warning::new(WarningCode::ReadAmplified, format!("{step}: {amounts}")))
}

fn write_warning(bytes: &StepBytes<'_>, app: u64, device: u64) -> Option<Warning> {
    let step = bytes.step;
    let amounts = format!("{} written by the workload, {} to the device", mb(app), mb(device));
    if app == 0 {
        return None;
    }
    if served(app, device) {
        return Some(Warning::new(WarningCode::WriteAbsorbed, format!("{step}: {amounts}")));
    }
    amplified(app, device)
        .then(|| Warning::new(WarningCode::WriteAmplified, format!("{step}: {amounts}")))
}

/// Megabytes (10^6 bytes) with three digits that count.
fn mb(bytes: u64) -> String {
    let value = bytes as f64 / 1e6;
    match value {
        _ if value >= 100.0 => format!("{value:.0} MB"),
        _ if value >= 10.0 => format!("{value:.1} MB"),
        _ => format!("{value:.2} MB"),
    }
}

#[cfg(test)]
mod tests;
