use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use seekwell_model::record::BlockEvent;
use seekwell_observe::block_events::DeviceNumber;
use seekwell_observe::watched::Watched;

fn device() -> Watched {
    Watched {
        kernel_name: "sdz".to_owned(),
        size_bytes: 512_000_000,
        disk: DeviceNumber { major: 8, minor: 240 },
        sectors: (0, 1_000_000),
        model: Some("EXAMPLE\u{1b}[31m".to_owned()),
        firmware: None,
    }
}

fn shown(seen: &Seen, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, seen)).unwrap();
    terminal.backend().to_string()
}

fn sample(at_ns: u64) -> Sample {
    Sample { at_ns, reads_per_s: 100.0, utilisation_percent: 50.0, ..Sample::default() }
}

/// A second with two reads in it, and a rate of many digits.
fn busy() -> Seen {
    let mut seen = Seen::new(device(), false);
    let event = |at_ns, complete, sector| BlockEvent {
        at_ns,
        complete,
        sector,
        sectors: 8,
        operation: 'R',
        pid: 1,
    };
    let batch = vec![
        event(1_000, false, 80),
        event(2_000, false, 88),
        event(101_000, true, 80),
        event(102_000, true, 88),
    ];
    let sample = Sample { read_kib_per_s: 12_902.0, ..sample(1_000_000_000) };
    seen.add(sample, Some(batch));
    seen
}

#[test]
fn titles_columns_and_axes_are_whole_at_every_width() {
    for width in [80, 100, 120] {
        let text = shown(&busy(), width, 24);
        let lines: Vec<&str> = text.lines().map(|line| line.trim_matches('"').trim_end()).collect();
        let text = lines.join("\n").replace("device latency   depth", "latency, depth");
        for word in [
            "kB/s  max 12902", "aqu-sz  max 0.0", "%util  max 50", "r_await",
            "latency, depth 1.5, max 2", "100 % sequential", "place on the device", "512 MB", "0└",
            "-1 s", "q leaves",
        ] {
            assert!(text.contains(word), "{width}: {word} is missing:\n{text}");
        }
        for end in ["%util", " now"] {
            assert!(lines.iter().any(|line| line.ends_with(end)), "{width}: {end}\n{text}");
        }
    }
}

#[test]
fn with_events_latency_size_depth_and_place_are_there() {
    let mut seen = Seen::new(device(), false);
    let event = |at_ns, complete, sector, operation| BlockEvent {
        at_ns,
        complete,
        sector,
        sectors: 8,
        operation,
        pid: 1,
    };
    let batch = vec![
        event(1_000, false, 80, 'R'),
        event(2_000, false, 88, 'R'),
        event(101_000, true, 80, 'R'),
        event(102_000, true, 88, 'R'),
    ];
    seen.add(sample(1_000_000_000), Some(batch));
    let text = shown(&seen, 120, 30);
    for word in [
        "r_await", "%util", "≤128 µs", "100%", "≤4 KiB", "depth 1.5, max 2", "100 % sequential",
        "place on the device", "q leaves",
    ] {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn without_events_it_says_what_they_need() {
    let mut seen = Seen::new(device(), false);
    seen.note = Some("counters only: no tracefs".to_owned());
    seen.add(sample(1_000_000_000), None);
    let text = shown(&seen, 150, 30);
    assert!(text.contains("need the block event stream") && text.contains("no tracefs"), "{text}");
}

#[test]
fn no_size_of_a_terminal_is_too_odd_to_draw_on() {
    let mut seen = Seen::new(device(), false);
    seen.add(sample(1_000_000_000), Some(vec![]));
    for (width, height) in [(1, 1), (60, 16), (20, 60), (300, 5)] {
        shown(&seen, width, height);
    }
}
