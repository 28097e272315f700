use super::*;
use crate::progress::state::{Current, ImageState};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

fn shown() -> Shown {
    let stack = |label: &str, ok, marked, failed| StackState {
        label: label.to_owned(),
        ok,
        marked,
        failed,
    };
    let state = State {
        lab: "demo".to_owned(),
        question: "which\u{1b}[31m is fastest?".to_owned(),
        metric: "unpack.elapsed_durable".to_owned(),
        backend: "host".to_owned(),
        done: 7,
        total: 18,
        round: 3,
        left_ns: Some(125_000_000_000),
        current: Current { trial: Some(7), name: "ext4/bfq".to_owned(), step: "unpack".to_owned() },
        stacks: vec![
            stack("ext4/none", 3, 0, 0),
            stack("ext4/bfq", 2, 1, 0),
            stack("xfs", 1, 0, 1),
        ],
        notes: vec!["xfs: failed in unpack: no space".to_owned()],
        ..State::default()
    };
    Shown { state, ..Shown::new() }
}

fn text(shown: &Shown, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, shown)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn plan_time_left_trial_and_stacks_are_there_and_nobody_leads() {
    let text = text(&shown(), 100, 30);
    for word in [
        "7 of 18 trials · round 3 · about 2 min",
        "ext4/bfq  unpack",
        "counters follow when the device is attached",
        "+1 marked",
        "+1 failed",
        "xfs: failed in unpack: no space",
        "q closes this screen",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    // Every stack with what was done, and no value of the judged metric.
    for label in ["ext4/none █", "ext4/bfq  █", "xfs       █"] {
        assert!(text.contains(label), "{label} is missing:\n{text}");
    }
    assert!(!text.contains("median") && !text.contains("ratio"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn no_size_of_a_terminal_is_too_odd_to_draw_on() {
    for (width, height) in [(1, 1), (60, 16), (20, 60), (300, 5)] {
        text(&shown(), width, height);
    }
}

#[test]
fn before_the_first_trial_it_says_what_happens_and_how_long_it_takes() {
    let mut shown = shown();
    shown.state.done = 0;
    shown.state.current.step = "writing the image of scratch: 1.2 of 2 GiB".to_owned();
    shown.state.image = Some(ImageState { left_ns: None });
    assert!(text(&shown, 80, 24).contains("time left is not known yet"));
    shown.state.image = Some(ImageState { left_ns: Some(60_000_000_000) });
    let text = text(&shown, 80, 24);
    for word in [
        "writing the image of scratch: 1.2 of 2 GiB",
        "the trials begin when the image is written",
        // 125 s of trials and a minute for the image.
        "0 of 18 trials · round 3 · about 3 min 05 s left",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
}

#[test]
fn the_bar_counts_time_and_not_trials() {
    let cells = |shown: &Shown| text(shown, 80, 24).matches('█').count();
    let mut shown = shown();
    shown.state.stacks.clear();
    // Most trials are done, and most of the time is still to come.
    (shown.state.done, shown.state.total) = (17, 18);
    shown.started -= Duration::from_secs(125);
    let half = cells(&shown);
    assert!((37..=41).contains(&half), "{half}");
    // A continued run has what it had.
    shown.state.done_before = 9;
    assert!((56..=60).contains(&cells(&shown)), "{}", cells(&shown));
}

#[test]
fn nothing_is_cut_at_80_columns() {
    let mut shown = shown();
    shown.state.question =
        "which filesystem and scheduler unpack a small mail store fastest here?".to_owned();
    shown.state.notes = vec![
        "ext4/mq-deadline: failed in unpack: no space left on the device, which is full".to_owned(),
    ];
    shown.state.stacks[0].label =
        "ext4[journal=external,nr_requests=1024]/mq-deadline/stripe-4/luks".to_owned();
    for width in [80, 100, 120] {
        let text = text(&shown, width, 30);
        for word in ["fastest here?", "twice at once", "which is full", "/luks", "order of the lab"]
        {
            assert!(text.contains(word), "{width}: {word} is missing:\n{text}");
        }
    }
}
