use super::super::{view, view_as_page, view_as_text, write_json};
use super::*;
use seekwell_model::record::{BlockEvents, SmartReading, StepRecord};
use seekwell_report::{Inside, PageTrials, RunView};
use seekwell_store::RunFile;
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
    let judged = Judged { step: "seek".to_owned(), metrics, is_model };
    Light { judged: Some(judged), ..brief() }
}

fn brief() -> Light {
    Light { judged: None, step: "seek".to_owned() }
}

/// The JSON of a run of which the view has this much.
fn json(file: &RunFile, view: &RunView) -> Vec<u8> {
    let mut text = Vec::new();
    write_json(file, view, &mut text).unwrap();
    text
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

/// What texts and verdicts compute from a timeline: pressure on the CPUs of all samples and of the judged step, and
/// requests in flight.
fn told(record: &Record) -> [Option<f64>; 3] {
    let step = record.steps.iter().find(|step| step.name == "seek").unwrap();
    let inside =
        |pair: &&[Sample]| pair[0].at_ns >= step.started_ns && pair[1].at_ns <= step.ended_ns;
    let windows = record.timeline.windows(2).filter(inside);
    let queues: Vec<f64> = windows.map(|pair| pair[1].queue_size).collect();
    let in_flight = queues.iter().sum::<f64>() / queues.len() as f64;
    let is_told = queues.len() >= WINDOWS;
    [mean(&record.timeline), mean(step.samples(&record.timeline)), is_told.then_some(in_flight)]
}

#[test]
fn few_samples_tell_what_a_timeline_does() {
    let percents = [Some(10.0), None, Some(50.0), Some(4.0), Some(7.5), None, Some(3.0)];
    for (started_ns, ended_ns, samples) in
        [(15, 30, 2), (0, 70, 4), (10, 40, 4), (11, 41, 2), (15, 16, 1), (75, 80, 1), (35, 35, 2)]
    {
        let mut whole = with_pressure(&percents);
        (1..).zip(&mut whole.timeline).for_each(|(n, one)| one.queue_size = f64::from(n * n));
        (whole.steps[1].started_ns, whole.steps[1].ended_ns) = (started_ns, ended_ns);
        let mut light = whole.clone();
        light.timeline = brief().samples(&whole);
        let what = format!("{started_ns} to {ended_ns}");
        assert_eq!(light.timeline.len(), samples, "{what}");
        for (found, expected) in told(&light).into_iter().zip(told(&whole)) {
            let far = found.zip(expected).is_some_and(|(one, other)| (one - other).abs() > 1e-12);
            assert!(
                !far && found.is_some() == expected.is_some(),
                "{what}: {found:?} {expected:?}"
            );
        }
    }
    let mut elsewhere = with_pressure(&percents);
    elsewhere.steps.pop();
    let all = mean(&elsewhere.timeline);
    assert_eq!(brief().samples(&elsewhere), [sample(0, all)]);
    assert_eq!(brief().samples(&with_pressure(&[])), [sample(15, None)]);
}

#[test]
fn a_run_without_a_verdict_keeps_metrics_and_what_timelines_tell() {
    let whole = with_pressure(&[Some(10.0), None, Some(50.0)]);
    let mut record = whole.clone();
    brief().lighten(&mut record);
    assert_eq!(record.timeline, brief().samples(&whole));
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
        let markdown = |view| seekwell_report::markdown(view, true);
        assert_eq!(markdown(&text), markdown(&whole), "{}", run.display());
        assert!(json(&file, &text) == json(&file, &whole), "the JSON of {} differs", run.display());
        let (page, trials) = view_as_page(&file, &Light::of).unwrap();
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
    let (path, height) = (Path::new("run.seekwell"), None);
    let screen = seekwell_report::Screen { width: 200, height, colour: false, all: true, path };
    seekwell_report::terminal(view, &screen)
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
            let outcomes = seekwell_session::outcomes(&file.plan().unwrap(), &file).unwrap();
            let verdict = super::super::prolong::judged(&file.plan().unwrap(), &outcomes);
            file.set_verdict(&verdict).unwrap();
        }
        let whole = view(&file).unwrap();
        assert_eq!(whole.is_over, is_judged);
        let text = show(&whole);
        assert!(text.contains("of the variance"), "{text}");
        assert_eq!(show(&view_as_text(&file).unwrap()), text);
        let (page, trials) = view_as_page(&file, &Light::of).unwrap();
        assert!(html(&page, &trials) == html(&whole, &PageTrials::of(&whole)));
    }
}
