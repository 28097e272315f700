use super::*;
use crate::fixture;
use crate::{Inside, PageTrials};
use seekwell_model::power_cut::CutLosses;

fn durability(
    stack: &str,
    known: DurabilityClass,
    class: DurabilityClass,
    lost_synced: u64,
) -> StackDurability {
    let cuts =
        CutCounts { cuts: 100, survived: 100 - lost_synced, lost_synced, ..CutCounts::default() };
    StackDurability {
        stack: stack.to_owned(),
        class,
        reasons: vec![],
        cuts: Some(cuts),
        known: Some(known),
    }
}

/// `xfs/none` keeps what was synced; `xfs/bfq` is a fifth faster and does not; `ext4/none` is slow, and loses order.
fn view() -> RunView {
    use DurabilityClass::{Synced, Unordered, Unsafe};
    let mut view = fixture::winner();
    view.verdict.evidence.durability = vec![
        durability("ext4/none", Unordered, Unordered, 0),
        durability("xfs/none", Synced, Synced, 0),
        durability("xfs/bfq", Synced, Unsafe, 3),
    ];
    let faster = &mut view.verdict.ratios[1];
    (faster.ratio, faster.low, faster.high) = (Some(0.8), Some(0.7), Some(0.9));
    view
}

#[test]
fn each_loss_has_its_fastest_stack_and_the_speed_that_it_buys() {
    insta::assert_snapshot!(sentences(&view()).join("\n"), @r"
    Nothing synced was lost in 100 power cuts, so at most 1 in 33 loses some, with 95 %; fastest is xfs/none, the pick
    Synced data survives; other files may be lost, old or damaged; fastest is ext4/none: no faster than a stack that loses less
    3 of 100 power cuts lost synced data or the filesystem; fastest is xfs/bfq: 25 % faster (11 to 43 %)
    ");
}

#[test]
fn the_loss_of_the_worst_cut_is_named() {
    let losses = CutLosses { lost_files_max: 2, lost_bytes_max: 8192, ..CutLosses::default() };
    let mut view = view();
    let cuts = view.verdict.evidence.durability[2].cuts.as_mut().unwrap();
    cuts.losses = Some(losses);
    let expected =
        "3 of 100 power cuts lost synced data or the filesystem, at worst 2 files and 8192 bytes; ";
    assert!(sentences(&view)[2].starts_with(expected), "{:?}", sentences(&view));
    assert!(loss_bound(300).contains("1 in 100 "), "{}", loss_bound(300));
}

#[test]
fn the_loss_of_a_database_is_in_transactions() {
    let losses = CutLosses {
        lost_bytes_max: 8192,
        lost_transactions_max: Some(168),
        ..CutLosses::default()
    };
    let mut counts = CutCounts { losses: Some(losses), ..CutCounts::default() };
    assert_eq!(worst(&counts), ", at worst 168 committed transactions");
    counts.losses.as_mut().unwrap().lost_transactions_max = Some(0);
    assert_eq!(worst(&counts), ", at worst 8192 bytes");
}

#[test]
fn the_wear_of_the_pick_and_of_the_worst_stack_is_a_line() {
    assert_eq!(wear(&view()), None);
    let view = worn(12.5);
    let said = wear(&view).unwrap();
    let expected =
        "xfs/none erases 0.250 flash blocks per MB written and reaches its rating in 12.5 years; ";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.ends_with(" erases 1.50 flash blocks per MB written"), "{said}");
}

#[test]
fn flash_that_lasts_less_than_a_year_is_part_of_the_answer() {
    let said = |years| crate::answer_text::AnswerText::of(&worn(years)).weaker.unwrap_or_default();
    let part = "Run without a pause, this load reaches the rated erases of the pick's flash in ";
    assert!(said(0.5).contains(part), "{}", said(0.5));
    assert!(!said(1.5).contains(part), "{}", said(1.5));
}

/// A run whose pick reaches its rating after these years.
fn worn(pick_years: f64) -> RunView {
    let mut view = view();
    let [erases, years] = view.wear().map(|column| column.metric);
    let labels: Vec<String> = view.plan.stacks.iter().map(|stack| stack.label.clone()).collect();
    for (trial, record) in &mut view.records {
        let stack = view.plan.candidates[trial.candidate as usize].stack as usize;
        let is_pick = labels[stack] == "xfs/none";
        let step = record.steps.iter_mut().find(|step| erases.starts_with(&step.name)).unwrap();
        let mut add = |metric: &str, value: f64| {
            let (_, name) = metric.split_once('.').unwrap();
            step.metrics.insert(name.to_owned(), value);
        };
        add(&erases, if is_pick { 0.25 } else { 1.5 });
        if is_pick {
            add(&years, pick_years);
        }
    }
    view
}

#[test]
fn a_gain_that_is_not_shown_is_none() {
    let mut view = view();
    view.verdict.ratios[1].high = Some(1.1);
    let said = sentences(&view);
    assert!(said[2].ends_with("fastest is xfs/bfq: not shown to be faster"), "{said:?}");
}

#[test]
fn stacks_that_lose_alike_are_no_picture() {
    let mut view = view();
    for one in &mut view.verdict.evidence.durability {
        *one = durability(&one.stack, DurabilityClass::Synced, DurabilityClass::Synced, 0);
    }
    assert_eq!(sentences(&view), Vec::<String>::new());
}

#[test]
fn the_page_draws_a_mark_for_each_stack_and_fills_those_worth_their_loss() {
    let page = crate::HtmlPage::of(&view(), &PageTrials::default(), "a.seekwell", Inside::Nothing)
        .text(&[]);
    let start = page.find("id=\"frontier\"").unwrap();
    let picture = &page[start..start + page[start..].find("</table>").unwrap()];
    assert_eq!(picture.matches("<circle r=\"5\"").count(), 2, "{picture}");
    assert_eq!(picture.matches("<circle r=\"3\"").count(), 1, "{picture}");
    assert!(
        picture.contains("3 of 100 power cuts lost synced data or the filesystem"),
        "{picture}"
    );
}

#[test]
fn a_stack_that_breaks_its_promise_is_said_before_the_rest() {
    let text = fixture::screen(&view(), 120);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let promise = "None of 100 power cuts took synced data from the pick. xfs with scheduler bfq keeps synced data by its \
                   options, but 3 of 100 power cuts took";
    assert!(text.contains(promise), "{text}");
}
