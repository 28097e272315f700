use super::*;
use crate::fixture;

#[test]
fn the_answer_comes_first_then_its_basis_then_the_doubt() {
    assert_eq!(
        verdict_sentences(&fixture::demo()),
        [
            "Pick ext4 with scheduler none: at most 11 % slower than the best of the nine.",
            "xfs and the other schedulers are too close to call. btrfs is out: it takes 1.7 times as long (1.6 to 1.8). 95 % confidence, 14 rounds.",
            "Main doubt: A result shifts by up to 17 % with the stack that ran before it, more than the lab's tie of 5 %. Double the work: files = 16_000.",
        ]
    );
}

#[test]
fn the_verdict_of_an_older_file_is_one_line() {
    let mut view = fixture::demo();
    let mut stored = fixture::unresolved().verdict;
    stored.method = 3;
    view.stored = Some(stored);
    assert!(
        verdict_sentences(&view)
            .contains(&"An earlier version (method 3) judged this run: inconclusive.".to_owned())
    );
    view.stored = Some(fixture::winner().verdict);
    assert_eq!(
        earlier(&view).unwrap(),
        "An earlier version (method 0) judged this run: winner (xfs/none)."
    );
}

#[test]
fn two_groups_of_values_are_told_as_two() {
    let mut view = fixture::winner();
    assert_eq!(grouped_values(&view), None);
    for (trial, record) in view.records.iter_mut().filter(|(trial, _)| trial.candidate == 0) {
        let step = record.steps.iter_mut().find(|step| step.name == "unpack").unwrap();
        let value = if trial.round % 2 == 0 { 0.7 } else { 4.5 };
        step.metrics.insert("elapsed_durable".to_owned(), value);
    }
    assert_eq!(
        grouped_values(&view).unwrap(),
        "The values of ext4/none fall into two groups: 4 trials near 700 ms, 4 near 4.50 s. No trial was near their median."
    );
    let text = fixture::everything(&view, 120);
    assert!(text.contains("700, 4500"), "{text}");
}

#[test]
fn ties_are_told_apart() {
    let word = |decision| decision_word(VerdictKind::Tie, decision);
    assert_eq!(word(Some(Decision::BestChoice)), "Best choice");
    assert_eq!(word(Some(Decision::EquivalentSet)), "Equivalent");
    assert_eq!(word(None), "Tie");
}
