use super::*;
use crate::fixture::{batch, share, trial};

const SECOND: Option<u64> = Some(1_000_000_000);

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
fn the_share_that_is_asked_for_next_is_known_while_trials_were_announced() {
    let mut shares = announced(0..30);
    assert_eq!(shares.next_asked(), None, "it has no share yet");
    while shares.next(Unit::Trial, SECOND, 1).is_some() {}
    let next = [0, 9, 20, 3, 99, 29].map(|index| {
        shares.asked(&trial(index));
        shares.next_asked()
    });
    // The third asks past some, which are not asked for any more; the next two were not to come.
    let of = |index| shares.places.get(&index).copied();
    assert_eq!(next, [Some(0), Some(10), of(21), of(21), of(21), None]);
}

#[test]
fn a_trial_that_was_not_announced_is_a_share_of_its_own() {
    let mut shares = announced(0..3);
    assert_eq!(shares.of(Unit::Trial, &trial(1)), share(1));
    assert_eq!(shares.next(Unit::Trial, None, 1), Some(share(0)));
    assert_eq!(shares.next(Unit::Trial, None, 1), Some(share(2)));
    assert_eq!(shares.of(Unit::Trial, &trial(9)), share(9));
}
