use super::*;
use crate::fixture;
use seekwell_model::units::Nanos;

/// A scripted backend: the result of a trial is a function of candidate and round.
struct Scripted<F>(F, Vec<(u32, u32)>);

impl<F: FnMut(&PlannedTrial) -> Result<Record, String>> Backend for Scripted<F> {
    fn run(
        &mut self,
        _plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError> {
        progress("step");
        self.1.push((trial.round, trial.candidate));
        (self.0)(trial).map_err(Into::into)
    }
}

#[derive(Default)]
struct Kept(Vec<u32>, Option<u32>);

impl Keeper for Kept {
    fn keep(&mut self, trial: &PlannedTrial, _: &Record) -> Result<(), BackendError> {
        if self.1 == Some(trial.index) {
            return Err("no space left".into());
        }
        self.0.push(trial.index);
        Ok(())
    }
}

/// How a scripted run ended, which (round, candidate) it ran, and which trials were kept.
type Ran = (Result<Ended, RunError>, Vec<(u32, u32)>, Vec<u32>);

fn run<F: FnMut(&PlannedTrial) -> Result<Record, String>>(
    execution: &mut Execution<'_>,
    script: F,
) -> Ran {
    let mut backend = Scripted(script, vec![]);
    let mut kept = Kept::default();
    let stop = AtomicBool::new(false);
    let ended = execution.run(&mut backend, &mut kept, &stop, &mut |_| {});
    (ended, backend.1, kept.0)
}

#[test]
fn every_round_runs_every_candidate_once_and_keeps_each_record() {
    let plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(7));
    let mut execution = Execution::new(&plan, Outcomes::new());
    let (ended, ran, kept) = run(&mut execution, |_| Ok(fixture::record(1.0)));
    assert_eq!(ended.unwrap(), Ended::Complete);
    assert_eq!(kept, (0..21).collect::<Vec<_>>());
    let planned: Vec<_> = plan.trials.iter().map(|trial| (trial.round, trial.candidate)).collect();
    assert_eq!(ran, planned);
}

#[test]
fn a_run_ends_after_two_rounds_of_which_every_trial_is_marked() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let marked = |ranked: Option<u32>| {
        move |trial: &PlannedTrial| {
            let status = if ranked == Some(trial.index) { Status::Ok } else { Status::Marked };
            Ok(Record { status, ..fixture::record(1.0) })
        }
    };
    let mut execution = Execution::new(&plan, Outcomes::new());
    let (ended, ran, kept) = run(&mut execution, marked(None));
    assert_eq!((ended.unwrap(), ran.len(), kept.len()), (Ended::AllMarked, 4, 4));
    // Continued, it ends again without a trial.
    let mut again = Execution::new(&plan, execution.into_outcomes());
    let (ended, ran, _) = run(&mut again, marked(None));
    assert_eq!((ended.unwrap(), ran.len()), (Ended::AllMarked, 0));

    let mut execution = Execution::new(&plan, Outcomes::new());
    let (ended, ran, _) = run(&mut execution, marked(Some(3)));
    assert_eq!((ended.unwrap(), ran.len()), (Ended::Complete, 12));
}

/// Trials that a backend was told of, by the number of trials that it had run.
struct Told(Vec<(u32, Vec<u32>)>, u32);

impl Backend for Told {
    fn run(
        &mut self,
        _: &Plan,
        trial: &PlannedTrial,
        _: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError> {
        self.1 += 1;
        let fails = trial.candidate == 1;
        Ok(if fails { Record::failed("mkfs", "EIO") } else { fixture::record(1.0) })
    }

    fn announce(&mut self, trials: &[PlannedTrial]) {
        self.0.push((self.1, trials.iter().map(|trial| trial.index).collect()));
    }
}

fn told(execution: &mut Execution<'_>) -> Vec<(u32, Vec<u32>)> {
    let mut backend = Told(vec![], 0);
    let stop = AtomicBool::new(false);
    execution.run(&mut backend, &mut Kept::default(), &stop, &mut |_| {}).unwrap();
    backend.0
}

#[test]
fn rounds_that_are_certain_are_announced_together() {
    let plan = fixture::plan(&["a"], Effort::Rounds(72_000));
    let told = told(&mut Execution::new(&plan, Outcomes::new()));
    let spans: Vec<(u32, u32, usize)> =
        told.iter().map(|(ran, trials)| (*ran, trials[0], trials.len())).collect();
    let whole = AHEAD as u32;
    let half = whole / 2;
    let begun = |begin: u32| (begin, begin, AHEAD.min((72_000 - begin) as usize));
    let expected = [0, half, whole, whole + half].map(begun);
    assert_eq!(spans, expected);
}

#[test]
fn a_candidate_that_was_given_up_is_announced_no_more() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut resumed = Outcomes::new();
    let first = plan.trials.iter().find(|trial| trial.candidate == 0).unwrap();
    resumed.insert(first.index, (*first, fixture::outcome(&plan, &fixture::record(1.0))));
    let told = told(&mut Execution::new(&plan, resumed));
    let all: Vec<u32> = (0..12).filter(|index| *index != first.index).collect();
    assert_eq!(told[0], (0, all));
    let given_up = plan.trials.iter().filter(|trial| trial.candidate == 1).nth(2).unwrap();
    let left = |trial: &&PlannedTrial| trial.candidate == 0 && trial.round > given_up.round;
    let left: Vec<u32> = plan.trials.iter().filter(left).map(|trial| trial.index).collect();
    assert_eq!(told[1].1, left);
    assert_eq!(told.len(), 2);
}

#[test]
fn resuming_runs_exactly_what_is_missing() {
    let plan = fixture::plan(&["a", "b", "c"], Effort::Rounds(6));
    let mut whole = Execution::new(&plan, Outcomes::new());
    run(&mut whole, |_| Ok(fixture::record(1.0))).0.unwrap();
    let mut records = whole.into_outcomes();
    for lost in [4, 9, 17] {
        records.remove(&lost);
    }
    let mut resumed = Execution::new(&plan, records);
    let (ended, _, kept) = run(&mut resumed, |_| Ok(fixture::record(1.0)));
    assert_eq!(ended.unwrap(), Ended::Complete);
    assert_eq!(kept, [4, 9, 17]);
}

#[test]
fn a_stopped_run_says_so_and_keeps_what_it_had() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut execution = Execution::new(&plan, Outcomes::new());
    let stop = AtomicBool::new(false);
    let mut backend = Scripted(
        |trial: &PlannedTrial| {
            if trial.index == 4 {
                stop.store(true, Ordering::Relaxed);
            }
            Ok(fixture::record(1.0))
        },
        vec![],
    );
    let mut kept = Kept::default();
    let ended = execution.run(&mut backend, &mut kept, &stop, &mut |_| {}).unwrap();
    assert_eq!((ended, kept.0), (Ended::Stopped, vec![0, 1, 2, 3, 4]));
}

#[test]
fn a_candidate_that_keeps_failing_is_not_tried_for_ever() {
    let plan = fixture::plan(&["good", "bad"], Effort::Rounds(10));
    let mut execution = Execution::new(&plan, Outcomes::new());
    let (_, ran, _) = run(&mut execution, |trial| {
        Ok(if trial.candidate == 1 {
            fixture::failed("mkfs said no")
        } else {
            fixture::record(1.0)
        })
    });
    assert_eq!(ran.iter().filter(|(_, candidate)| *candidate == 1).count(), 3);
    assert_eq!(ran.iter().filter(|(_, candidate)| *candidate == 0).count(), 10);
}

#[test]
fn one_failure_among_successes_is_only_that() {
    let plan = fixture::plan(&["a"], Effort::Rounds(10));
    let mut execution = Execution::new(&plan, Outcomes::new());
    let (_, ran, _) = run(&mut execution, |trial| {
        Ok(if trial.round % 3 == 0 { fixture::failed("once") } else { fixture::record(1.0) })
    });
    assert_eq!(ran.len(), 10);
}

#[test]
fn a_budget_buys_rounds_at_the_measured_cost_and_at_least_six() {
    // Each scripted trial says that it took one second; two candidates make two seconds a round.
    for (budget_s, rounds) in [(1, 6), (12, 6), (30, 15), (31, 15)] {
        let plan = fixture::plan(&["a", "b"], Effort::Budget(Nanos::seconds(budget_s)));
        let mut execution = Execution::new(&plan, Outcomes::new());
        let (ended, ran, _) = run(&mut execution, |_| Ok(fixture::record(1.0)));
        assert_eq!(ended.unwrap(), Ended::Complete);
        assert_eq!(ran.len(), rounds * 2, "budget {budget_s} s");
    }
}

#[test]
fn a_broken_backend_ends_the_run_and_names_the_trial() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut execution = Execution::new(&plan, Outcomes::new());
    let (ended, _, kept) = run(&mut execution, |trial| {
        if trial.index == 3 { Err("image is gone".into()) } else { Ok(fixture::record(1.0)) }
    });
    assert!(matches!(ended, Err(RunError::Backend { index: 3, .. })));
    assert_eq!(kept, [0, 1, 2]);
}

#[test]
fn a_record_that_cannot_be_kept_ends_the_run() {
    let plan = fixture::plan(&["a"], Effort::Rounds(6));
    let mut execution = Execution::new(&plan, Outcomes::new());
    let mut backend = Scripted(|_: &PlannedTrial| Ok(fixture::record(1.0)), vec![]);
    let mut kept = Kept(vec![], Some(2));
    let stop = AtomicBool::new(false);
    let ended = execution.run(&mut backend, &mut kept, &stop, &mut |_| {});
    assert!(matches!(ended, Err(RunError::Keep { index: 2, .. })));
    assert_eq!(kept.0, [0, 1]);
}

#[test]
fn time_left_shrinks_as_trials_end() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut execution = Execution::new(&plan, Outcomes::new());
    let mut backend = Scripted(|_: &PlannedTrial| Ok(fixture::record(1.0)), vec![]);
    let mut left = vec![];
    let mut watch = |event: Event<'_>| {
        if let Event::Began { left_ns, done, total, .. } = event {
            left.push((done, total, left_ns / 1_000_000_000));
        }
    };
    let stop = AtomicBool::new(false);
    execution.run(&mut backend, &mut Kept::default(), &stop, &mut watch).unwrap();
    assert_eq!(left[1..], (1..12).map(|done| (done, 12, 12 - done)).collect::<Vec<_>>());
}

#[test]
fn a_race_has_no_more_time_left_than_its_budget() {
    // A trial says that it takes a second; the looks of the final alone would take many minutes.
    let plan = fixture::race(4, 3, |lab| lab.judge.effort = Effort::Budget(Nanos::seconds(75)));
    let mut execution = Execution::new(&plan, Outcomes::new());
    let mut backend =
        Scripted(|trial: &PlannedTrial| Ok(fixture::raced(&plan, trial, 0.0, 0.05)), vec![]);
    let mut wrong = vec![];
    let mut watch = |event: Event<'_>| {
        if let Event::Began { left_ns, done, total, .. } = event {
            let left = (left_ns / 1_000_000_000, total - done);
            // The first trial's time is a prediction.
            if done > 0 && (left.0 > (75 - done).max(1) || left.1 > (75 - done).max(1)) {
                wrong.push((done, left));
            }
        }
    };
    let stop = AtomicBool::new(false);
    execution.run(&mut backend, &mut Kept::default(), &stop, &mut watch).unwrap();
    assert!(wrong.is_empty() && backend.1.len() > 50, "{wrong:?}");
}

#[test]
fn a_resumed_run_has_spent_what_its_trials_cost_and_not_what_their_own_clock_says() {
    let plan = fixture::plan(&["a", "b"], Effort::Budget(Nanos::seconds(30)));
    // 30 s of the trial's own time, 1 s of the budget, as in virtual time.
    let cheap =
        Record { elapsed_ns: 30_000_000_000, cost_ns: Some(1_000_000_000), ..fixture::record(1.0) };
    let trials = (0..6).flat_map(|round| order::round_order(plan.lab.seed, 2, round));
    let kept = crate::records::outcomes(&plan, trials.map(|trial| (trial, cheap.clone())));
    let resumed = Execution::new(&plan, kept);
    assert_eq!(resumed.spent_ns, 12_000_000_000);
    assert!(resumed.another_round(6));
    // A record of an earlier version tells its own time alone.
    let old = Record { cost_ns: None, ..cheap };
    let trial = order::round_order(plan.lab.seed, 2, 0)[0];
    let of_old = Execution::new(&plan, crate::records::outcomes(&plan, [(trial, old)]));
    assert_eq!(of_old.spent_ns, 30_000_000_000);
}

#[test]
fn every_kept_record_says_what_it_cost() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut execution = Execution::new(&plan, Outcomes::new());
    run(&mut execution, |_| Ok(fixture::record(1.0))).0.unwrap();
    let costs: Vec<_> = execution.outcomes().values().map(|(_, record)| record.cost_ns).collect();
    assert!(costs.iter().all(|cost| cost.is_some_and(|ns| ns >= 1_000_000_000)), "{costs:?}");
    let again = Execution::new(&plan, execution.outcomes().clone());
    assert_eq!(again.spent_ns, execution.spent_ns);
    assert_eq!(again.longest_ns, execution.longest_ns);
}

/// A keeper that tells what is durable, and a backend that holds the records of rounds of three until the last one.
#[derive(Default)]
struct Together {
    put: Vec<u32>,
    durable: Vec<u32>,
    /// The disk is full at this record: SQLite rolls back what was put.
    full_at: Option<u32>,
    ran: u32,
    /// Number of durable records each time that the backend was told.
    settled: Vec<usize>,
}

struct Held<'a>(&'a std::cell::RefCell<Together>);

impl Backend for Held<'_> {
    fn run(
        &mut self,
        _: &Plan,
        trial: &PlannedTrial,
        _: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError> {
        let mut state = self.0.borrow_mut();
        if state.ran.is_multiple_of(3) {
            assert!(state.put.is_empty(), "what was held before is durable now");
        }
        state.ran += 1;
        if trial.index == 7 {
            return Err("no worker".into());
        }
        Ok(fixture::record(1.0))
    }

    fn holds_last(&self) -> bool {
        !self.0.borrow().ran.is_multiple_of(3)
    }

    fn settled(&mut self) -> Result<(), BackendError> {
        let mut state = self.0.borrow_mut();
        assert!(state.put.is_empty(), "told before it is so");
        let durable = state.durable.len();
        state.settled.push(durable);
        Ok(())
    }
}

impl Keeper for Held<'_> {
    fn keep(&mut self, trial: &PlannedTrial, record: &Record) -> Result<(), BackendError> {
        self.put(trial, record)?;
        self.settle()
    }

    fn put(&mut self, trial: &PlannedTrial, _: &Record) -> Result<(), BackendError> {
        let mut state = self.0.borrow_mut();
        if state.full_at == Some(trial.index) {
            state.put.clear();
            return Err("no space left".into());
        }
        state.put.push(trial.index);
        Ok(())
    }

    fn settle(&mut self) -> Result<(), BackendError> {
        let mut state = self.0.borrow_mut();
        let put = std::mem::take(&mut state.put);
        state.durable.extend(put);
        Ok(())
    }
}

#[test]
fn records_that_a_backend_holds_are_durable_before_it_forgets_them_and_at_the_end() {
    let plan = fixture::plan(&["a"], Effort::Rounds(8));
    let state = std::cell::RefCell::default();
    let stop = AtomicBool::new(false);
    let mut execution = Execution::new(&plan, Outcomes::new());
    let ended = execution.run(&mut Held(&state), &mut Held(&state), &stop, &mut |_| {});
    assert!(matches!(ended, Err(RunError::Backend { index: 7, .. })));
    let state = state.into_inner();
    assert_eq!((state.put, state.durable), (vec![], (0..7).collect()));
    assert_eq!(state.settled, [0, 3, 6, 7], "before the first, after each three, and at the end");
}

/// A backend that were told so after a full disk would remove the only copies of the records that were rolled back.
#[test]
fn a_backend_forgets_nothing_once_records_could_not_be_kept() {
    let plan = fixture::plan(&["a"], Effort::Rounds(8));
    let stop = AtomicBool::new(false);
    // With a record that is put only, and with one that is kept at once.
    for (full_at, settled) in [(1, vec![0]), (4, vec![0, 3]), (5, vec![0, 3])] {
        let state =
            std::cell::RefCell::new(Together { full_at: Some(full_at), ..Together::default() });
        let mut execution = Execution::new(&plan, Outcomes::new());
        let ended = execution.run(&mut Held(&state), &mut Held(&state), &stop, &mut |_| {});
        assert!(matches!(ended, Err(RunError::Keep { index, .. }) if index == full_at));
        let state = state.into_inner();
        assert_eq!(state.settled, settled, "told once for what is durable before {full_at}");
        assert_eq!(state.durable.len(), *state.settled.last().unwrap());
    }
}
