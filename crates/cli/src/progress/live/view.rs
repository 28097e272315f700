//! Drawing of the live screen of a run. Stacks are in the order of the lab, with their progress and
//! without values: a ranking would tempt the user to stop when it looks favourable.

use super::Shown;
use super::devices::Device;
use crate::progress::state::{StackState, State};
use crate::screen::{bars, dim, fitting, good, heading, lines_of, scaled};
use crate::terminal::harmless;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Sparkline};
use seekwell_model::record::Sample;
use seekwell_model::units::Nanos;
use seekwell_report::{columns_that_fit, iostat_columns};
use std::time::Duration;

/// Columns of the bar and the numbers of a stack.
const NUMBERS: usize = 30;
/// Columns of a device's values.
const CELL: usize = 8;

pub(super) fn draw(frame: &mut Frame<'_>, shown: &Shown) {
    let state = &shown.state;
    let width = frame.area().width;
    let rows = |lines: usize| Constraint::Length(u16::try_from(lines).unwrap_or(u16::MAX));
    let title = title(state, width);
    let current = trial(shown, width);
    let notes: Vec<String> =
        state.notes.iter().flat_map(|note| lines_of(&harmless(note), width)).collect();
    let [head, plan, now, sparks, race, below, foot] = Layout::vertical([
        rows(title.len()),
        rows(2),
        rows(1 + current.len()),
        rows(3),
        Constraint::Min(3),
        rows(notes.len()),
        rows(1),
    ])
    .areas(frame.area());
    frame.render_widget(Paragraph::new(title), head);
    frame.render_widget(Paragraph::new(progress(shown, plan.width)), plan);
    let block = Block::new().borders(Borders::TOP).border_style(dim()).title("this trial");
    frame.render_widget(Paragraph::new(current).block(block), now);
    sparklines(frame, shown.devices.all.first(), sparks);
    frame.render_widget(stacks(state, race), race);
    let notes: Vec<Line<'_>> = notes.into_iter().map(Line::raw).collect();
    frame.render_widget(Paragraph::new(notes), below);
    let texts = [
        "q closes this screen, the run continues   Ctrl-C ends the run after this trial, twice at once",
        "q closes this screen   Ctrl-C ends the run after this trial, twice at once",
        "q closes   Ctrl-C ends after this trial, twice at once",
    ];
    frame.render_widget(Line::styled(fitting(&texts.map(str::to_owned), width), dim()), foot);
}

fn title(state: &State, width: u16) -> Vec<Line<'static>> {
    let question = format!("{}: {}", harmless(&state.lab), harmless(&state.question));
    let judged = format!("judged by {} · backend {}", state.metric, state.backend);
    let question = lines_of(&question, width).into_iter().map(|line| Line::styled(line, heading()));
    let judged = lines_of(&judged, width).into_iter().map(|line| Line::styled(line, dim()));
    question.chain(judged).collect()
}

/// Time left. It counts down during a trial, and stops if the trial takes longer than expected; what an
/// image still takes comes before.
fn left(shown: &Shown) -> Option<Duration> {
    let left = Duration::from_nanos(shown.state.left_ns?);
    match &shown.state.image {
        Some(image) => Some(left + Duration::from_nanos(image.left_ns?)),
        None => Some(left.saturating_sub(shown.since.elapsed())),
    }
}

/// Draws the progress: the bar is the share of the time that has passed, of a continued run from the
/// trials that it had.
fn progress(shown: &Shown, width: u16) -> Vec<Line<'static>> {
    let state = &shown.state;
    let left = left(shown);
    let before = state.done_before as f64 / state.total.max(1) as f64;
    let spent = shown.started.elapsed().as_secs_f64();
    let share = left.map_or(before, |left| {
        let whole = spent + left.as_secs_f64();
        before + (1.0 - before) * if whole > 0.0 { spent / whole } else { 1.0 }
    });
    let time = match left {
        Some(left) => format!("about {} left", Nanos::from_duration(left)),
        None => "time left is not known yet".to_owned(),
    };
    let room = usize::from(width).saturating_sub(2);
    let trials = format!("{} of {} trials", state.done, state.total);
    let round = format!("round {}", state.round.max(1));
    let texts = [format!("{trials} · {round} · {time}"), format!("{trials} · {time}"), time];
    vec![
        Line::from(vec![
            Span::raw("▕"),
            Span::styled(format!("{:room$}", bars(share, room)), good()),
            Span::raw("▏"),
        ]),
        Line::raw(fitting(&texts, width)),
    ]
}

fn trial(shown: &Shown, width: u16) -> Vec<Line<'static>> {
    let current = &shown.state.current;
    let step = format!("{}  {}", harmless(&current.name), harmless(&current.step));
    let mut lines: Vec<Line<'_>> =
        lines_of(step.trim_start(), width).into_iter().map(Line::raw).collect();
    let devices: Vec<&Device> = shown.devices.all.iter().take(2).collect();
    if devices.is_empty() {
        let text = match (shown.state.backend.as_str(), &shown.state.image) {
            ("virtual", _) => "no counters: the device is a model in virtual time",
            (_, Some(_)) => {
                "the trials begin when the image is written; it is kept for all of them"
            }
            (_, None) => "counters follow when the device is attached",
        };
        lines.extend(lines_of(text, width).into_iter().map(|line| Line::styled(line, dim())));
        return lines;
    }
    let longest = devices.iter().map(|device| device.name.chars().count()).max().unwrap_or(0);
    let name_width = longest.max(CELL);
    let values = iostat_columns(&Sample::default());
    let room = usize::from(width).saturating_sub(name_width);
    let columns = columns_that_fit(&[CELL; 13][..values.len()], room);
    let mut titles = " ".repeat(name_width);
    for column in &columns {
        titles.push_str(&format!(" {:>CELL$}", values[*column].0));
    }
    lines.push(Line::styled(titles, dim()));
    lines.extend(devices.into_iter().map(|one| device(one, name_width, &columns)));
    lines
}

fn device(device: &Device, name_width: usize, columns: &[usize]) -> Line<'static> {
    let sample = device.samples.back().copied().unwrap_or_default();
    let values = iostat_columns(&sample);
    let mut text = format!("{:name_width$}", device.name);
    for column in columns {
        text.push_str(&format!(" {:>CELL$}", values[*column].1));
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
        let titles = [format!("{name}  max {most:.0}"), format!("max {most:.0}")];
        let block = Block::new().title(fitting(&titles, area.width)).title_style(dim());
        let data = scaled(values);
        frame.render_widget(Sparkline::default().block(block).data(data).style(good()), area);
    }
}

fn stacks(state: &State, area: Rect) -> Paragraph<'static> {
    let room = usize::from(area.height.saturating_sub(1)).max(1);
    let longest = state.stacks.iter().map(|stack| stack.label.chars().count()).max().unwrap_or(0);
    // Room for the bar and the numbers.
    let width = longest.min(usize::from(area.width).saturating_sub(NUMBERS).max(8));
    let columns = (usize::from(area.width) / (width + NUMBERS)).max(1);
    let shown = (room * columns).min(state.stacks.len());
    let more = state.stacks.len() - shown;
    let rows = shown.div_ceil(columns).max(1);
    let most = state.stacks.iter().map(|s| s.ok + s.marked + s.failed).max().unwrap_or(0).max(1);
    let cell = |stack: &StackState| {
        let label = shortened(&harmless(&stack.label), width);
        let share = f64::from(stack.ok) / f64::from(most);
        let mut text = format!("{label:width$} {:8} {}", bars(share, 8), stack.ok);
        for (count, word) in [(stack.marked, "marked"), (stack.failed, "failed")] {
            if count > 0 {
                text.push_str(&format!(" +{count} {word}"));
            }
        }
        format!("{text:w$}", w = width + NUMBERS)
    };
    let line = |row: usize| {
        let cells = (0..columns).filter_map(|column| state.stacks.get(column * rows + row));
        Line::raw(cells.map(cell).collect::<String>())
    };
    let more = if more > 0 { format!("; {more} more stacks") } else { String::new() };
    let texts = [
        format!("trials so far, in the order of the lab; the verdict comes at the end{more}"),
        format!("trials so far, in the order of the lab{more}"),
        format!("trials so far{more}"),
    ];
    let title = fitting(&texts, area.width);
    let block = Block::new().borders(Borders::TOP).border_style(dim()).title(title);
    Paragraph::new((0..rows).map(line).collect::<Vec<_>>()).block(block)
}

/// A label that is too long for its place, without its middle.
fn shortened(label: &str, width: usize) -> String {
    let count = label.chars().count();
    if count <= width {
        return label.to_owned();
    }
    let (start, end) = (width.div_ceil(2), width.saturating_sub(1) / 2);
    let first: String = label.chars().take(start.saturating_sub(1)).collect();
    let last: String = label.chars().skip(count - end).collect();
    format!("{first}…{last}")
}

#[cfg(test)]
mod tests;
