use std::collections::BTreeSet;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use super::*;

fn trial(index: u32) -> PlannedTrial {
    PlannedTrial { index, round: 0, candidate: index, seed: 1000 + u64::from(index) }
}

fn record(trial: &PlannedTrial) -> Record {
    Record { fingerprint: Some(trial.seed.to_string()), ..Record::blank() }
}

/// Lanes whose trials only note that they ran.
fn lanes(cpus: &[usize]) -> (Lanes, Arc<Mutex<Vec<u32>>>) {
    let ran = Arc::new(Mutex::new(Vec::new()));
    let noted = ran.clone();
    let work = move |trial: &PlannedTrial, _: &Lane, progress: &mut dyn FnMut(&str)| {
        noted.lock().unwrap().push(trial.index);
        progress("mkfs");
        progress("unpack");
        Ok(record(trial))
    };
    (Lanes::with(Arc::new(work), cpus).unwrap(), ran)
}

#[test]
fn each_trial_runs_once_and_answers_for_itself() {
    let (mut lanes, ran) = lanes(&[0, 1, 2]);
    assert_eq!(lanes.count(), 3);
    let all: Vec<PlannedTrial> = (0..50).map(trial).collect();
    lanes.announce(&all);
    for trial in &all {
        let mut steps = Vec::new();
        let found = lanes.run_trial(trial, &mut |name| steps.push(name.to_owned())).unwrap();
        assert_eq!(found.fingerprint, Some(trial.seed.to_string()));
        assert_eq!(steps, ["mkfs", "unpack"]);
    }
    drop(lanes);
    let ran = ran.lock().unwrap().clone();
    assert_eq!(ran.len(), 50);
    assert_eq!(ran.iter().copied().collect::<BTreeSet<u32>>().len(), 50);
}

#[test]
fn without_a_cpu_there_is_one_lane_and_nothing_is_left_out() {
    let (mut lanes, ran) = lanes(&[]);
    assert_eq!(lanes.count(), 1);
    for index in [1, 2, 3] {
        lanes.run_trial(&trial(index), &mut |_| {}).unwrap();
    }
    assert_eq!(*ran.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn trials_that_nobody_announces_any_more_make_room_for_those_that_come() {
    let (mut lanes, ran) = lanes(&[0]);
    let all: Vec<PlannedTrial> = (0..20).map(trial).collect();
    lanes.announce(&all);
    lanes.run_trial(&trial(0), &mut |_| {}).unwrap();
    lanes.announce(&[trial(30), trial(31)]);
    lanes.run_trial(&trial(30), &mut |_| {}).unwrap();
    assert_eq!(lanes.under_way.keys().copied().collect::<Vec<u32>>(), [31]);
    lanes.run_trial(&trial(31), &mut |_| {}).unwrap();
    assert!(ran.lock().unwrap().len() <= 3 + AHEAD);
}

#[test]
fn a_trial_that_was_run_ahead_with_another_seed_is_run_again() {
    let (mut lanes, _) = lanes(&[0]);
    let changed = PlannedTrial { seed: 7, ..trial(1) };
    lanes.announce(&[trial(0), trial(1)]);
    lanes.run_trial(&trial(0), &mut |_| {}).unwrap();
    let found = lanes.run_trial(&changed, &mut |_| {}).unwrap();
    assert_eq!(found.fingerprint.as_deref(), Some("7"));
}

#[test]
fn trials_run_side_by_side_and_those_nobody_wants_are_called_off() {
    let running = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (now, peak) = (running.clone(), most.clone());
    let work = move |trial: &PlannedTrial, lane: &Lane, _: &mut dyn FnMut(&str)| {
        peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // The first trial ends when the second is there; the others when they are called off.
        while trial.index != 0 && !lane.stop.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        while trial.index == 0 && now.load(Ordering::SeqCst) < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        now.fetch_sub(1, Ordering::SeqCst);
        Ok(record(trial))
    };
    let mut lanes = Lanes::with(Arc::new(work), &[0, 1]).unwrap();
    lanes.announce(&[trial(0), trial(1)]);
    lanes.run_trial(&trial(0), &mut |_| {}).unwrap();
    drop(lanes);
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(running.load(Ordering::SeqCst), 0);
}

#[test]
fn an_error_reaches_the_one_who_asked() {
    let work = |_: &PlannedTrial, _: &Lane, _: &mut dyn FnMut(&str)| {
        Err(VirtualBackendError::Stack("no".to_owned()))
    };
    let mut lanes = Lanes::with(Arc::new(work), &[]).unwrap();
    let error = lanes.run_trial(&trial(0), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "no");
}

#[test]
fn a_lane_that_panics_is_an_error_and_no_hang() {
    let work = |_: &PlannedTrial, _: &Lane, _: &mut dyn FnMut(&str)| panic!("planted");
    let mut lanes = Lanes::with(Arc::new(work), &[]).unwrap();
    for index in 0..2 {
        let error = lanes.run_trial(&trial(index), &mut |_| {}).unwrap_err();
        assert!(matches!(error, VirtualBackendError::Gone), "{error}");
    }
}
