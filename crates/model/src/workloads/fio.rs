//! `fio`: a job file of fio, run by the installed fio inside the target.
//!
//! A job file can run programs, write anywhere and change the machine. What passes here is a list
//! of options that can do none of it; everything else is refused by name, and what fio gets is
//! written again from what passed.

use super::{CacheState, FieldConflict, Program, StepOutline, WorkloadKind, WorkloadParams};
use crate::field::{Values, field};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// Parameters of `fio`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FioParams {
    /// The jobs in order, globals resolved.
    pub jobs: Vec<FioJob>,
    /// State of the page cache when each step starts.
    pub cache: CacheState,
    /// fio is ended after this time and the trial is marked failed.
    pub timeout: Option<Nanos>,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FioJob {
    /// Its name.
    pub name: String,
    /// Its options in order, those of `[global]` first; `None` is an option without a value.
    pub options: Vec<(String, Option<String>)>,
    /// Jobs with the same number run at the same time.
    pub group: usize,
}

/// Longest job file.
pub const LONGEST_JOB_FILE: usize = 64 * 1024;

/// Most jobs of a job file.
const MOST_JOBS: usize = 100;

/// Longest name of a job: it becomes the name of a step.
const LONGEST_NAME: usize = 40;

/// Options of fio that neither run a program nor write outside of the job's own files.
/// Source: HOWTO of fio 3.33.
const OPTIONS: &[&str] = &[
    "allrandrepeat", "blockalign", "ba", "blocksize", "bs", "blocksize_range", "bsrange",
    "blocksize_unaligned", "bs_unaligned", "bs_is_seq_rand", "bssplit", "buffer_compress_chunk",
    "buffer_compress_percentage", "buffered", "clocksource", "continue_on_error", "cpus_allowed",
    "cpus_allowed_policy", "create_fsync", "create_on_open", "create_serialize",
    "dedupe_percentage", "direct", "disable_bw_measurement", "do_verify", "end_fsync", "exitall",
    "fadvise_hint", "fallocate", "fdatasync", "file_append", "file_service_type", "filename",
    "filesize", "fixedbufs", "fsync", "fsync_on_close", "gtod_reduce", "hipri", "invalidate",
    "io_limit", "io_size", "io_submit_mode", "iodepth", "iodepth_batch", "iodepth_batch_complete",
    "iodepth_batch_complete_max", "iodepth_batch_complete_min", "iodepth_batch_submit",
    "iodepth_low", "ioengine", "iomem_align", "mem_align", "latency_percentile", "latency_target",
    "latency_window", "loops", "max_latency", "norandommap", "nowait", "nrfiles", "number_ios",
    "numjobs", "offset", "offset_align", "offset_increment", "openfiles", "overwrite",
    "percentage_random", "pre_read", "prio", "prioclass", "ramp_time", "random_distribution",
    "random_generator", "randrepeat", "randseed", "rate", "rate_cycle", "rate_iops",
    "rate_iops_min", "rate_min", "rate_process", "readwrite", "rw", "refill_buffers",
    "registerfiles", "runtime", "rw_sequencer", "rwmixread", "rwmixwrite", "scramble_buffers",
    "size", "softrandommap", "startdelay", "stonewall", "sync", "sync_file_range", "thinktime",
    "thinktime_blocks", "thinktime_spin", "thread", "time_based", "timeout", "unlink", "verify",
    "verify_backlog", "verify_fatal", "verify_interval", "wait_for_previous", "write_barrier",
    "zero_buffers",
];

/// Options that nothing of here needs to know, and that would change what is reported.
const IGNORED: &[&str] = &["group_reporting", "new_group", "description", "name"];

/// Engines of fio that are built in and work on files alone.
const ENGINES: &[&str] = &[
    "sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap",
    "splice", "null", "falloc", "ftruncate", "filecreate", "filestat", "filedelete",
];

/// A job file of fio.
pub const FIO: WorkloadKind = WorkloadKind {
    name: "fio",
    doc: "A job file of fio, run by the installed fio. Jobs that run at the same time are one step, named after the first. Options that run programs, name files elsewhere or change the machine are refused.",
    fields: &[
        field!("job": Text, required,
            "Text of the job file, between three quotation marks; `bench` also takes `--job-file`. fio creates its files in the target: leave out `directory`, and give `filename` as a plain name."),
        field!("cache": Choice(&["cold", "warm"]), default "\"cold\"",
            "`cold`: remounted and caches dropped before each step. `warm`: as the step before left it."),
        field!("timeout": Duration, "Ends fio after this time and marks the trial failed."),
    ],
    on_raw: true,
    programs: &[Program { name: "fio", package: "fio" }],
    build,
};

fn conflict(problem: String, remedy: &str) -> FieldConflict {
    FieldConflict { field: "job", problem, remedy: remedy.to_owned() }
}

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let text = values.text("job").unwrap_or_default();
    Ok(WorkloadParams::Fio(FioParams {
        jobs: parse(text)?,
        cache: CacheState::of(values),
        timeout: values.duration("timeout"),
    }))
}

/// Reads a job file: each job with the options of the `[global]` sections before it.
///
/// # Errors
/// When it is no job file, or holds anything that is not on the list of harmless options.
pub fn parse(text: &str) -> Result<Vec<FioJob>, FieldConflict> {
    // Editors of other systems write it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > LONGEST_JOB_FILE {
        return Err(conflict(
            format!("a job file of {} bytes", text.len()),
            "keep it below 64 KiB",
        ));
    }
    let mut globals: Vec<(String, Option<String>)> = Vec::new();
    let mut jobs: Vec<FioJob> = Vec::new();
    // `None`: before the first section; `Some(true)`: in a global one.
    let mut in_global: Option<bool> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let at = |reason: String| format!("line {} of the job file {reason}", index + 1);
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            in_global = Some(name == "global");
            if name != "global" {
                check_name(name, &jobs).map_err(|(reason, mend)| conflict(at(reason), mend))?;
                jobs.push(FioJob { name: name.to_owned(), options: globals.clone(), group: 0 });
            }
            continue;
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (line, None),
        };
        check_option(key, value).map_err(|(reason, mend)| conflict(at(reason), mend))?;
        if IGNORED.contains(&key) {
            continue;
        }
        let option = (key.to_owned(), value.map(str::to_owned));
        match (in_global, jobs.last_mut()) {
            (Some(true), _) => globals.push(option),
            (Some(false), Some(job)) => job.options.push(option),
            _ => {
                let reason = at("comes before the first [section]".to_owned());
                return Err(conflict(reason, "begin with [global] or with the name of a job"));
            }
        }
    }
    if jobs.is_empty() {
        return Err(conflict("a job file without a job".to_owned(), "add [name] and below it rw="));
    }
    number_groups(&mut jobs);
    Ok(jobs)
}

/// Problem of a line, and the text to write instead.
type Wrong = (String, &'static str);

fn check_name(name: &str, jobs: &[FioJob]) -> Result<(), Wrong> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        let shown: String = name.chars().take(LONGEST_NAME).collect();
        return Err((
            format!("names a job '{shown}'"),
            "name it with letters, digits, - and _, at most 40",
        ));
    }
    if jobs.iter().any(|job| job.name == name) {
        return Err((format!("names a second job '{name}'"), "give each job a name of its own"));
    }
    if jobs.len() >= MOST_JOBS {
        return Err((format!("is job number {}", MOST_JOBS + 1), "have at most 100"));
    }
    Ok(())
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && !name.starts_with('.')
}

fn check_option(key: &str, value: Option<&str>) -> Result<(), Wrong> {
    let shown: String = key.chars().take(LONGEST_NAME).collect();
    if key.starts_with("include") {
        return Err((
            format!("includes another file ('{shown}')"),
            "put what that file says into this one",
        ));
    }
    if !OPTIONS.contains(&key) && !IGNORED.contains(&key) {
        let mend = match key {
            "directory" | "filename_format" | "opendir" => {
                "leave it out: files are made in the target"
            }
            _ => "leave it out: it may run a program, write elsewhere or change the machine",
        };
        return Err((format!("has the option '{shown}', which is not allowed"), mend));
    }
    let value = value.unwrap_or_default();
    let harmless = |c: char| c.is_ascii_alphanumeric() || "_.,:%/+- ".contains(c);
    if let Some(bad) = value.chars().find(|c| !harmless(*c)) {
        return Err((
            format!("has the character {bad:?} in the value of {shown}"),
            "write the value itself: variables, quotes and expressions are not allowed",
        ));
    }
    match key {
        "ioengine" if !ENGINES.contains(&value) => Err((
            format!("names the engine '{value}'"),
            "use one that is built into fio and works on files, for example psync or io_uring",
        )),
        // A colon separates the names of several files.
        "filename" if !value.split(':').all(is_plain_name) => Err((
            format!("names the file '{value}'"),
            "give plain names without / that do not begin with a dot; fio creates them in the target",
        )),
        _ => Ok(()),
    }
}

fn number_groups(jobs: &mut [FioJob]) {
    let mut group = 0;
    for (index, job) in jobs.iter_mut().enumerate() {
        let waits = job.options.iter().any(|(key, value)| {
            matches!(key.as_str(), "stonewall" | "wait_for_previous")
                && value.as_deref() != Some("0")
        });
        if waits && index > 0 {
            group += 1;
        }
        job.group = group;
    }
}

impl FioJob {
    /// The last value of an option, as fio takes it.
    #[must_use]
    pub fn option(&self, names: &[&str]) -> Option<&str> {
        let given = |(key, _): &&(String, Option<String>)| names.contains(&key.as_str());
        self.options.iter().rev().find(given).and_then(|(_, value)| value.as_deref())
    }

    /// Returns true if it writes, or if that cannot be determined.
    #[must_use]
    pub fn writes(&self) -> bool {
        let reads = ["read", "randread"];
        let engine = self.option(&["ioengine"]).unwrap_or("psync");
        let reading = match self.option(&["rw", "readwrite"]) {
            None => true,
            Some(pattern) => reads.contains(&pattern.split(':').next().unwrap_or_default()),
        };
        !reading || engine.starts_with('f')
    }
}

impl FioParams {
    /// The jobs that run at the same time, group by group.
    #[must_use]
    pub fn groups(&self) -> Vec<Vec<&FioJob>> {
        let mut groups: Vec<Vec<&FioJob>> = Vec::new();
        for job in &self.jobs {
            match groups.last_mut() {
                Some(group) if group.first().is_some_and(|first| first.group == job.group) => {
                    group.push(job);
                }
                _ => groups.push(vec![job]),
            }
        }
        groups
    }

    /// One step for each group, named after its first job.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let metrics = [
            "ops", "iops", "read_iops", "write_iops", "mb_per_s", "app_bytes", "latency_mean",
            "latency_p50", "latency_p99", "latency_p999", "latency_max", "cpu_ns_per_op",
        ];
        // All write: fio lays out the file of a reading job, too.
        let outline = |group: Vec<&FioJob>| {
            let name = group.first().map(|job| job.name.clone()).unwrap_or_default();
            StepOutline { cache: self.cache, ..StepOutline::new(name, &metrics) }
        };
        self.groups().into_iter().map(outline).collect()
    }
}

#[cfg(test)]
mod tests;
