//! fio's own account of its jobs: JSON with every bin of its histograms (`json+`).

use crate::outcome::StepOutcome;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::StepOutline;
use seekwell_stats::Histogram;
use serde_json::Value;

/// The directions of a job that have something to tell.
const DIRECTIONS: [&str; 2] = ["read", "write"];

/// The outcome of a step from what fio wrote; an error says what is wrong with it.
pub fn outcome(text: &str, outline: &StepOutline) -> Result<StepOutcome, String> {
    // fio may print notes before its JSON.
    let begin = text.find("{\n").ok_or("wrote no JSON")?;
    let json: Value =
        serde_json::from_str(&text[begin..]).map_err(|error| format!("wrote bad JSON: {error}"))?;
    let jobs = json["jobs"].as_array().filter(|jobs| !jobs.is_empty()).ok_or("ran no job")?;
    let mut outcome = StepOutcome::default();
    let mut rates = [0.0; 2];
    let mut bandwidth = 0.0;
    for job in jobs {
        if let Some(errno) = job["error"].as_i64().filter(|errno| *errno != 0) {
            let name = job["jobname"].as_str().unwrap_or_default();
            let error = std::io::Error::from_raw_os_error(i32::try_from(errno).unwrap_or(0));
            return Err(format!("job {name} failed: {error}"));
        }
        let runtime_ns = number(job, "job_runtime")? * 1e6;
        outcome.elapsed_ns = outcome.elapsed_ns.max(runtime_ns as u64);
        let share = (number(job, "usr_cpu")? + number(job, "sys_cpu")?) / 100.0;
        outcome.cpu_ns += (share * runtime_ns) as u64;
        for (index, direction) in DIRECTIONS.iter().enumerate() {
            let part = &job[*direction];
            let bytes = number(part, "io_bytes")? as u64;
            outcome.ops += number(part, "total_ios")? as u64;
            match *direction {
                "read" => outcome.app_bytes_read += bytes,
                _ => outcome.app_bytes_written += bytes,
            }
            rates[index] += number(part, "iops")?;
            bandwidth += number(part, "bw_bytes")?;
            let bins = histogram(&part["clat_ns"]["bins"]);
            outcome.histograms.entry((*direction).to_owned()).or_default().merge(&bins);
            if jobs.len() > 1 && !bins.is_empty() {
                let name = job["jobname"].as_str().unwrap_or_default();
                let kind = format!("{name}.{direction}");
                outcome.histograms.entry(kind).or_default().merge(&bins);
            }
        }
    }
    outcome.histograms.retain(|_, histogram| !histogram.is_empty());
    outcome.compute(&outline.metrics);
    // fio's own rates: each over the job's own time.
    for (name, value) in [
        ("iops", rates[0] + rates[1]),
        ("read_iops", rates[0]),
        ("write_iops", rates[1]),
        ("mb_per_s", bandwidth / 1e6),
    ] {
        // fio counts milliseconds: a job of less has no rate.
        if outcome.ops > 0 && outcome.elapsed_ns > 0 {
            outcome.metrics.insert(name.to_owned(), value);
        }
    }
    Ok(outcome)
}

/// A number of a job or of one of its directions.
fn number(of: &Value, name: &str) -> Result<f64, String> {
    of[name].as_f64().ok_or_else(|| format!("wrote JSON without {name}"))
}

/// Notes that are kept: fio repeats one for each process of a job.
const MOST_NOTES: usize = 4;

/// Longest note, in characters.
const NOTE_CHARS: usize = 200;

/// Doubts that fio itself states about its jobs, besides its JSON; each once.
pub fn notes(said: &str) -> Vec<Warning> {
    let mut notes: Vec<&str> = Vec::new();
    for line in said.lines().map(str::trim) {
        let is_note = line.starts_with("fio: ") || line.starts_with("note: ");
        if is_note && !notes.contains(&line) {
            notes.push(line);
        }
    }
    let text = |note: &str| {
        let note = note.trim_start_matches("fio: ").trim_start_matches("note: ");
        format!("fio says: {}", note.chars().take(NOTE_CHARS).collect::<String>())
    };
    let notes = notes.into_iter().take(MOST_NOTES);
    notes.map(|note| Warning::new(WarningCode::ProgramNote, text(note))).collect()
}

/// Bins as fio has them: latency in ns, and how many.
fn histogram(bins: &Value) -> Histogram {
    let mut found = Histogram::new();
    for (latency, count) in bins.as_object().into_iter().flatten() {
        if let (Ok(latency), Some(count)) = (latency.parse(), count.as_u64()) {
            found.record_n(latency, count);
        }
    }
    found
}
