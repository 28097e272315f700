use super::*;
use crate::progress::live::devices::Devices;
use crate::progress::state::Current;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::time::Instant;

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
    Shown { state, since: Instant::now(), devices: Devices::default() }
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
        "r_await",
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
