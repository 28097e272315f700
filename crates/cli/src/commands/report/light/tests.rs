use super::super::{view, view_as_page, view_as_text};
use super::*;
use seekwell_model::record::{BlockEvents, SmartReading, StepRecord};
use seekwell_report::{Inside, PageTrials, RunView};
use seekwell_store::{RunFile, Wanted};
use std::path::{Path, PathBuf};

/// A record of which all may be taken, and metrics in the judged step.
fn with_pressure(percents: &[Option<f64>]) -> Record {
    let sample = |(at, percent): (u64, &Option<f64>)| Sample {
        at_ns: at * 10,
        cpu_pressure_percent: *percent,
        ..Sample::default()
    };
    let timeline: Vec<Sample> = (1..).zip(percents).map(sample).collect();
    let histograms = BTreeMap::from([("read".to_owned(), vec![1, 2])]);
    let step = |name: &str, started_ns, ended_ns, metric: &str| StepRecord {
        name: name.to_owned(),
        started_ns,
        ended_ns,
        metrics: BTreeMap::from([(metric.to_owned(), 1.0), ("other".to_owned(), 2.0)]),
        histograms: histograms.clone(),
        ..StepRecord::default()
    };
    Record {
        steps: vec![step("mkfs", 0, 10, "elapsed"), step("seek", 15, 30, "iops")],
        journal_timeline: timeline.clone(),
        timeline,
        block_events: Some(BlockEvents::default()),
        smart: Some(SmartReading { before: None, after: None }),
        ..Record::blank()
    }
}

fn judged(is_model: bool) -> Light {
    let metrics = ["mkfs.elapsed", "none.iops", "seek.iops"].map(Arc::from).to_vec();
    Light { judged: Some(Judged { step: "seek".to_owned(), metrics, is_model }) }
}

#[test]
fn a_text_needs_the_shown_metrics_and_the_mean_pressure_alone() {
    let mut record = with_pressure(&[Some(10.0), None, Some(50.0), Some(4.0)]);
    judged(false).lighten(&mut record);
    let step = |name: &str, started_ns, ended_ns, metrics| StepRecord {
        name: name.to_owned(),
        started_ns,
        ended_ns,
        metrics,
        ..StepRecord::default()
    };
    let iops = BTreeMap::from([("iops".to_owned(), 1.0)]);
    let steps = vec![step("mkfs", 0, 10, BTreeMap::new()), step("seek", 15, 30, iops)];
    let percent = |sample: &Sample| sample.cpu_pressure_percent.unwrap();
    // All: 64 / 3. The judged step, from 15 to 30: the sample at 30.
    let sum: f64 = record.timeline.iter().map(percent).sum();
    assert!((sum / 2.0 - 64.0 / 3.0).abs() < 1e-12, "{sum}");
    assert_eq!(steps[1].samples(&record.timeline).iter().map(percent).collect::<Vec<_>>(), [50.0]);
    let timeline = record.timeline.clone();
    let apart = vec![("mkfs.elapsed".into(), 1.0)];
    let expected = Record { steps: steps.clone(), timeline, apart, ..Record::blank() };
    assert_eq!(record, expected);
    for (path, value) in
        [("mkfs.elapsed", Some(1.0)), ("seek.iops", Some(1.0)), ("mkfs.other", None)]
    {
        assert_eq!(record.metric(path), value, "{path}");
    }
    let mut modelled = with_pressure(&[None, None]);
    judged(true).lighten(&mut modelled);
    let expected = Record { steps: steps[1..].to_vec(), apart: expected.apart, ..Record::blank() };
    assert_eq!(modelled, expected);
}

#[test]
fn a_run_without_a_verdict_keeps_metrics_and_timeline() {
    let whole = with_pressure(&[Some(10.0), None, Some(50.0)]);
    let mut record = whole.clone();
    Light::with_metrics().lighten(&mut record);
    assert_eq!(record.timeline, whole.timeline);
    assert_eq!(record.steps[0].metrics, whole.steps[0].metrics);
    assert_eq!(record.smart, whole.smart);
    assert_eq!(record.journal_timeline, []);
}

/// Run files below `benches/runs`.
fn kept_runs(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            kept_runs(&path, found);
        } else if path.extension().is_some_and(|end| end == "seekwell") {
            found.push(path);
        }
    }
}

#[test]
fn the_texts_of_kept_runs_are_those_of_all_their_data() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../benches/runs");
    let mut runs = Vec::new();
    kept_runs(&root, &mut runs);
    runs.sort();
    // Every fourth: runs of one lab are next to each other.
    let (mut compared, mut judged) = (0, 0);
    for run in runs.iter().filter(|run| run.metadata().unwrap().len() < 300_000).step_by(4) {
        let file = RunFile::open(run).unwrap();
        let (whole, text) = (view(&file).unwrap(), view_as_text(&file).unwrap());
        assert_eq!(show(&text), show(&whole), "{}", run.display());
        let markdown = seekwell_report::markdown;
        assert_eq!(markdown(&text), markdown(&whole), "{}", run.display());
        let (page, trials) = view_as_page(&file, Some(&Light::of)).unwrap();
        let expected = html(&whole, &PageTrials::of(&whole));
        assert!(html(&page, &trials) == expected, "the page of {} differs", run.display());
        compared += 1;
        judged += u32::from(whole.is_over);
    }
    assert!(compared >= 10 && judged >= 5, "{compared} compared, {judged} of them judged");
}

fn html(view: &RunView, trials: &PageTrials) -> String {
    seekwell_report::HtmlPage::of(view, trials, "run.seekwell", Inside::Nothing).text(&[])
}

fn show(view: &RunView) -> String {
    seekwell_report::terminal(view, 200, false)
}

#[path = "../../../../tests/page/made.rs"]
mod made;

/// A copy of a run whose judged step is slower under pressure on the CPUs.
fn with_slow_pressure(made: &Path) -> PathBuf {
    let path = made.with_file_name("slow.seekwell");
    let made = RunFile::open(made).unwrap();
    let environment = made.environment().unwrap();
    let mut file = RunFile::create(&path, &made.plan().unwrap(), &environment).unwrap();
    for (trial, mut record) in made.records().unwrap() {
        let judged = record.steps.last_mut().unwrap();
        let pressure = mean(judged.samples(&record.timeline)).unwrap();
        *judged.metrics.get_mut("latency_mean").unwrap() *= 1.0 + pressure;
        file.append(&trial, &record).unwrap();
    }
    path
}

#[test]
fn the_texts_of_a_run_on_a_host_are_those_of_all_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.seekwell");
    let wanted = made::Wanted {
        texts: ["ext4/bfq", "xfs/bfq", "btrfs/bfq"].map(str::to_owned).to_vec(),
        workloads: vec![(4, 64)],
        rounds: 12,
        samples: 20,
        operations: 50,
        single: false,
    };
    made::make(&path, &wanted);
    let path = with_slow_pressure(&path);
    for is_judged in [false, true] {
        let mut file = RunFile::open_for_append(&path).unwrap();
        if is_judged {
            let (whole, _) = file.verified_records(&Wanted::default(), &mut |_, _| {}).unwrap();
            let records = whole.into_iter().map(|one| (one.0.index, one)).collect();
            let verdict = super::super::prolong::judged(&file.plan().unwrap(), &records);
            file.set_verdict(&verdict).unwrap();
        }
        let whole = view(&file).unwrap();
        assert_eq!(whole.is_over, is_judged);
        let text = show(&whole);
        assert!(text.contains("of the variance"), "{text}");
        assert_eq!(show(&view_as_text(&file).unwrap()), text);
        let (page, trials) = view_as_page(&file, Some(&Light::of)).unwrap();
        assert!(html(&page, &trials) == html(&whole, &PageTrials::of(&whole)));
    }
}
