use super::*;
use crate::fixture;
use seekwell_model::answer::{Depends, Trend, Weaker};
use seekwell_model::lab::Better;
use seekwell_model::verdict::{AxisFound, DurabilityClass};

/// The sentences, one per line.
fn said(view: &RunView) -> String {
    let text = AnswerText::of(view);
    let mut lines = vec![joined(&text.pick)];
    lines.extend(text.cause.clone());
    lines.extend(text.close.iter().chain(&text.out).map(|spans| joined(spans)));
    lines.push(text.basis);
    lines.extend(text.weaker);
    lines.extend(text.doubt.iter().map(|doubt| format!("{} {}", doubt.text, doubt.remedy)));
    lines.extend(text.axes.iter().map(|line| format!("{}: {}", line.axis, line.text)));
    lines.join("\n")
}

fn changed(change: impl FnOnce(&mut RunView, &mut Answer)) -> String {
    let mut view = fixture::demo();
    let mut answer = view.verdict.answer.take().unwrap();
    change(&mut view, &mut answer);
    view.verdict.answer = Some(answer);
    said(&view)
}

/// Leaves one filesystem, against which btrfs has this average.
fn leave_ext4(answer: &mut Answer, average: (f64, Option<f64>, Option<f64>)) {
    let axis = answer.axes.iter_mut().find(|axis| axis.axis == "filesystem").unwrap();
    axis.left = vec!["ext4".to_owned()];
    (axis.within, axis.single) = (None, None);
    axis.out.truncate(1);
    let out = &mut axis.out[0];
    (out.ratio, out.low, out.high) = average;
}

fn first(text: &str) -> &str {
    text.lines().next().unwrap()
}

#[test]
fn the_demo_says_pick_cost_close_out_doubt_and_axes() {
    assert_eq!(
        said(&fixture::demo()),
        "Pick ext4 with scheduler none: at most 11 % slower than the best of the nine.\n\
         xfs and the other schedulers are too close to call.\n\
         btrfs is out: it takes 1.7 times as long (1.6 to 1.8).\n\
         95 % confidence, 14 rounds.\n\
         A result shifts by up to 17 % with the stack that ran before it, more than the lab's tie of 5 %. Double the work: files = 16_000.\n\
         filesystem: ext4 or xfs, within 5.6 % of each other averaged over the schedulers (up to 12 % in single combinations); btrfs takes 1.7 times as long as ext4 (1.6 to 1.8).\n\
         scheduler: no difference above 10 %, averaged over ext4 and xfs."
    );
}

#[test]
fn verdicts_without_an_answer_have_one_that_follows_from_them() {
    let winner = said(&fixture::winner());
    assert_eq!(
        winner,
        "Pick xfs with scheduler none: it is the best of the three.\n\
         Every other stack is out. Next is xfs/bfq: it takes 14 % longer (9 to 19 %). Last is ext4/none: it takes 1.8 times as long (1.7 to 1.9).\n\
         95 % confidence, 8 rounds."
    );
    assert!(
        said(&fixture::tie()).starts_with(
            "Pick xfs with scheduler none: at most 2 % slower than the best of the three.\n\
             xfs/bfq is too close to call.\n\
             ext4 is out: it takes 1.8 times as long (1.7 to 1.9).\n\
             95 % confidence, 8 rounds; the bound is within the lab's tie of 2 %."
        ),
        "{}",
        said(&fixture::tie())
    );
    assert!(
        said(&fixture::unresolved())
            .starts_with("If you must choose: xfs/none.\nThe intervals are too wide"),
        "{}",
        said(&fixture::unresolved())
    );
}

#[test]
fn a_stack_whose_difference_nobody_notices_is_as_good_as_the_pick() {
    let mut view = fixture::winner();
    let row = view.verdict.ratios.iter_mut().find(|row| row.stack == "xfs/bfq").unwrap();
    (row.ratio, row.low, row.high) = (Some(1.0001), Some(1.0001), Some(1.0001));
    assert!(
        said(&view).contains(
            "xfs/bfq is as good.\nEvery other stack is out. Next is ext4/none: it takes 1.8 times"
        ),
        "{}",
        said(&view)
    );
}

#[test]
fn a_value_that_is_out_and_better_on_average_is_compared_with_the_rest_of_the_pick() {
    let text = changed(|_, answer| {
        leave_ext4(answer, (0.8, None, None));
    });
    assert!(
        text.contains(
            "filesystem: ext4 is best; btrfs takes 1.7 times as long as ext4 (1.4 to 2.0) with the pick's \
             scheduler."
        ),
        "{text}"
    );
}

#[test]
fn an_average_that_differs_from_the_picks_own_combination_is_not_said() {
    let text = changed(|_, answer| {
        leave_ext4(answer, (1.2, Some(1.1), Some(1.3)));
    });
    let said = "filesystem: ext4 is best; btrfs takes 1.7 times as long as ext4 (1.4 to 2.0) with the pick's scheduler.";
    assert!(text.contains(said), "{text}");
}

#[test]
fn a_value_whose_average_shows_no_difference_is_not_worse() {
    let with = |own: f64| {
        changed(|view, answer| {
            let row = view.verdict.ratios.iter_mut().find(|row| row.stack == "btrfs/none").unwrap();
            (row.ratio, row.low, row.high) = (Some(own), Some(own - 0.01), Some(own + 0.01));
            leave_ext4(answer, (1.001, Some(0.99), Some(1.008)));
        })
    };
    let text = with(1.005);
    assert!(text.contains("filesystem: no difference above 1.0 %.\n"), "{text}");
    // What the pick's own combination shows is not withheld.
    let text = with(1.1);
    assert!(
        text.contains("filesystem: ext4 is best; btrfs takes 10 % longer than ext4 (9 to 11 %) with the pick's scheduler.\n"),
        "{text}"
    );
}

#[test]
fn a_loss_above_half_is_a_guess_and_says_how_far_off_it_may_be() {
    let text = changed(|_, answer| answer.loss = Some(0.8));
    assert!(
        text.starts_with(
            "If you must choose: ext4 with scheduler none.\n\
             Another may be far better, up to 1.8 times as fast: "
        ),
        "{text}"
    );
}

#[test]
fn failures_that_leave_no_bound_are_the_cause() {
    let text = changed(|_, answer| {
        answer.loss = None;
        answer.cause = Some(
            "3 of 20 trials of xfs/none failed; had they ended, they could change the choice"
                .to_owned(),
        );
    });
    assert!(
        text.starts_with(
            "If you must choose: ext4 with scheduler none.\n\
             3 of 20 trials of xfs/none failed; had they ended, they could change the choice.\n"
        ),
        "{text}"
    );
    assert!(text.contains("\n14 rounds.\n"), "{text}");
}

#[test]
fn a_run_without_a_pick_begins_with_the_reason() {
    let text = changed(|_, answer| {
        *answer = Answer {
            cause: Some("no stack ran every workload: nothing is compared".to_owned()),
            ..Answer::default()
        };
    });
    assert_eq!(first(&text), "No stack ran every workload: nothing is compared.");
}

#[test]
fn an_unfinished_run_says_so_in_the_same_sentence() {
    let text = changed(|view, answer| {
        view.is_over = false;
        answer.rounds = 4;
    });
    assert_eq!(
        first(&text),
        "So far, after 4 of 8 rounds: pick ext4 with scheduler none, at most 11 % slower than the best of the nine."
    );
}

#[test]
fn two_stacks_and_one_are_counted_as_people_do() {
    let pick = |among: u32, loss: f64| {
        first(&changed(|_, answer| {
            (answer.among, answer.loss) = (among, Some(loss));
            answer.close.clear();
        }))
        .to_owned()
    };
    let start = "Pick ext4 with scheduler none: ";
    assert_eq!(pick(2, 0.03), format!("{start}at most 3 % slower than the other."));
    assert_eq!(pick(2, 0.0), format!("{start}it is the better of the two."));
    assert_eq!(pick(126, 0.03), format!("{start}at most 3 % slower than the best of the 126."));
    assert_eq!(pick(1, 0.0), format!("{start}no other stack has a value."));
    let open = changed(|_, answer| answer.loss = Some(0.0));
    assert_eq!(first(&open), format!("{start}no other is shown to be better."));
}

#[test]
fn stacks_that_are_no_product_of_values_are_named() {
    let text =
        changed(|_, answer| answer.close = vec!["xfs/bfq".to_owned(), "ext4/bfq".to_owned()]);
    assert!(text.contains("\nxfs/bfq and ext4/bfq are too close to call.\n"), "{text}");
    let text = changed(|_, answer| {
        answer.close = vec!["ext4/bfq".to_owned(), "ext4/mq-deadline".to_owned()];
        answer.out.insert(0, "xfs/none".to_owned());
    });
    assert!(text.contains("\nThe other schedulers are too close to call.\n"), "{text}");
    assert!(
        text.contains("(1.6 to 1.8). xfs/none is out too: it takes 3 % longer (-6 to 14 %)."),
        "{text}"
    );
}

#[test]
fn rates_are_told_from_the_better_side_and_never_as_a_small_ratio() {
    let text = changed(|view, answer| {
        view.verdict.metric = "sweep.read_iops".to_owned();
        view.verdict.better = Better::Higher;
        for row in &mut view.verdict.ratios {
            (row.ratio, row.low, row.high) = (Some(0.16), Some(0.14), Some(0.2));
        }
        let out = &mut answer.axes[0].out[0];
        (out.ratio, out.low, out.high) = (0.16, Some(0.14), Some(0.2));
    });
    assert!(
        text.contains(
            "btrfs is out: the pick does 6.2 times as many reads per second (5.0 to 7.1)."
        ),
        "{text}"
    );
    assert!(
        text.contains("; ext4 does 6.2 times as many reads per second as btrfs (5.0 to 7.1)"),
        "{text}"
    );
}

/// One clause of a metric, the worse side by so much.
fn clause(metric: &str, better: Better, ratio: f64) -> String {
    let mut view = fixture::demo();
    view.verdict.metric = metric.to_owned();
    view.verdict.better = better;
    let sides = Sides { worse: "a", is_plural: false, better: "b", both: true };
    Measure::of(&view).clause(&sides, Effect::one(better, ratio, None, None))
}

#[test]
fn each_kind_of_metric_has_its_words() {
    use Better::{Higher, Lower};
    assert_eq!(clause("unpack.elapsed", Lower, 1.7), "a takes 1.7 times as long as b");
    assert_eq!(clause("unpack.elapsed", Lower, 1.14), "a takes 14 % longer than b");
    assert_eq!(
        clause("log.latency_p99", Lower, 1.7),
        "the latency p99 of a is 1.7 times as long as that of b"
    );
    assert_eq!(clause("x.write_iops", Higher, 0.8), "a does 20 % fewer writes per second than b");
    assert_eq!(clause("x.mb_per_s", Higher, 0.5), "b does 2.0 times as many MB per second as a");
    assert_eq!(clause("x.extents", Lower, 3.0), "a has 3.0 times the extents of b");
    assert_eq!(clause("x.score", Higher, 0.5), "b has 2.0 times the value of a");
    assert_eq!(clause("x.score", Higher, 0.9), "the value of a is 10 % lower than that of b");
    assert_eq!(clause("x.pages", Lower, 1.3), "the value of a is 30 % higher than that of b");
    assert_eq!(clause("unpack.elapsed", Lower, 1.0), "a does not differ from b");
    let group = Sides { worse: "they", is_plural: true, better: "b", both: false };
    let some = |least| Effect { from: least, to: 1.7, ends: None };
    assert_eq!(Measure::Time.clause(&group, some(1.04)), "they take up to 1.7 times as long");
    assert_eq!(Measure::Time.clause(&group, some(1.1)), "they take 1.1 to 1.7 times as long");
}

#[test]
fn combinations_whose_interval_holds_no_difference_are_not_listed_as_one() {
    let with = |low: f64| {
        changed(|_, answer| {
            let one = |with: &str, low: f64| Depends {
                with: with.to_owned(),
                best: "none".to_owned(),
                worst: "bfq".to_owned(),
                ratio: 1.3,
                low: Some(low),
                high: Some(1.8),
            };
            answer.axes[1].depends = vec![one("ext4", low), one("xfs", 0.9)];
        })
    };
    let text = with(1.1);
    assert!(
        text.ends_with(
            "with ext4 bfq takes 30 % longer than none (10 to 80 %); with xfs no difference is shown."
        ),
        "{text}"
    );
    let text = with(0.9);
    assert!(
        text.ends_with(
            "scheduler: depends on the filesystem, but no combination shows a difference by itself."
        ),
        "{text}"
    );
}

#[test]
fn an_open_axis_names_the_values_that_are_out_with_the_rest_of_the_pick() {
    let text = |depends: bool, out: &[&str]| {
        changed(|_, answer| {
            let axis = &mut answer.axes[1];
            axis.left = ["none", "bfq"].map(str::to_owned).to_vec();
            (axis.out, axis.within) = (vec![], Some(2.0));
            let one = Depends { with: "ext4".to_owned(), low: Some(0.9), ..Depends::default() };
            axis.depends = if depends { vec![one] } else { vec![] };
            answer.out = out.iter().map(|label| (*label).to_owned()).collect();
        })
    };
    let ends = |depends, out: &[&str], end: &str| {
        let text = text(depends, out);
        assert!(text.ends_with(end), "{text}");
    };
    ends(false, &["xfs/bfq"], "scheduler: too close to call.");
    ends(
        false,
        &["xfs/bfq", "ext4/bfq"],
        "scheduler: too close to call; bfq is out with the pick's filesystem.",
    );
    ends(
        true,
        &["ext4/bfq"],
        "scheduler: depends on the filesystem; bfq is out with the pick's filesystem.",
    );
}

#[test]
fn values_that_may_be_far_apart_are_not_said_to_be_within_that_of_each_other() {
    let text = changed(|_, answer| answer.axes[0].within = Some(0.51));
    assert!(
        text.contains("ext4 and xfs are too close to call, at most 51 % apart averaged over"),
        "{text}"
    );
}

#[test]
fn an_axis_that_depends_on_another_has_one_clause_per_combination() {
    let text = changed(|_, answer| {
        let one = |with: &str, best: &str, worst: &str| Depends {
            with: with.to_owned(),
            best: best.to_owned(),
            worst: worst.to_owned(),
            ratio: 1.3,
            low: Some(1.2),
            high: Some(1.4),
        };
        answer.axes[1].depends = vec![one("ext4", "none", "bfq"), one("xfs", "bfq", "none")];
    });
    assert!(text.ends_with(
        "scheduler: depends on the filesystem: with ext4 bfq takes 30 % longer than none (20 to 40 %); with xfs none takes 30 % longer than bfq (20 to 40 %)."
    ), "{text}");
}

#[test]
fn ordered_values_have_a_trend() {
    let line = |ratio: f64, low: f64, high: f64| {
        let text = changed(|_, answer| {
            answer.axes[1].trend = Some(Trend {
                from: "4k".to_owned(),
                to: "1m".to_owned(),
                ratio,
                low: Some(low),
                high: Some(high),
                steady: true,
            });
        });
        text.lines().last().unwrap().rsplit("; ").next().unwrap().to_owned()
    };
    assert_eq!(
        line(0.5, 0.4, 0.6),
        "from 4k to 1m it gets 2.0 times as fast (1.7 to 2.5), step by step."
    );
    assert_eq!(
        line(1.7, 1.5, 1.9),
        "from 4k to 1m it takes 1.7 times as long (1.5 to 1.9), step by step."
    );
}

#[test]
fn faster_stacks_that_lose_data_are_one_sentence() {
    let text = changed(|_, answer| {
        answer.weaker = Some(Weaker {
            stacks: 3,
            stack: "btrfs/none".to_owned(),
            class: DurabilityClass::Unsafe,
            pick_class: DurabilityClass::Synced,
            ratio: Some(0.5),
            low: Some(0.45),
            high: Some(0.55),
            loses: "lost data that a sync had returned for in 27 of 30 power cuts".to_owned(),
        });
    });
    assert!(text.contains(
        "\nbtrfs with scheduler none would be 2.0 times as fast (1.8 to 2.2), but lost data that a sync had returned for in 27 of 30 power cuts: it and two others that may lose data are not eligible.\n"
    ), "{text}");
}

#[test]
fn a_faster_stack_that_may_be_slower_has_no_size() {
    let with = |ratio: f64, low: f64, high: f64| {
        changed(|_, answer| {
            answer.weaker = Some(Weaker {
                stacks: 1,
                stack: "btrfs/none".to_owned(),
                class: DurabilityClass::Unordered,
                pick_class: DurabilityClass::Synced,
                ratio: Some(ratio),
                low: Some(low),
                high: Some(high),
                loses: "it has no journal".to_owned(),
            });
        })
    };
    let open = with(0.95, 0.9, 1.05);
    assert!(open.contains("\nbtrfs with scheduler none may be faster, but it has no journal: it is not eligible.\n"), "{open}");
    let none = with(1.0001, 1.0, 1.0002);
    assert!(none.contains("\nbtrfs with scheduler none would be no faster, and it has no journal: it is not eligible.\n"), "{none}");
}

#[test]
fn values_a_little_behind_have_a_sentence_of_their_own_and_no_average_hides_a_combination() {
    let text = changed(|view, answer| {
        for row in &mut view.verdict.ratios {
            if row.stack.starts_with("xfs/") {
                (row.ratio, row.low, row.high) = (Some(1.1), Some(1.05), Some(1.15));
            }
        }
        let stacks = answer.close.iter().filter(|stack| stack.starts_with("xfs/")).cloned();
        let out: Vec<String> = stacks.chain(answer.out.clone()).collect();
        answer.close.retain(|stack| !out.contains(stack));
        answer.out = out;
    });
    assert!(
        text.contains("\nxfs is out: it takes 10 % longer. btrfs is out too: it takes 1.7 times as long (1.6 to 1.8).\n"),
        "{text}"
    );
}

fn axes() -> Vec<AxisFound> {
    let filesystem = AxisFound {
        axis: "filesystem".to_owned(),
        highest: "ext4".to_owned(),
        lowest: "xfs".to_owned(),
        ratio: 1.74,
        low: Some(1.66),
        high: Some(1.83),
        measurable: true,
        at_most: Some(1.83),
        share: 0.93,
        confirmed: true,
        beside: vec![],
    };
    let scheduler = AxisFound {
        axis: "scheduler".to_owned(),
        highest: "bfq".to_owned(),
        lowest: "none".to_owned(),
        ratio: 1.01,
        low: Some(0.99),
        high: Some(1.021),
        measurable: false,
        at_most: Some(1.021),
        share: 0.01,
        confirmed: false,
        beside: vec![],
    };
    vec![filesystem, scheduler]
}

#[test]
fn axes_of_older_verdicts_are_said_from_the_worse_value() {
    let mut view = fixture::winner();
    view.verdict.evidence.axes = axes();
    let lines = |view: &RunView| {
        AnswerText::of(view).axes.into_iter().map(|line| line.text).collect::<Vec<_>>()
    };
    assert_eq!(
        lines(&view),
        [
            "xfs is best; ext4 takes 1.7 times as long as xfs (1.7 to 1.8).",
            "no difference above 2.1 %, averaged over the other axes.",
        ]
    );
    view.verdict.metric = "seek.read_iops".to_owned();
    view.verdict.better = Better::Higher;
    assert_eq!(
        lines(&view)[0],
        "ext4 is best; ext4 does 1.7 times as many reads per second as xfs (1.7 to 1.8)."
    );
}

#[test]
fn a_difference_that_rounds_to_nothing_is_none() {
    let text = changed(|_, answer| {
        answer.axes[0].left.truncate(1);
        let out = &mut answer.axes[0].out[0];
        (out.ratio, out.low, out.high) = (1.0002, Some(1.0001), Some(1.0003));
    });
    // Stacks that are out differ in it.
    assert!(text.contains("\nfilesystem: no difference with the pick's scheduler.\n"), "{text}");
}

#[test]
fn the_doubt_is_a_warning_that_could_change_the_pick() {
    let doubt_of = |kind, warnings: &[(WarningCode, &str)]| {
        let mut view = fixture::demo();
        view.verdict.kind = kind;
        if let Some(answer) = &mut view.verdict.answer {
            answer.doubt = None;
        }
        view.warnings = warnings.iter().map(|(code, text)| Warning::new(*code, *text)).collect();
        AnswerText::of(&view).doubt.map(|doubt| doubt.text)
    };
    let doubt = |warnings: &[(WarningCode, &str)]| doubt_of(VerdictKind::Unresolved, warnings);
    let short = (WarningCode::TooShort, "unpack: it took 0.1 s");
    let cramped =
        (WarningCode::DeviceSmallForFilesystem, "device \"disk\" is small for btrfs, which");
    let small_for_pick =
        (WarningCode::DeviceSmallForFilesystem, "device \"disk\" is small for ext4, which");
    let other_step = (WarningCode::TooShort, "remove: it took 0.1 s");
    assert_eq!(doubt(&[cramped, short]).as_deref(), Some("Unpack: it took 0.1 s."));
    assert_eq!(
        doubt(&[other_step, cramped]).as_deref(),
        Some("Device \"disk\" is small for btrfs, which.")
    );
    assert_eq!(doubt(&[other_step, small_for_pick]), None);
    let read =
        (WarningCode::DataSetInMemory, "less than the memory: the page cache in read, remove");
    assert_eq!(doubt(&[read]), None, "another step is judged");
    let judged =
        (WarningCode::DataSetInMemory, "less than the memory: the page cache in read, unpack");
    assert!(doubt(&[judged]).is_some());
    let free =
        (WarningCode::VirtualCpuFree, "virtual time counts no CPU time (9 times, in ext4, xfs)");
    assert_eq!(doubt(&[free]).as_deref(), Some("Virtual time counts no CPU time."), "busy 22 %");
    let others = (WarningCode::BusyProcessors, "other programs used 88 % of the CPUs (median)");
    assert_eq!(
        doubt(&[cramped, others]).as_deref(),
        Some("Other programs used 88 % of the CPUs (median).")
    );
    let own = (WarningCode::BusyProcessors, "processes waited for a CPU 93 % of the time");
    assert!(doubt(&[own]).is_some());
    assert_eq!(doubt_of(VerdictKind::Winner, &[own]), None, "threads of the workload");
}

#[test]
fn nothing_is_out_before_there_is_a_bound() {
    let text = changed(|view, answer| {
        view.is_over = false;
        answer.loss = None;
    });
    assert!(text.contains("\nbtrfs is behind so far: it takes 1.7 times"), "{text}");
}
