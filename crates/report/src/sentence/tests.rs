use super::*;
use crate::fixture;
use seekwell_model::lab::Better;

#[test]
fn a_winner_is_named_with_the_distance_to_the_next() {
    assert_eq!(
        composed(&fixture::winner()),
        "xfs/none is fastest: unpack is 14 % faster (9 to 19 %) than with the next, xfs/bfq, and 1.8 times as fast (1.7 to 1.9) as with the last, ext4/none (95 % confidence, 8 rounds)."
    );
}

#[test]
fn small_distances_keep_a_decimal() {
    let mut view = fixture::winner();
    view.verdict.ratios[1] = fixture::ratio("xfs/bfq", 0.43, 1.043, 1.025, 1.061);
    assert!(composed(&view).contains("4.3 % faster (2.5 to 6.1 %) than with the next"));
}

#[test]
fn a_winner_by_rate_has_more_of_it() {
    let mut view = fixture::winner();
    view.verdict.metric = "seek.iops".to_owned();
    view.verdict.better = Better::Higher;
    view.verdict.ratios[1] = fixture::ratio("xfs/bfq", 4000.0, 0.8, 0.7, 0.9);
    view.verdict.ratios[2] = fixture::ratio("ext4/none", 2500.0, 0.5, 0.4, 0.6);
    assert_eq!(
        composed(&view),
        "xfs/none is fastest: seek is 25 % faster (11 to 43 %) than with the next, xfs/bfq, and 2.0 times as fast (1.7 to 2.5) as with the last, ext4/none (95 % confidence, 8 rounds)."
    );
    view.verdict.metric = "command.score".to_owned();
    assert!(composed(&view).starts_with(
        "xfs/none is best: command.score is 25 % better (11 to 43 %) than with the next"
    ));
}

#[test]
fn a_winner_without_interval_or_rival_is_said_plainly() {
    let mut view = fixture::winner();
    view.verdict.ratios[1].low = None;
    assert!(composed(&view).contains("unpack is 14 % faster than with the next, xfs/bfq"));
    view.verdict.ratios.truncate(1);
    assert_eq!(
        composed(&view),
        "xfs/none is best on unpack.elapsed_durable (95 % confidence, 8 rounds)."
    );
    view.verdict.rounds = 0;
    assert_eq!(composed(&view), "xfs/none is best on unpack.elapsed_durable (no complete round).");
}

#[test]
fn a_tie_lists_its_set_and_an_open_verdict_what_it_takes() {
    assert_eq!(
        composed(&fixture::tie()),
        "Take any of xfs/none and xfs/bfq: on unpack.elapsed_durable no other is better by more than the tie width of 2 % (95 % confidence, 8 rounds). With xfs/none, unpack is 1.8 times as fast (1.7 to 1.9) as with the last, ext4/none."
    );
    assert_eq!(
        composed(&fixture::unresolved()),
        "No stack is shown to be best on unpack.elapsed_durable: the intervals are too wide after 8 rounds; about 23 rounds would decide it, or a wider tie. Still possible: xfs/none and ext4/none."
    );
    let mut empty = fixture::unresolved();
    empty.verdict.stacks.clear();
    assert!(composed(&empty).ends_with("or a wider tie."));
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

#[test]
fn virtual_hours_come_with_the_time_on_the_host() {
    let mut view = fixture::unresolved();
    let more = 3_600_000_000_000;
    view.verdict.evidence.needed =
        Some(seekwell_model::verdict::Needed { rounds: 23, more_ns: more, probability: None });
    assert!(!composed(&view).contains("virtual"));
    view.backend = "virtual".to_owned();
    assert!(composed(&view).contains(" The time is virtual time. Still possible"));
    let ran: u64 = view.records.iter().map(|(_, record)| record.elapsed_ns).sum();
    view.host_ns = Some(ran);
    assert!(
        composed(&view).contains(" The time is virtual time; the host needs about 1 h 00 min"),
        "{}",
        composed(&view)
    );
}

#[test]
fn the_sentence_of_the_verdict_comes_first_and_is_not_changed() {
    let mut view = fixture::winner();
    view.verdict.decision = Some(Decision::Winner);
    view.verdict.sentence = "xfs/none is the best.".to_owned();
    let said = verdict_sentences(&view);
    assert_eq!(said[0], "xfs/none is the best.");
    assert!(said[1].starts_with("Better than each of the 2 others"), "{said:?}");
    assert!(said[1].ends_with("(95 % confidence, 8 rounds)."), "{said:?}");
    view.verdict.sentence.clear();
    assert_eq!(verdict_sentences(&view)[0], composed(&view));
}

#[test]
fn ties_are_told_apart() {
    let word = |decision| decision_word(VerdictKind::Tie, decision);
    assert_eq!(word(Some(Decision::BestChoice)), "Best choice");
    assert_eq!(word(Some(Decision::EquivalentSet)), "Equivalent");
    assert_eq!(word(None), "Tie");
}
