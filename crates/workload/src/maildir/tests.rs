use super::*;
use crate::fixture;
use seekwell_model::field::Values;
use seekwell_model::workloads::{DeliverySync, WorkloadParams, workload_kind};
use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc as Shared;

fn params(change: impl FnOnce(&mut MaildirParams)) -> MaildirParams {
    let kind = workload_kind("maildir").unwrap();
    let WorkloadParams::Maildir(mut params) = kind.params(&Values::default()).unwrap() else {
        panic!("another kind")
    };
    params.mailboxes = 5;
    params.mails = 20;
    params.threads = 2;
    params.count = Some(30);
    params.time = None;
    change(&mut params);
    params
}

/// Names of files by directory, with their bytes.
fn files(folder: &Path) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            let name = entry.file_name().into_string().unwrap();
            all.extend(
                files(&path).into_iter().map(|(below, size)| (format!("{name}/{below}"), size)),
            );
        } else {
            all.insert(entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len());
        }
    }
    all
}

#[test]
fn the_store_keeps_its_number_of_mails_and_every_delivery_is_moved() {
    let folder = tempfile::tempdir().unwrap();
    let context = fixture::context(folder.path());
    let mut steps = steps(&params(|_| ()), Place::Main);
    steps[0].run(&context).unwrap();
    let before = files(folder.path());
    assert_eq!(before.len(), 20);
    assert!(before.contains_key("maildir/user000000/cur/0000000001.mail;2,S"), "{before:?}");

    let outcome = steps[1].run(&context).unwrap();
    let after = files(folder.path());
    assert_eq!(after.len(), 20);
    assert!(after.keys().all(|name| name.contains("/cur/")), "{after:?}");
    let counts =
        ["deliver", "move", "fetch", "remove"].map(|kind| outcome.histograms[kind].count());
    assert_eq!((counts, outcome.ops), ([30, 30, 60, 30], 150));
    let new: u64 =
        after.iter().filter(|(name, _)| !before.contains_key(*name)).map(|(_, size)| size).sum();
    assert!(new > 0 && new <= outcome.app_bytes_written, "{new}");
    // Mails from before are read from the device once, all others from memory.
    assert!(outcome.app_bytes_reread > 0);
    assert!(outcome.app_bytes_reread < outcome.app_bytes_read);
    let rate = outcome.metrics["deliveries_per_s"];
    let expected = 30.0 * 1e9 / outcome.elapsed_ns as f64;
    assert!((rate / expected - 1.0).abs() < 1e-9, "{rate} {expected}");
    assert!(outcome.metrics["deliver_latency_p99"] >= outcome.metrics["deliver_latency_p50"]);
}

#[test]
fn an_empty_store_serves_and_is_empty_again() {
    let folder = tempfile::tempdir().unwrap();
    let context = fixture::context(folder.path());
    for sync in [DeliverySync::File, DeliverySync::Directory, DeliverySync::None] {
        let name = format!("{sync:?}");
        let inner = folder.path().join(&name);
        fs::create_dir(&inner).unwrap();
        let context = StepContext { directory: Some(&inner), ..context.clone() };
        let mut steps =
            steps(&params(|params| (params.mails, params.sync) = (0, sync)), Place::Main);
        steps[0].run(&context).unwrap();
        let outcome = steps[1].run(&context).unwrap();
        assert_eq!(outcome.histograms["deliver"].count(), 30, "{name}");
        assert_eq!(outcome.app_bytes_reread, outcome.app_bytes_read, "{name}");
        assert!(files(&inner).is_empty(), "{name}");
    }
}

#[test]
fn a_session_ends_when_it_is_stopped_and_a_store_must_be_filled_first() {
    let folder = tempfile::tempdir().unwrap();
    let stop = Some(Shared::new(AtomicBool::new(true)));
    let context = StepContext { stop, ..fixture::context(folder.path()) };
    let mut steps = steps(&params(|_| ()), Place::Beside(0));
    let error = steps[1].run(&context).unwrap_err();
    assert!(error.to_string().contains("has no mailboxes"), "{error}");
    steps[0].run(&context).unwrap();
    let outcome = steps[1].run(&context).unwrap();
    assert!(outcome.stopped && outcome.ops == 0);
    assert!(folder.path().join("beside-0-maildir/user000000/new").is_dir());
}

#[test]
fn a_mail_from_before_comes_from_the_device_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut mailbox = Mailbox::make(folder.path(), 0).unwrap();
    mailbox.add_seen(&mut Content::new(1), 3_000).unwrap();
    let mut fetched = || mailbox.fetch(0, &mut Vec::new()).unwrap();
    assert_eq!(
        [fetched(), fetched()].map(|one| (one.bytes, one.is_cached)),
        [(3_000, false), (3_000, true)]
    );
}

#[test]
fn shares_add_up() {
    for (count, threads) in [(30, 4), (1, 4), (7, 7), (0, 3)] {
        let shares: Vec<u64> = (0..threads).map(|number| part(count, number, threads)).collect();
        assert_eq!(shares.iter().sum::<u64>(), count);
        assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
    }
}
