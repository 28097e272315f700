use super::*;
use crate::fixture::context;
use seekwell_model::units::Bytes;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

fn params(files: u64, directories: u64) -> MailParams {
    MailParams { files, directories, ..seekwell_fixtures::mail_params() }
}

fn files_below(directory: &Path) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().map(Result::unwrap) {
        let facts = entry.path().symlink_metadata().unwrap();
        if facts.is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push((entry.path().display().to_string(), facts.len()));
        }
    }
    found.sort();
    found
}

fn histogram_counts(outcome: &StepOutcome) -> BTreeMap<&str, u64> {
    outcome.histograms.iter().map(|(kind, counts)| (kind.as_str(), counts.count())).collect()
}

#[test]
fn a_tree_is_unpacked_read_twice_and_removed_and_every_call_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let params = params(300, 7);
    let tree = Tree::seeded(&params, 5);
    let Totals { files, bytes } = tree.totals();
    let mut steps = steps(&params, Place::Main);

    let unpacked = steps[0].run(&context(folder.path())).unwrap();
    assert_eq!(
        (unpacked.ops, unpacked.app_bytes_written, unpacked.app_bytes_read),
        (files, bytes, 0)
    );
    let on_disk = files_below(folder.path());
    assert_eq!(on_disk.len() as u64, files);
    assert_eq!(on_disk.iter().map(|(_, size)| size).sum::<u64>(), bytes);
    let writes: u64 = (0..tree.len()).map(|file| tree.size(file).div_ceil(10_240)).sum();
    let expected =
        [("close", 300), ("create", 300), ("mkdir", 7), ("utimens", 300), ("write", writes)];
    assert_eq!(histogram_counts(&unpacked), BTreeMap::from(expected));
    assert!(unpacked.cpu_ns > 0 && unpacked.elapsed_ns > 0 && !unpacked.stopped);

    // A read shorter than the record ends a file; one that fills it is followed by another.
    let reads: u64 = (0..tree.len()).map(|file| tree.size(file) / 10_240 + 1).sum();
    for step in &mut steps[1..3] {
        let read = step.run(&context(folder.path())).unwrap();
        assert_eq!((read.ops, read.app_bytes_read, read.app_bytes_written), (files, bytes, 0));
        let expected = [("close", 300), ("open", 300), ("read", reads)];
        assert_eq!(histogram_counts(&read), BTreeMap::from(expected), "{}", step.outline().name);
    }

    let removed = steps[3].run(&context(folder.path())).unwrap();
    assert_eq!(removed.ops, files);
    let expected = [("readdir", 8), ("rmdir", 8), ("unlink", 300)];
    assert_eq!(histogram_counts(&removed), BTreeMap::from(expected));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn every_step_may_run_twice_as_alone_and_together_do() {
    let folder = tempfile::tempdir().unwrap();
    for mut step in steps(&params(40, 3), Place::Main) {
        for _ in 0..2 {
            step.run(&context(folder.path())).unwrap();
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_tree_that_was_changed_fails_the_step() {
    let folder = tempfile::tempdir().unwrap();
    let mut steps = steps(&params(50, 2), Place::Main);
    steps[0].run(&context(folder.path())).unwrap();
    let victim = folder.path().join("mail/f00000/1");
    let size = victim.metadata().unwrap().len();

    std::fs::write(&victim, vec![1; size as usize + 1]).unwrap();
    for step in &mut steps[1..3] {
        let told = step.run(&context(folder.path())).unwrap_err().to_string();
        assert!(told.contains("handled 50 files and "), "{told}");
    }
    std::fs::remove_file(&victim).unwrap();
    let told = steps[1].run(&context(folder.path())).unwrap_err().to_string();
    assert!(told.starts_with("cannot open ") && told.contains("mail/f00000/1: No such"), "{told}");
    let told = steps[3].run(&context(folder.path())).unwrap_err().to_string();
    assert!(told.starts_with("step remove handled 49 files"), "{told}");
}

#[test]
fn a_stop_gives_a_part_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let context =
        StepContext { stop: Some(Arc::new(AtomicBool::new(true))), ..context(folder.path()) };
    let mut steps = steps(&params(50, 2), Place::Main);
    for step in &mut steps {
        let outcome = step.run(&context).unwrap();
        assert!(outcome.stopped && outcome.ops <= 1, "{}", step.outline().name);
    }
    assert!(context.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)));
}

#[test]
fn steps_without_a_filesystem_or_a_tree_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut steps = steps(&params(5, 1), Place::Main);
    let told = steps[1].run(&context(folder.path())).unwrap_err().to_string();
    assert_eq!(told, "step read_archive has no unpacked tree; run unpack before it");
    let raw = StepContext { directory: None, raw: true, ..context(folder.path()) };
    let told = steps[0].run(&raw).unwrap_err().to_string();
    assert_eq!(told, "step unpack needs a filesystem; use a filesystem other than raw");
}

#[test]
fn two_workloads_do_not_meet() {
    let folder = tempfile::tempdir().unwrap();
    let mut main = steps(&params(10, 1), Place::Main);
    let mut beside = steps(&params(10, 1), Place::Beside(0));
    main[0].run(&context(folder.path())).unwrap();
    beside[0].run(&context(folder.path())).unwrap();
    assert_eq!(files_below(folder.path()).len(), 20);
}

#[test]
fn a_large_directory_is_removed_in_the_order_of_inodes() {
    let folder = tempfile::tempdir().unwrap();
    let mut params = params(10_050, 1);
    params.median_size = Bytes(1);
    params.spread = 0.0;
    let mut steps = steps(&params, Place::Main);
    steps[0].run(&context(folder.path())).unwrap();
    assert_eq!(steps[3].run(&context(folder.path())).unwrap().ops, 10_050);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_counter_behind_a_pipe_counts_what_the_reader_reads() {
    let folder = tempfile::tempdir().unwrap();
    let mut params = params(200, 5);
    params.pipe = true;
    let expected = Tree::seeded(&params, 5).totals();
    let mut steps = steps(&params, Place::Main);
    for (index, step) in steps.iter_mut().enumerate().take(3) {
        let outcome = step.run(&context(folder.path())).unwrap();
        assert_eq!(outcome.ops, expected.files);
        if index > 0 {
            assert_eq!(outcome.app_bytes_read, expected.bytes);
        }
    }
}
