//! The HTML report in a real browser: every control is clicked, and nothing may be requested,
//! violate the policy or complain.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "page/made.rs"]
mod made;

use made::{Wanted, make};
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{Record, Sample};
use seekwell_stats::histogram::Histogram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn seekwell(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seekwell"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// Chromium and Node.js, when the page has its program too; else a counted skip.
fn browser(test: &str) -> Option<(PathBuf, PathBuf)> {
    if !seekwell_report::has_program() {
        seekwell_testing::skip(test, "the page's program was not built: make web, with Node.js");
        return None;
    }
    let found = ["node", "chromium"].map(seekwell_testing::tool);
    if let [Some(node), Some(chromium)] = found {
        return Some((node, chromium));
    }
    seekwell_testing::skip(test, "node or chromium is not installed");
    None
}

fn names() -> Vec<String> {
    let pairs = ["ext4", "xfs", "btrfs"].map(|kind| ["none", "bfq"].map(|s| format!("{kind}/{s}")));
    pairs.into_iter().flatten().collect()
}

/// Clicks through the page of a run; panics with what was wrong.
fn click(name: &str, wanted: &Wanted, (node, chromium): &(PathBuf, PathBuf), more: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join(file);
    make(&at("run.seekwell"), wanted);
    let done = seekwell(&["report", "run.seekwell", "--html", "run.html"], folder.path());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/test/browser/click.mjs");
    let output = Command::new(node)
        .arg(script)
        .args([chromium.as_path(), &at("run.html")])
        .args(more)
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{name}: {said}{}", String::from_utf8_lossy(&output.stderr));
}

fn wanted(texts: Vec<String>, workloads: Vec<(u64, u64)>) -> Wanted {
    Wanted { texts, workloads, rounds: 6, samples: 40, operations: 400, single: true }
}

#[test]
fn every_control_of_the_page_works_in_a_browser() {
    let test = "every_control_of_the_page_works_in_a_browser";
    let Some(tools) = browser(test) else { return };
    let workloads = vec![(4, 64), (16, 64), (4, 256), (16, 256)];
    click(test, &wanted(names(), workloads), &tools, &[]);
}

#[test]
fn hostile_texts_do_nothing_in_a_browser() {
    let test = "hostile_texts_do_nothing_in_a_browser";
    let Some(tools) = browser(test) else { return };
    let corpus = include_str!("../../../testdata/hostile.json");
    let texts: Vec<String> = serde_json::from_str(corpus).unwrap();
    assert!(texts.len() >= 200, "{}", texts.len());
    let wanted = Wanted { rounds: 2, samples: 5, operations: 10, ..wanted(texts, vec![(4, 64)]) };
    click(test, &wanted, &tools, &["--hostile", "--most", "12"]);
}

/// The pages of the atlas, in sizes and colours of readers; every link leads to a page that is there.
#[test]
fn the_site_of_the_atlas_works_in_a_browser() {
    let test = "the_site_of_the_atlas_works_in_a_browser";
    let Some((node, chromium)) = browser(test) else { return };
    let folder = tempfile::tempdir().unwrap();
    let done = seekwell(&["atlas", "publish", "site"], folder.path());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let site = folder.path().join("site");
    for entry in std::fs::read_dir(&site).unwrap() {
        let page = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(link.starts_with('#') || site.join(link).is_file(), "{link}");
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/test/browser/site.mjs");
    let pages = ["index.html", "database.ssd-nvme-512gb.html", "question-scheduler.html"];
    let output = Command::new(node)
        .arg(script)
        .args([&chromium, &site])
        .args(pages)
        .env("TMPDIR", folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

/// What the run file holds of each trial, for the test of the page's program.
fn expected(run: &Path) -> serde_json::Value {
    let file = seekwell_store::RunFile::open(run).unwrap();
    let one = |(trial, record): &(PlannedTrial, Record)| {
        let histograms: Vec<serde_json::Value> = record
            .steps
            .iter()
            .flat_map(|step| step.histograms.iter().map(|(kind, bytes)| (&step.name, kind, bytes)))
            .map(|(step, kind, bytes)| {
                let histogram = Histogram::from_bytes(bytes).unwrap();
                let at = |share| histogram.percentile_ns(share).unwrap();
                serde_json::json!([step, kind, histogram.count(), at(0.5), at(0.99), at(1.0)])
            })
            .collect();
        let metrics: Vec<_> = record.steps.iter().map(|step| (&step.name, &step.metrics)).collect();
        let events = record.block_events.as_ref().map(|stream| stream.events.len());
        let timeline: Vec<[Option<f64>; 19]> = record.timeline.iter().map(columns).collect();
        serde_json::json!({ "trial": trial.index, "histograms": histograms, "timeline": timeline,
            "events": events, "metrics": metrics })
    };
    file.records().unwrap().iter().map(one).collect()
}

/// A sample in the order of the run file.
fn columns(sample: &Sample) -> [Option<f64>; 19] {
    let bytes = |value: Option<u64>| value.map(|bytes| bytes as f64);
    [
        Some(sample.at_ns as f64),
        Some(sample.reads_per_s),
        Some(sample.writes_per_s),
        Some(sample.read_kib_per_s),
        Some(sample.written_kib_per_s),
        Some(sample.reads_merged_per_s),
        Some(sample.writes_merged_per_s),
        sample.read_await_ms,
        sample.write_await_ms,
        Some(sample.queue_size),
        sample.read_request_kib,
        sample.write_request_kib,
        sample.flushes_per_s,
        Some(sample.utilisation_percent),
        bytes(sample.dirty_bytes),
        bytes(sample.writeback_bytes),
        sample.io_pressure_percent,
        sample.cpu_pressure_percent,
        sample.memory_pressure_percent,
    ]
}

/// The promise, on a made run: beside 2 MB of page, at most 6 KB per trial of two histograms and
/// fifty samples.
#[test]
fn a_trial_takes_at_most_6_kb_of_the_page_and_comes_out_again() {
    let folder = tempfile::tempdir().unwrap();
    let size = |rounds: u32| {
        let run = folder.path().join(format!("{rounds}.seekwell"));
        let wanted =
            Wanted { rounds, samples: 50, single: false, ..wanted(names(), vec![(4, 64)]) };
        make(&run, &wanted);
        let name = run.to_str().unwrap();
        let done = seekwell(&["report", name, "--html", "run.html"], folder.path());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let back = format!("{rounds}-back.seekwell");
        let done = seekwell(&["extract", "run.html", "-o", &back], folder.path());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(std::fs::read(folder.path().join(back)).unwrap() == std::fs::read(&run).unwrap());
        std::fs::metadata(folder.path().join("run.html")).unwrap().len()
    };
    let (few, many) = (size(4), size(24));
    let per_trial = (many - few) / (20 * 6);
    assert!(few <= 2_000_000 && per_trial <= 6_000, "{few} bytes, and {per_trial} per trial");
}

#[test]
fn what_the_page_computes_agrees_with_what_others_gave() {
    let test = "what_the_page_computes_agrees_with_what_others_gave";
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    let node = seekwell_testing::tool("node").filter(|_| web.join("node_modules").is_dir());
    let Some(node) = node else {
        return seekwell_testing::skip(test, "the page's packages are not there: make web");
    };
    let run = |arguments: &[&str]| {
        let output = Command::new(&node).args(arguments).current_dir(&web).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["build.mjs", "test"]);
    run(&["--test", "dist/test/units.test.mjs"]);
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join(file);
    make(&at("run.seekwell"), &Wanted { rounds: 12, ..wanted(names(), vec![(4, 64)]) });
    let done = seekwell(&["report", "run.seekwell", "--html", "run.html"], folder.path());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::write(at("expected.json"), expected(&at("run.seekwell")).to_string()).unwrap();
    let output = Command::new(&node)
        .args(["--test", "dist/test/run.test.mjs"])
        .current_dir(&web)
        .env("PAGE", at("run.html"))
        .env("EXPECTED", at("expected.json"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("skipped 0"), "{said}");
}

/// The run was made on whole disks, which nothing but a run may write.
#[test]
fn why_of_a_run_on_a_real_disk_says_what_can_be_done_instead() {
    let folder = tempfile::tempdir().unwrap();
    make(&folder.path().join("run.seekwell"), &wanted(names(), vec![(4, 64)]));
    let done = seekwell(&["why", "run.seekwell"], folder.path());
    assert_eq!(done.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&done.stderr),
        "seekwell: error: causes on a real machine are tested on scratch images alone, and this run was made on disks \
         or other nodes; run its lab with --device loop:SIZE, or with --place virtual --model NAME (seekwell device \
         list names the models), then ask why of that run\n"
    );
}
