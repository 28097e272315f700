//! A watched device as a run file of one trial, so that every report shows it.

use super::seen::Seen;
use crate::failure::Failure;
use crate::terminal;
use seekwell_model::plan::{BackendFacts, Plan};
use seekwell_model::record::{
    BlockEvents, DeviceInForce, InForce, Record, Sample, Status, StepRecord,
};
use seekwell_model::stack::Backing;
use seekwell_model::units::Bytes;
use seekwell_observe::watched::Watched;
use seekwell_runner::order::{self, Expanded};
use seekwell_runner::{judge, records};
use seekwell_session::Machine;
use seekwell_store::RunFile;
use std::collections::BTreeMap;
use std::path::Path;

const STEP: &str = "watch";

/// A run file that waits for what was seen.
pub struct Recorder {
    file: RunFile,
    plan: Plan,
}

impl Recorder {
    /// Makes the file before watching begins, so that nothing is watched for nothing.
    pub fn create(
        machine: &Machine,
        path: &Path,
        device: &Path,
        watched: &Watched,
    ) -> Result<Self, Failure> {
        let plan = plan(device, watched)?;
        let mut environment = seekwell_session::host_environment(&machine.system);
        environment["place"] = "watch".into();
        Ok(Self { file: RunFile::create(path, &plan, &environment)?, plan })
    }

    /// Keeps what was seen.
    pub fn finish(mut self, seen: Seen, lost: u64, elapsed_ns: u64) -> Result<(), Failure> {
        let record = record(seen, lost, elapsed_ns);
        let Some(trial) = self.plan.trials.first().copied() else { return Ok(()) };
        self.file.append(&trial, &record)?;
        let outcomes = records::outcomes(&self.plan, [(trial, record)]);
        let mut verdict = judge::judge(&self.plan, &outcomes);
        "a device was watched; nothing was compared".clone_into(&mut verdict.reason);
        self.file.set_verdict(&verdict)?;
        let path = self.file.path().display();
        terminal::talk(&format!("recorded; look at it with: seekwell report {path} --html FILE"));
        Ok(())
    }
}

/// The plan of one trial on the device as it is: no filesystem, no setting changed.
fn plan(device: &Path, watched: &Watched) -> Result<Plan, Failure> {
    let name = &watched.kernel_name;
    let lab = format!(
        "[lab]\nname = \"watch\"\nquestion = \"what does {name} do?\"\n\
         [[device]]\nname = \"{name}\"\nram = \"1MiB\"\n[[filesystem]]\ntype = \"raw\"\n\
         [scheduler]\nchoose = [\"none\"]\n[[workload]]\nkind = \"command\"\nname = \"watch\"\n\
         step = \"{STEP}\"\nrun = \"seekwell watch {name}\"\n\
         [judge]\nmetric = \"{STEP}.elapsed\"\nrounds = 6\n"
    );
    let defect = |text: String| Failure::Error(format!("cannot describe {name}: {text}"));
    let mut file = seekwell_spec::read_lab_bytes(lab.as_bytes(), "watch.toml")
        .map_err(|error| defect(error.to_string()))?;
    for one in &mut file.lab.devices {
        one.backing = Backing::Disk { path: device.to_owned() };
    }
    let facts = BackendFacts::default();
    let expansion =
        seekwell_spec::expand(&file, &facts).map_err(|error| defect(error.to_string()))?;
    let expanded = Expanded {
        stacks: expansion.stacks,
        candidates: expansion.candidates,
        left_out: vec![],
        warnings: vec![],
    };
    let mut plan = order::plan(&file.lab, expanded, &facts)?;
    plan.trials.truncate(1);
    Ok(plan)
}

fn record(seen: Seen, lost: u64, elapsed_ns: u64) -> Record {
    let with_events = seen.note.is_none();
    let step = StepRecord {
        name: STEP.to_owned(),
        started_ns: 0,
        ended_ns: elapsed_ns,
        metrics: metrics(&seen, elapsed_ns),
        histograms: seen
            .latencies
            .iter()
            .map(|(operation, histogram)| ((*operation).to_owned(), histogram.to_bytes()))
            .collect(),
        ..StepRecord::default()
    };
    let device = DeviceInForce {
        kernel_name: seen.watched.kernel_name.clone(),
        size: Bytes(seen.watched.size_bytes),
        model: seen.watched.model.clone(),
        firmware: seen.watched.firmware.clone(),
        ..DeviceInForce::default()
    };
    let lost = lost + seen.over_limit;
    let events = seen.events.filter(|_| with_events).map(|mut events| {
        events.sort_by_key(|event| event.at_ns);
        BlockEvents { events, lost }
    });
    Record {
        status: Status::Ok,
        in_force: InForce { device, ..InForce::default() }.into(),
        steps: vec![step],
        timeline: seen.samples,
        block_events: events,
        elapsed_ns,
        ..Record::blank()
    }
}

/// Means over all intervals, weighted by their length.
fn metrics(seen: &Seen, elapsed_ns: u64) -> BTreeMap<String, f64> {
    let seconds = elapsed_ns as f64 / 1e9;
    let mut metrics = BTreeMap::from([("elapsed".to_owned(), seconds)]);
    let mut before = 0;
    let (mut reads, mut writes, mut read_bytes, mut written_bytes) = (0.0, 0.0, 0.0, 0.0);
    for Sample { at_ns, reads_per_s, writes_per_s, read_kib_per_s, written_kib_per_s, .. } in
        &seen.samples
    {
        let length = at_ns.saturating_sub(before) as f64 / 1e9;
        before = *at_ns;
        reads += reads_per_s * length;
        writes += writes_per_s * length;
        read_bytes += read_kib_per_s * length * 1024.0;
        written_bytes += written_kib_per_s * length * 1024.0;
    }
    let watched_s = before as f64 / 1e9;
    if watched_s > 0.0 {
        metrics.insert("read_iops".to_owned(), reads / watched_s);
        metrics.insert("write_iops".to_owned(), writes / watched_s);
        metrics.insert("iops".to_owned(), (reads + writes) / watched_s);
        metrics.insert("device_read_bytes".to_owned(), read_bytes);
        metrics.insert("device_written_bytes".to_owned(), written_bytes);
    }
    metrics
}
