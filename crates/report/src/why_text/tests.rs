use super::*;
use crate::fixture::{everything, screen, winner};
use seekwell_model::why::{Counted, Improvement, Interaction, LAW, MODEL, Twin, WhatIf};

fn cause(laws: &[&str], amount: f64, counted: Option<Counted>) -> Cause {
    Cause { laws: laws.iter().map(|law| (*law).to_owned()).collect(), amount, counted }
}

/// `ext4/none` takes 0.7310 s and `xfs/none` 0.4120 s.
fn why() -> Why {
    let flushes = Counted { what: "flushes".to_owned(), at_worse: 412.0, at_better: 96.0 };
    let alike = Counted { what: "requests".to_owned(), at_worse: 1000.0, at_better: 990.0 };
    Why {
        better: "xfs/none".to_owned(),
        worse: "ext4/none".to_owned(),
        metric: "unpack.elapsed_durable".to_owned(),
        round: 3,
        at_better: 0.412,
        at_worse: 0.731,
        repeats: true,
        trials: 84,
        causes: vec![
            cause(&["flush"], 0.200_4, Some(flushes)),
            cause(&["seek"], 0.151, Some(alike)),
            cause(&["bus", "cells"], 0.000_2, None),
            cause(&["cpu"], -0.033, None),
        ],
        rest: 0.000_4,
        ..Why::default()
    }
}

fn explained(why: Why) -> RunView {
    RunView { why: Some(why), ..winner() }
}

#[test]
fn the_sentence_has_the_largest_causes_and_what_is_in_favour() {
    let text = WhyText::of(&explained(why())).unwrap();
    assert_eq!(
        text.sentence,
        "ext4/none takes 1.8 times as long as xfs/none: 63 % of the difference is waiting for flushes \
         (412 flushes against 96) and 47 % moving the arm; in its favour: CPU time (-10 %)."
    );
}

#[test]
fn counters_that_contradict_a_cause_are_left_out() {
    let mut why = why();
    let counted = why
        .causes
        .iter_mut()
        .find_map(|cause| cause.counted.as_mut().filter(|counted| counted.what == "flushes"));
    counted.unwrap().at_worse = 12.0;
    let text = WhyText::of(&explained(why)).unwrap();
    assert!(
        text.sentence.contains("63 % of the difference is waiting for flushes and 47 %"),
        "{}",
        text.sentence
    );
}

#[test]
fn printed_amounts_add_up() {
    let text = WhyText::of(&explained(why())).unwrap();
    assert_eq!(
        text.lines(60),
        [
            "xfs/none                        412 ms  ███████████",
            "waiting for flushes            +200 ms             █████",
            "moving the arm                 +151 ms                  ████",
            "bus and cells together           +1 ms",
            "CPU time                        −33 ms                     █",
            "timers and waits of the kernel   +0 ms",
            "ext4/none                       731 ms  ███████████████████",
        ]
    );
}

#[test]
fn interactions_and_another_build_are_noted() {
    let pair = |amount| Interaction { laws: ["seek".to_owned(), "flush".to_owned()], amount };
    let interactions = vec![pair(0.0638), pair(-0.0638)];
    let text = WhyText::of(&explained(Why { interactions, repeats: false, ..why() })).unwrap();
    assert_eq!(
        text.notes[0],
        "Only together moving the arm and waiting for flushes cost 20 % of the difference."
    );
    assert_eq!(
        text.notes[1],
        "Moving the arm and waiting for flushes hide each other: 20 % of the difference goes only without both."
    );
    assert!(text.notes[2].contains("round 3 were repeated 84 times"), "{}", text.notes[2]);
    assert!(text.notes[3].starts_with("This version measures"));
}

#[test]
fn single_improvements_of_the_better_stack_are_ranked_by_their_exact_gain() {
    let without =
        |law: &str, at_better| Improvement { law: law.to_owned(), at_better, at_worse: 0.731 };
    let improvements = vec![without("seek", 0.309), without("bus", 0.411), without("flush", 0.206)];
    let text = WhyText::of(&explained(Why { improvements, ..why() })).unwrap();
    let expected = "xfs/none alone would gain most without waiting for flushes (50 %) and moving the arm (25 %).";
    assert_eq!(text.notes[0], expected);
}

#[test]
fn every_report_shows_the_cause_and_a_law_of_a_later_version_by_name() {
    let mut later = why();
    later.causes[0].laws = vec!["gravity".to_owned()];
    let view = explained(later);
    let said = "63 % of the difference is gravity";
    let plain = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(plain(screen(&view, 100)).contains(said));
    assert!(plain(everything(&view, 100)).contains("Found by experiment"));
    assert!(crate::markdown(&view, false).contains(said));
    assert!(plain(why_text(&view, 80)).contains(said));
    assert_eq!(why_text(&winner(), 80), "");
}

#[test]
fn improvements_are_a_sentence_and_a_table() {
    let one = |part: &str, to: &str, cost| WhatIf {
        part: part.to_owned(),
        to: to.to_owned(),
        cost,
        ..WhatIf::default()
    };
    let weaker = WhatIf { is_weaker: true, ..one("filesystem", "ext2", Some(0.3)) };
    let what_if = vec![
        one(MODEL, "ssd-sata-250gb", Some(0.01)),
        WhatIf { price: Some(45), ..one("device", "card", Some(0.1)) },
        one(MODEL, "sd-card-4mib", Some(0.15)),
        one(LAW, "flush", Some(0.206)),
        weaker,
        one("memory", "1GiB", Some(0.42)),
        one(MODEL, "usb2-stick-512mb", None),
    ];
    let text = why_text(&explained(Why { what_if, ..why() }), 90);
    let table = text.lines().skip_while(|line| !line.starts_with("xfs/none, 412 ms"));
    let lines: Vec<&str> = table.take(8).collect();
    assert_eq!(
        lines,
        [
            "xfs/none, 412 ms as it is                                           cost   saves  price",
            "on ssd-sata-250gb                                                  10 ms    98 %      –",
            "with device card                                                  100 ms    76 %     45",
            "on sd-card-4mib                                                   150 ms    64 %      –",
            "without waiting for flushes (a drive with power-loss protection)  206 ms    50 %      –",
            "with filesystem ext2 (may lose data that it keeps)                300 ms    27 %      –",
            "with memory 1GiB                                                  420 ms  -1.9 %      –",
            "on usb2-stick-512mb                                                    –       –      –",
        ]
    );
    assert!(
        text.replace('\n', " ").contains(
            "xfs/none would be 41 times as fast on ssd-sata-250gb, 4.1 times as fast with device card and 2.0 times as \
             fast without waiting for flushes (a drive with power-loss protection)."
        ),
        "{text}"
    );
}

#[test]
fn a_comparison_without_a_tested_cause_names_the_command() {
    let said = "seekwell why 'my run.seekwell'";
    let untested = |view: &RunView| WhyText::untested(view, Path::new("my run.seekwell"));
    assert_eq!(untested(&winner()), Some(format!("no cause was tested: {said}")));
    assert_eq!(untested(&explained(why())), None);
    assert_eq!(untested(&RunView { is_over: false, ..winner() }), None);
}

#[test]
fn causes_on_a_real_machine_have_a_precision_and_limits() {
    let on_host = OnHost {
        rounds: 6,
        errors: vec![0.02, 0.01, 0.015, 0.005],
        not_tested: vec!["single laws".to_owned()],
        twin: None,
    };
    let causes = vec![cause(&["flush"], 0.2, None), cause(&[DEVICE], 0.1, None)];
    let told = Why { causes, rest: 0.019, on_host: Some(on_host.clone()), ..why() };
    let said = |errors: &[f64]| {
        let on_host = Some(OnHost { errors: errors.to_vec(), ..on_host.clone() });
        WhyText::of(&explained(Why { on_host, ..told.clone() })).unwrap().sentence
    };
    // What is within its noise is not said.
    let unknown = said(&[0.02, 0.01, 0.11, 0.03]);
    assert!(unknown.ends_with("63 % of the difference is waiting for flushes."), "{unknown}");
    assert_eq!(
        said(&[0.32, 0.01, 0.015, 0.005]),
        "ext4/none and xfs/none differ by less than the noise of their rounds, so no cause can be named; ask for more \
         --rounds."
    );
    let text = WhyText::of(&explained(told)).unwrap();
    assert!(
        text.sentence.ends_with(
            "63 % of the difference is waiting for flushes, 31 % the device, flushes apart and 6.0 % CPU, memory and \
             kernel."
        ),
        "{}",
        text.sentence
    );
    assert_eq!(
        text.notes[0],
        "Found by experiment on this machine: means of 6 rounds in random order, 84 trials. The difference is known to \
         ±20 ms (95 %), waiting for flushes ±10 ms, the device, flushes apart ±15 ms and CPU, memory and kernel \
         ±5 ms."
    );
    assert!(text.notes[1].starts_with("Not tested: single laws. A model"), "{}", text.notes[1]);
}

/// Notes of a run on a real machine with this twin, after the two about the machine itself.
fn twin_notes(twin: Twin) -> Vec<String> {
    let twin = Twin { model: "sata-2tb-7200".to_owned(), ..twin };
    let errors = vec![0.02, 0.01, 0.015, 0.01, 0.005, 0.005];
    let on_host = OnHost { rounds: 6, errors, not_tested: vec![], twin: Some(twin) };
    let text = WhyText::of(&explained(Why { on_host: Some(on_host), ..why() })).unwrap();
    text.notes[2..].to_vec()
}

#[test]
fn a_twin_that_ranks_the_stacks_as_the_run_explains_and_is_marked() {
    let found =
        Why { at_better: 0.2, at_worse: 0.4, causes: vec![cause(&["seek"], 0.2, None)], ..why() };
    let nearest_to = "/dev/sda is SYNTHETIC 2000, 2TB, rotating".to_owned();
    let twin = Twin { nearest_to, pairs: 3, why: Some(Box::new(found)), ..Twin::default() };
    assert_eq!(
        twin_notes(twin),
        [
            "The twin on the modelled sata-2tb-7200 (the nearest: /dev/sda is SYNTHETIC 2000, 2TB, rotating) ranks every \
             pair of stacks that the run separates (3) as the run does.",
            "On the twin, ext4/none takes 2.0 times as long as xfs/none: 100 % of the difference is moving the arm."
        ]
    );
}

#[test]
fn a_twin_that_disagrees_or_cannot_be_checked_names_no_cause() {
    let disagree = vec![["xfs/none".to_owned(), "ext4/none".to_owned()]];
    let said = |twin: Twin| twin_notes(twin).join("\n");
    assert_eq!(
        said(Twin { pairs: 3, disagree, ..Twin::default() }),
        "The twin on the modelled sata-2tb-7200 does not rank the stacks as this run does: of 3 pairs that the run \
         separates 1 differ, such as xfs/none before ext4/none. Its causes are not shown."
    );
    let nothing = said(Twin::default());
    assert!(nothing.contains("do not separate xfs/none and ext4/none"), "{nothing}");
    let impossible =
        said(Twin { impossible: Some("no lab kernel.".to_owned()), ..Twin::default() });
    assert_eq!(impossible, "No twin on the modelled sata-2tb-7200: no lab kernel.");
}

#[test]
fn what_pairs_of_laws_do_not_explain_is_said_from_5_per_cent_on() {
    let said = |share: f64| {
        let within_pairs = Some(share * why().difference());
        WhyText::of(&explained(Why { within_pairs, ..why() })).unwrap().notes[0].clone()
    };
    assert_eq!(said(0.8), "20 % of the difference takes three or more laws at once.");
    assert_eq!(
        said(1.1),
        "Three or more laws hide each other: single laws and pairs would make 110 % of the difference."
    );
    assert!(said(1.04).starts_with("Found by experiment"));
}
