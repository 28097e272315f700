//! The live screen of a capture: its own process, which reads the load of each second on standard
//! input. Its end does not touch the capture.

use super::live::{signals, states};
use crate::failure::{Exit, Failure};
use crate::screen::{Screen, bars, dim, good, heading};
use crate::terminal::harmless;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use seekwell_capture::Live;
use serde::{Deserialize, Serialize};
use std::sync::atomic::Ordering;
use std::sync::mpsc::TryRecvError;
use std::time::Duration;

/// Time between two checks for states, keys and signals.
const LOOK: Duration = Duration::from_millis(200);
/// Cells of the longest bar.
const BAR: usize = 24;

/// Content of the screen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recording {
    trace: String,
    /// Events each second, of all kinds of calls together.
    per_second: u64,
    calls: Vec<(String, u64)>,
    files: Vec<(String, u64)>,
    processes: Vec<(String, u64)>,
    events: u64,
    lost: u64,
    bytes: u64,
}

impl Recording {
    /// The load of a second.
    pub fn of(trace: &str, live: &Live) -> Self {
        let ms = live.step.as_millis().max(1);
        let rate = |count: u64| u64::try_from(u128::from(count) * 1_000 / ms).unwrap_or(u64::MAX);
        let rates = |rows: &[(String, u64)]| {
            rows.iter().map(|(name, count)| (name.clone(), rate(*count))).collect()
        };
        Self {
            trace: trace.to_owned(),
            per_second: rate(live.calls.iter().map(|(_, count)| count).sum()),
            calls: live.calls.iter().map(|(name, n)| ((*name).to_owned(), rate(*n))).collect(),
            files: rates(&live.files),
            processes: rates(&live.processes),
            events: live.events,
            lost: live.lost,
            bytes: live.bytes,
        }
    }
}

/// Draws until the capture ends, `q`, or the end of the terminal.
///
/// # Errors
/// When standard error is no terminal.
pub fn run() -> Result<Exit, Failure> {
    let gone = |error: std::io::Error| Failure::Error(format!("the terminal is gone: {error}"));
    let stop = signals()?;
    let states = states::<Recording>();
    let mut screen = Screen::open().map_err(gone)?;
    screen.draw(foot).map_err(gone)?;
    while !stop.load(Ordering::Relaxed) {
        if let Some('q' | 'Q' | '\u{1b}') = screen.key(LOOK) {
            break;
        }
        match states.try_recv() {
            Ok(state) => screen.draw(|frame| draw(frame, &state)).map_err(gone)?,
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => break,
        }
    }
    Ok(Exit::Done)
}

fn draw(frame: &mut Frame<'_>, shown: &Recording) {
    let kinds = u16::try_from(shown.calls.len() + 2).unwrap_or(12);
    let [head, calls, below, _] = Layout::vertical([
        Constraint::Length(3),
        Constraint::Length(kinds),
        Constraint::Min(3),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let [files, processes] =
        Layout::horizontal([Constraint::Percentage(65), Constraint::Percentage(35)]).areas(below);
    frame.render_widget(Paragraph::new(title(shown)), head);
    frame.render_widget(Paragraph::new(table("calls a second", &shown.calls)), calls);
    frame.render_widget(Paragraph::new(table("files, calls a second", &shown.files)), files);
    let rows = table("processes, calls a second", &shown.processes);
    frame.render_widget(Paragraph::new(rows), processes);
    foot(frame);
}

/// The keys, in the last line.
fn foot(frame: &mut Frame<'_>) {
    let text = "q closes this screen, the recording continues   Ctrl-C ends the recording";
    let [_, last] =
        Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
    frame.render_widget(Line::styled(text, dim()), last);
}

fn title(shown: &Recording) -> Vec<Line<'static>> {
    let lost = match shown.lost {
        0 => "none lost".to_owned(),
        lost => format!("{lost} LOST"),
    };
    let size = format!("{:.1} MB", shown.bytes as f64 / 1e6);
    vec![
        Line::styled(format!("recording {}", harmless(&shown.trace)), heading()),
        Line::raw(format!(
            "{} calls a second · {} events, {lost} · {size} written",
            shown.per_second, shown.events
        )),
        Line::raw(""),
    ]
}

/// Rates with bars; the longest is that of the largest.
fn table(title: &str, rows: &[(String, u64)]) -> Vec<Line<'static>> {
    let most = rows.iter().map(|(_, rate)| *rate).max().unwrap_or(0).max(1);
    let mut lines = vec![Line::styled(title.to_owned(), heading())];
    for (name, rate) in rows {
        let bar = bars(*rate as f64 / most as f64, BAR);
        let text = format!("{rate:>10} {bar:<BAR$} {}", harmless(name));
        lines.push(Line::styled(text, good()));
    }
    lines
}
