use super::*;
use crate::fixture;

#[test]
fn a_winner_is_named_with_the_distance_to_the_next() {
    assert_eq!(
        verdict_sentence(&fixture::winner()),
        "xfs/none is fastest: unpack takes 12 % (8 to 16 %) less time than the next, xfs/bfq (95 % confidence, 8 rounds)."
    );
}

#[test]
fn small_distances_keep_a_decimal() {
    let mut view = fixture::winner();
    view.verdict.ratios[1] = fixture::ratio("xfs/bfq", 0.43, 1.043, 1.025, 1.061);
    assert!(verdict_sentence(&view).contains("4.1 % (2.4 to 5.7 %) less time"));
}

#[test]
fn a_winner_by_rate_has_more_of_it() {
    let mut view = fixture::winner();
    view.verdict.metric = "seek.iops".to_owned();
    view.verdict.better = Better::Higher;
    view.verdict.ratios[1] = fixture::ratio("xfs/bfq", 4000.0, 0.8, 0.7, 0.9);
    assert_eq!(
        verdict_sentence(&view),
        "xfs/none is fastest: seek has 25 % (11 to 43 %) higher iops than the next, xfs/bfq (95 % confidence, 8 rounds)."
    );
    view.verdict.metric = "command.score".to_owned();
    assert!(
        verdict_sentence(&view).starts_with(
            "xfs/none is best: command.score is 25 % (11 to 43 %) higher than the next"
        )
    );
}

#[test]
fn a_winner_without_interval_or_rival_is_said_plainly() {
    let mut view = fixture::winner();
    view.verdict.ratios[1].low = None;
    assert!(verdict_sentence(&view).contains("takes 12 % less time than the next"));
    view.verdict.ratios.truncate(1);
    assert_eq!(
        verdict_sentence(&view),
        "xfs/none is best on unpack.elapsed_durable (95 % confidence, 8 rounds)."
    );
}

#[test]
fn a_tie_lists_its_set_and_an_open_verdict_what_it_takes() {
    assert_eq!(
        verdict_sentence(&fixture::tie()),
        "xfs/none and xfs/bfq tie on unpack.elapsed_durable (95 % confidence, 8 rounds): no other is better by more than the tie width of 2 %."
    );
    assert_eq!(
        verdict_sentence(&fixture::unresolved()),
        "Which stack is best on unpack.elapsed_durable is not resolved: the intervals are too wide after 8 rounds; about 23 rounds would decide it, or a wider tie. Still possible: xfs/none and ext4/none."
    );
    let mut empty = fixture::unresolved();
    empty.verdict.stacks.clear();
    assert!(verdict_sentence(&empty).ends_with("or a wider tie."));
}

#[test]
fn lists_read_as_people_write_them() {
    let names = |count: usize| {
        ["a", "b", "c"].iter().take(count).map(|n| (*n).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list(&names(0)), "none");
    assert_eq!(list(&names(1)), "a");
    assert_eq!(list(&names(2)), "a and b");
    assert_eq!(list(&names(3)), "a, b and c");
}
