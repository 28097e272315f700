use super::*;
use crate::fixture;
use seekwell_model::lab::Effort;
use seekwell_model::units::Nanos;

fn small() -> Plan {
    let mut plan = fixture::winner().plan;
    plan.left_out = fixture::left_out();
    plan.warnings = fixture::warnings();
    plan
}

#[test]
fn a_plan_says_cost_order_and_what_is_left_out() {
    insta::assert_snapshot!(plan_text(&small(), &[], 80));
}

#[test]
fn a_budget_and_an_unknown_amount_are_said() {
    let mut plan = small();
    plan.lab.judge.effort = Effort::Budget(Nanos::seconds(1800));
    plan.costs[0].written = None;
    let text = plan_text(&plan, &[], 80);
    assert!(text.contains("about 8 rounds in the budget of 30 min 00 s: 24 trials."), "{text}");
    assert!(text.contains("an unknown amount written"), "{text}");
}

#[test]
fn a_large_round_is_cut_and_says_how_much() {
    let stacks = (0..100).map(|index| {
        let mut stack = fixture::stack("ext4", "none");
        stack.label = format!("stack-{index}");
        stack
    });
    let text = plan_text(&fixture::plan(stacks.collect()), &[], 80);
    assert!(text.contains("stack-39 ") && !text.contains("stack-40 "));
    assert!(text.contains("  and 60 more\n"));
}

#[test]
fn an_empty_plan_is_no_reason_to_fail() {
    let text = plan_text(&fixture::plan(vec![]), &[], 80);
    assert!(text.contains("No trials to run."), "{text}");
}

#[test]
fn every_line_keeps_the_width() {
    let mut plan = small();
    plan.stacks[0].label = "device[nr_requests=4]/".repeat(6);
    for width in [60, 72, 80, 120] {
        let text = plan_text(&plan, &[], width);
        let wide = text.lines().find(|line| crate::text::width(line) > width);
        assert_eq!(wide, None, "{width}");
    }
}

#[test]
fn a_race_says_its_stages_and_its_range() {
    let mut plan = small();
    plan.race = Some(seekwell_model::plan::PlannedRace {
        method: 1,
        pilot: vec![0, 1],
        pilot_rounds: 2,
        screen: vec![24, 12],
        finalists: 8,
        looks: vec![10, 20, 40, 80],
    });
    let text = plan_text(&plan, &[], 100);
    let head: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).skip(1).collect();
    let words: Vec<&str> = head.iter().flat_map(|line| line.split_whitespace()).collect();
    assert_eq!(
        words.join(" "),
        "3 stacks × 1 workload in a race: 120 to 680 trials. A pilot of 2 stacks in 2 rounds; a \
         screen that keeps the better half until 8 remain; a final of fresh rounds among them, \
         which can end after 10, 20, 40 and 80 rounds. Predicted, before anything was measured: 3 min 12 s to 18 min 08 s, at \
         most 29.9 GB written to the devices; judged on unpack.elapsed_durable."
    );

    // Few stacks need neither pilot nor screen.
    plan.race.as_mut().unwrap().pilot.clear();
    let text = plan_text(&plan, &[], 1000);
    assert!(
        text.contains(
            "trials. Each round runs the stacks that are not out yet; it can end after 10, 20, 40 and 80 rounds."
        ),
        "{text}"
    );

    // Many looks are one phrase.
    plan.race.as_mut().unwrap().looks = vec![6, 8, 10, 13, 16, 20, 25, 1000];
    let text = plan_text(&plan, &[], 1000);
    assert!(text.contains("it can end after 6, 8, 10 … 1000 rounds (8 looks)."), "{text}");
}

#[test]
fn a_race_is_predicted_up_to_its_budget_and_says_when_that_is_too_small() {
    let race = seekwell_model::plan::PlannedRace {
        method: 1,
        pilot: vec![0, 1],
        pilot_rounds: 2,
        screen: vec![24, 12],
        finalists: 8,
        looks: vec![10, 20, 40, 80],
    };
    let text = |seconds: u64| {
        let mut plan = small();
        plan.race = Some(race.clone());
        plan.lab.judge.effort = Effort::Budget(Nanos::seconds(seconds));
        plan_text(&plan, &[], 200).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // Ten minutes pay for more than the least, one does not.
    let enough = text(600);
    assert!(enough.contains("3 min 12 s to 10 min"), "{enough}");
    assert!(!enough.contains("more than the budget"), "{enough}");
    assert!(
        enough.contains(
            "can end after 10, 20 and 40 rounds, or when the budget of 10 min 00 s is used"
        ),
        "{enough}"
    );
    let short = text(60);
    assert!(short.contains("measured: 3 min 12 s,"), "{short}");
    assert!(short.contains("That is more than the budget of 1 min 00 s"), "{short}");
}

#[test]
fn effects_are_listed_without_control_characters() {
    let effects = ["writes /dev/\u{1b}[31mred whole".to_owned(), "runs mkfs: mkfs.ext4".to_owned()];
    let text = plan_text(&small(), &effects, 80);
    let (_, list) = text.split_once("A run of this lab, as root:\n").unwrap();
    assert!(list.contains("  - runs mkfs: mkfs.ext4\n"), "{list}");
    assert!(list.contains("red whole") && !list.contains('\u{1b}'), "{list}");
    assert!(!plan_text(&small(), &[], 80).contains("as root:"));
}

#[test]
fn nine_stacks_with_their_effects_fit_a_screen() {
    let kinds = ["ext4", "xfs", "btrfs"];
    let schedulers = ["none", "mq-deadline", "bfq"];
    let stacks = kinds.iter().flat_map(|kind| schedulers.map(|one| fixture::stack(kind, one)));
    let mut plan = fixture::plan(stacks.collect());
    plan.race = Some(seekwell_model::plan::PlannedRace {
        method: 1,
        pilot: vec![],
        pilot_rounds: 0,
        screen: vec![],
        finalists: 9,
        looks: vec![6, 8, 10, 13, 16, 20, 25, 1000],
    });
    let effects = ["mkfs".repeat(30), "a".repeat(40), "b".repeat(40), "c".repeat(40)];
    for width in [80, 100, 120] {
        let text = plan_text(&plan, &effects, width);
        assert!(text.lines().count() <= 23, "{}\n{text}", text.lines().count());
        for stack in &plan.stacks {
            assert!(text.contains(&stack.label), "{text}");
        }
    }
}
