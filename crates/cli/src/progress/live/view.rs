//! Drawing of the live screen of a run. Stacks are in the order of the lab, with their progress and
//! without values: a ranking would tempt the user to stop when it looks favourable.

use super::Shown;
use super::devices::Device;
use crate::progress::state::{StackState, State};
use crate::screen::{bars, dim, good, heading, scaled};
use crate::terminal::harmless;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Sparkline};
use seekwell_model::record::Sample;
use seekwell_model::units::Nanos;
use seekwell_report::iostat_columns;
use std::time::Duration;

/// Columns of a device's line that fit into 80.
const COLUMNS: [&str; 8] =
    ["r/s", "rkB/s", "r_await", "w/s", "wkB/s", "w_await", "aqu-sz", "%util"];

pub(super) fn draw(frame: &mut Frame<'_>, shown: &Shown) {
    let state = &shown.state;
    let devices = u16::try_from(shown.devices.all.len().clamp(1, 2)).unwrap_or(1);
    let notes = u16::try_from(state.notes.len()).unwrap_or(0);
    let [head, plan, current, sparks, race, below, foot] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(2),
        Constraint::Length(3 + devices),
        Constraint::Length(3),
        Constraint::Min(3),
        Constraint::Length(notes),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(title(state)), head);
    frame.render_widget(Paragraph::new(progress(state, shown.since.elapsed(), plan.width)), plan);
    frame.render_widget(trial(shown), current);
    sparklines(frame, shown.devices.all.first(), sparks);
    frame.render_widget(stacks(state, race), race);
    let lines: Vec<Line<'_>> = state.notes.iter().map(|note| Line::raw(harmless(note))).collect();
    frame.render_widget(Paragraph::new(lines), below);
    let text = "q closes this screen, the run continues   Ctrl-C ends the run after this trial, twice at once";
    frame.render_widget(Line::styled(text, dim()), foot);
}

fn title(state: &State) -> Vec<Line<'static>> {
    let question = harmless(&state.question);
    vec![
        Line::styled(format!("{}: {question}", harmless(&state.lab)), heading()),
        Line::styled(format!("judged by {} · backend {}", state.metric, state.backend), dim()),
    ]
}

/// Draws the progress. The time left counts down during a trial, and stops if the trial takes longer
/// than expected.
fn progress(state: &State, elapsed: Duration, width: u16) -> Vec<Line<'static>> {
    let share = state.done as f64 / state.total.max(1) as f64;
    let left = state.left_ns.map_or("waiting for the first trial".to_owned(), |left| {
        let elapsed = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        format!("about {} left", Nanos(left.saturating_sub(elapsed)))
    });
    let room = usize::from(width).saturating_sub(2);
    vec![
        Line::from(vec![
            Span::raw("▕"),
            Span::styled(format!("{:room$}", bars(share, room)), good()),
            Span::raw("▏"),
        ]),
        Line::raw(format!(
            "{} of {} trials · round {} · {left}",
            state.done, state.total, state.round
        )),
    ]
}

fn trial(shown: &Shown) -> Paragraph<'static> {
    let current = &shown.state.current;
    let mut lines =
        vec![Line::raw(format!("{}  {}", harmless(&current.name), harmless(&current.step)))];
    let mut titles = format!("{:8}", "");
    for name in COLUMNS {
        titles.push_str(&format!(" {name:>8}"));
    }
    lines.push(Line::styled(titles, dim()));
    if shown.devices.all.is_empty() {
        let text = match shown.state.backend.as_str() {
            "virtual" => "no counters: the device is a model in virtual time",
            _ => "no device yet",
        };
        lines.push(Line::styled(text, dim()));
    }
    lines.extend(shown.devices.all.iter().take(2).map(device));
    let block = Block::new().borders(Borders::TOP).border_style(dim()).title("this trial");
    Paragraph::new(lines).block(block)
}

fn device(device: &Device) -> Line<'static> {
    let sample = device.samples.back().copied().unwrap_or_default();
    let mut text = format!("{:8}", device.name);
    for (name, value) in iostat_columns(&sample) {
        if COLUMNS.contains(&name) {
            text.push_str(&format!(" {value:>8}"));
        }
    }
    Line::raw(text)
}

/// A column over time.
type Series = (&'static str, fn(&Sample) -> f64);

fn sparklines(frame: &mut Frame<'_>, device: Option<&Device>, area: Rect) {
    let Some(device) = device else { return };
    let halves = Layout::horizontal([Constraint::Fill(1); 2]).spacing(1).areas::<2>(area);
    let series: [Series; 2] = [
        ("read + written kB/s", |s| s.read_kib_per_s + s.written_kib_per_s),
        ("%util", |s| s.utilisation_percent),
    ];
    for ((name, read), area) in series.into_iter().zip(halves) {
        let from = device.samples.len().saturating_sub(usize::from(area.width));
        let values = device.samples.iter().skip(from).map(read);
        let most = values.clone().fold(0.0, f64::max);
        let block = Block::new().title(format!("{name}  max {most:.0}")).title_style(dim());
        let data = scaled(values);
        frame.render_widget(Sparkline::default().block(block).data(data).style(good()), area);
    }
}

fn stacks(state: &State, area: Rect) -> Paragraph<'static> {
    let room = usize::from(area.height.saturating_sub(1)).max(1);
    let width = state.stacks.iter().map(|stack| stack.label.chars().count()).max().unwrap_or(0);
    let columns = (usize::from(area.width) / (width.min(40) + 30)).max(1);
    let shown = (room * columns).min(state.stacks.len());
    let more = state.stacks.len() - shown;
    let rows = shown.div_ceil(columns).max(1);
    let most = state.stacks.iter().map(|s| s.ok + s.marked + s.failed).max().unwrap_or(0).max(1);
    let cell = |stack: &StackState| {
        let label: String = harmless(&stack.label).chars().take(40).collect();
        let share = f64::from(stack.ok) / f64::from(most);
        let mut text = format!("{label:w$} {:8} {}", bars(share, 8), stack.ok, w = width.min(40));
        for (count, word) in [(stack.marked, "marked"), (stack.failed, "failed")] {
            if count > 0 {
                text.push_str(&format!(" +{count} {word}"));
            }
        }
        format!("{text:w$}", w = width.min(40) + 30)
    };
    let line = |row: usize| {
        let cells = (0..columns).filter_map(|column| state.stacks.get(column * rows + row));
        Line::raw(cells.map(cell).collect::<String>())
    };
    let mut title =
        "trials so far, in the order of the lab; the verdict comes at the end".to_owned();
    if more > 0 {
        title.push_str(&format!("; {more} stacks more"));
    }
    let block = Block::new().borders(Borders::TOP).border_style(dim()).title(title);
    Paragraph::new((0..rows).map(line).collect::<Vec<_>>()).block(block)
}

#[cfg(test)]
mod tests;
