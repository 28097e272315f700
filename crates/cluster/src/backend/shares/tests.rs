use super::*;
use crate::fixture::{batch, share, trial};

const SECOND: Option<u64> = Some(1_000_000_000);

#[test]
fn a_share_is_ten_seconds_of_work_or_a_fair_part_of_the_rest() {
    assert_eq!(size(None, 100_000, 2), 1, "nothing was measured");
    assert_eq!(size(SECOND, 100_000, 1000), 10);
    assert_eq!(size(Some(5_000_000_000), 100_000, 1000), 2);
    assert_eq!(size(Some(90_000_000_000), 100_000, 1000), 1);
    assert_eq!(size(Some(1_000), 100_000, 10), MOST);
    assert_eq!(size(Some(0), 100_000, 10), MOST);
    assert_eq!(size(SECOND, 6_000, 1000), 3);
    assert_eq!(size(SECOND, 1_000, 1000), 1, "never more than leave some for all");
    assert_eq!(size(SECOND, 10, 0), 10);
}

fn announced(trials: std::ops::Range<u32>) -> Shares {
    let mut shares = Shares::default();
    shares.announce::<()>(&trials.map(trial).collect::<Vec<_>>(), &mut |_| Ok(false)).unwrap();
    shares
}

#[test]
fn every_trial_goes_out_once_and_in_order() {
    let mut shares = announced(0..50);
    let mut seen = Vec::new();
    while let Some(share) = shares.next(Unit::Trial, SECOND, 2) {
        assert_eq!(share.index, share.trials[0].index);
        seen.extend(share.trials.iter().map(|trial| trial.index));
    }
    assert_eq!(seen, (0..50).collect::<Vec<_>>());
    assert_eq!(shares.of(Unit::Trial, &trial(3)), batch(0..10));
}

#[test]
fn rounds_stay_whole_whatever_their_trials_take() {
    let mut shares = Shares::default();
    let of_round = |index| PlannedTrial { round: index / 3, ..trial(index) };
    let trials: Vec<PlannedTrial> = (0..7).map(of_round).collect();
    shares.announce::<()>(&trials, &mut |_| Ok(false)).unwrap();
    let next = |shares: &mut Shares| {
        let share = shares.next(Unit::Round, SECOND, 9)?;
        Some((share.index, share.trials.len()))
    };
    let found: Vec<_> = std::iter::from_fn(|| next(&mut shares)).collect();
    assert_eq!(found, [(0, 3), (1, 3), (2, 1)]);
}

/// A candidate that was given up leaves the shares that no worker has.
#[test]
fn trials_that_are_not_wanted_any_more_leave_the_offers() {
    let mut shares = announced(0..20);
    assert_eq!(shares.next(Unit::Trial, SECOND, 1), Some(batch(0..10)));
    assert_eq!(shares.next(Unit::Trial, SECOND, 1), Some(batch(10..15)));
    let even: Vec<PlannedTrial> = (0..20).step_by(2).map(trial).collect();
    let mut asked = Vec::new();
    let mut is_offered = |index| {
        asked.push(index);
        Ok::<_, ()>(index == 10)
    };
    shares.announce(&even, &mut is_offered).unwrap();
    assert_eq!(asked, [0, 10]);
    assert!(shares.has(0) && !shares.has(10));
    assert!(shares.wants(4) && !shares.wants(5));
    let next = shares.next(Unit::Trial, None, 1);
    assert_eq!(next, Some(share(10)));
}

#[test]
fn a_trial_that_was_not_announced_is_a_share_of_its_own() {
    let mut shares = announced(0..3);
    assert_eq!(shares.of(Unit::Trial, &trial(1)), share(1));
    assert_eq!(shares.next(Unit::Trial, None, 1), Some(share(0)));
    assert_eq!(shares.next(Unit::Trial, None, 1), Some(share(2)));
    assert_eq!(shares.of(Unit::Trial, &trial(9)), share(9));
}
