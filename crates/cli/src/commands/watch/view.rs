//! The screen of `watch`.

use super::seen::Seen;
use crate::screen::{bars, dim, fitting, good, heading, lines_of, scaled};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::canvas::{Canvas, Points};
use ratatui::widgets::{Block, Borders, Paragraph, Sparkline};
use seekwell_model::record::Sample;
use seekwell_observe::requests::{LATENCY_CLASSES, Picture, SIZE_CLASSES};
use seekwell_report::{columns_that_fit, iostat_columns};

/// Blank columns before the values of a row.
const NAMES: usize = 5;

/// Draws everything that was seen.
pub fn draw(frame: &mut Frame<'_>, seen: &Seen) {
    let width = frame.area().width;
    let name = lines_of(&crate::terminal::harmless(&seen.title()), width);
    let [title, table, lines, middle, foot] = Layout::vertical([
        Constraint::Length(u16::try_from(name.len()).unwrap_or(1)),
        Constraint::Length(4),
        Constraint::Length(4),
        Constraint::Min(6),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    let name: Vec<Line<'_>> = name.into_iter().map(|line| Line::styled(line, heading())).collect();
    frame.render_widget(Paragraph::new(name), title);
    frame.render_widget(Paragraph::new(columns(seen, width)), table);
    sparklines(frame, seen, lines);
    match &seen.picture {
        Some(picture) => requests(frame, seen, picture, middle),
        None => {
            let text = "Latency histogram, request sizes and the map of places need the block event \
                        stream: root and a kernel with tracefs.";
            let text: Vec<Line<'_>> =
                lines_of(text, width).into_iter().map(|line| Line::styled(line, dim())).collect();
            frame.render_widget(Paragraph::new(text), middle);
        }
    }
    let seconds = seen.samples.last().map_or(0.0, |sample| sample.at_ns as f64 / 1e9);
    let texts = [
        format!("q leaves   {seconds:.0} s watched   reads only counters and events"),
        format!("q leaves   {seconds:.0} s watched"),
    ];
    frame.render_widget(Line::styled(fitting(&texts, width), dim()), foot);
}

/// Titles, the last interval, the mean of all: the columns that fit.
fn columns(seen: &Seen, width: u16) -> Vec<Line<'static>> {
    let last = iostat_columns(&seen.samples.last().copied().unwrap_or_default());
    let mean = iostat_columns(&mean(&seen.samples));
    let longest = |column: usize| {
        let cells = [last[column].0.len(), last[column].1.len(), mean[column].1.len()];
        cells.into_iter().max().unwrap_or(0).max(6)
    };
    let widths: Vec<usize> = (0..last.len()).map(longest).collect();
    let mut titles = vec![Span::raw(format!("{:NAMES$}", ""))];
    let mut now = vec![Span::raw(format!("{:NAMES$}", "now"))];
    let mut all = vec![Span::raw(format!("{:NAMES$}", "mean"))];
    for column in columns_that_fit(&widths, usize::from(width).saturating_sub(NAMES)) {
        let width = widths[column] + 1;
        let (title, value) = &last[column];
        titles.push(Span::styled(format!("{title:>width$}"), dim()));
        now.push(Span::styled(format!("{value:>width$}"), good()));
        all.push(Span::raw(format!("{:>width$}", mean[column].1)));
    }
    vec![Line::from(titles), Line::from(now), Line::from(all)]
}

/// Plain means of the columns; times and sizes over the intervals that had requests.
fn mean(samples: &[Sample]) -> Sample {
    let of = |read: fn(&Sample) -> f64| {
        samples.iter().map(read).sum::<f64>() / samples.len().max(1) as f64
    };
    let some = |read: fn(&Sample) -> Option<f64>| {
        let present: Vec<f64> = samples.iter().filter_map(read).collect();
        (!present.is_empty()).then(|| present.iter().sum::<f64>() / present.len() as f64)
    };
    Sample {
        reads_per_s: of(|s| s.reads_per_s),
        writes_per_s: of(|s| s.writes_per_s),
        read_kib_per_s: of(|s| s.read_kib_per_s),
        written_kib_per_s: of(|s| s.written_kib_per_s),
        reads_merged_per_s: of(|s| s.reads_merged_per_s),
        writes_merged_per_s: of(|s| s.writes_merged_per_s),
        read_await_ms: some(|s| s.read_await_ms),
        write_await_ms: some(|s| s.write_await_ms),
        queue_size: of(|s| s.queue_size),
        read_request_kib: some(|s| s.read_request_kib),
        write_request_kib: some(|s| s.write_request_kib),
        flushes_per_s: some(|s| s.flushes_per_s),
        utilisation_percent: of(|s| s.utilisation_percent),
        ..Sample::default()
    }
}

/// A column over time.
type Series = (&'static str, fn(&Sample) -> f64);

fn sparklines(frame: &mut Frame<'_>, seen: &Seen, area: Rect) {
    let halves = Layout::horizontal([Constraint::Fill(1); 3]).spacing(1).areas::<3>(area);
    let series: [Series; 3] = [
        ("read + written kB/s", |s| s.read_kib_per_s + s.written_kib_per_s),
        ("aqu-sz", |s| s.queue_size),
        ("%util", |s| s.utilisation_percent),
    ];
    for ((title, read), area) in series.into_iter().zip(halves) {
        let from = seen.samples.len().saturating_sub(usize::from(area.width));
        let shown = &seen.samples[from..];
        let most = shown.iter().map(read).fold(0.0, f64::max);
        let short = title.split(' ').next_back().unwrap_or(title);
        let titles = [
            format!("{title}  max {most:.1}"),
            format!("{short}  max {most:.1}"),
            format!("{short}  max {most:.0}"),
        ];
        let block = Block::new().title(fitting(&titles, area.width)).title_style(dim());
        let data = scaled(shown.iter().map(read));
        frame.render_widget(Sparkline::default().block(block).data(data).style(good()), area);
    }
}

fn requests(frame: &mut Frame<'_>, seen: &Seen, picture: &Picture, area: Rect) {
    let [left, middle, right] = Layout::horizontal([
        Constraint::Percentage(34),
        Constraint::Percentage(24),
        Constraint::Percentage(42),
    ])
    .spacing(1)
    .areas(area);
    latencies(frame, picture, left);
    sizes(frame, picture, middle);
    seeks(frame, seen, right);
}

fn titled(title: String) -> Block<'static> {
    Block::new().borders(Borders::TOP).border_style(dim()).title(title)
}

fn latencies(frame: &mut Frame<'_>, picture: &Picture, area: Rect) {
    let depth = picture.mean_in_flight.map_or("-".to_owned(), |mean| format!("{mean:.1}"));
    let most = picture.most_in_flight;
    let titles = [
        format!("device latency   depth {depth}, max {most}"),
        format!("latency, depth {depth}, max {most}"),
        format!("latency, depth {depth}"),
        "latency".to_owned(),
    ];
    let title = fitting(&titles, area.width);
    let all = |class: usize| picture.read_latency[class] + picture.write_latency[class];
    let total: u64 = (0..LATENCY_CLASSES).map(all).sum();
    let used: Vec<usize> = (0..LATENCY_CLASSES).filter(|class| all(*class) > 0).collect();
    let (first, last) = match (used.first(), used.last()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => return frame.render_widget(Paragraph::new("no requests").block(titled(title)), area),
    };
    let room = usize::from(area.height.saturating_sub(1));
    let width = usize::from(area.width.saturating_sub(16));
    let line = |class: usize| {
        let share = |count: u64| count as f64 / total as f64;
        Line::from(vec![
            Span::styled(format!("{:>9} ", latency_word(class)), dim()),
            Span::styled(bars(share(picture.read_latency[class]), width), good()),
            Span::raw(bars(share(picture.write_latency[class]), width)),
            Span::styled(format!(" {:.0}%", share(all(class)) * 100.0), dim()),
        ])
    };
    let lines: Vec<Line<'_>> = (first..=last).take(room).map(line).collect();
    frame.render_widget(Paragraph::new(lines).block(titled(title)), area);
}

fn latency_word(class: usize) -> String {
    let micros = 1_u64 << class;
    match micros {
        _ if class + 1 == LATENCY_CLASSES => "more".to_owned(),
        0..=999 => format!("≤{micros} µs"),
        1_000..=999_999 => format!("≤{:.0} ms", micros as f64 / 1e3),
        _ => format!("≤{:.0} s", micros as f64 / 1e6),
    }
}

fn sizes(frame: &mut Frame<'_>, picture: &Picture, area: Rect) {
    let total: u64 = picture.sizes.iter().sum();
    let width = usize::from(area.width.saturating_sub(15));
    let lines: Vec<Line<'_>> = (0..SIZE_CLASSES)
        .filter(|class| picture.sizes[*class] > 0)
        .map(|class| {
            let share = picture.sizes[class] as f64 / total as f64;
            let word = match class {
                _ if class + 1 == SIZE_CLASSES => "more".to_owned(),
                0 => "≤512 B".to_owned(),
                _ => format!("≤{} KiB", 1_u64 << (class - 1)),
            };
            Line::from(vec![
                Span::styled(format!("{word:>9} "), dim()),
                Span::styled(bars(share, width), good()),
                Span::styled(format!(" {:.0}%", share * 100.0), dim()),
            ])
        })
        .collect();
    let sequential = picture.sequential.map(|share| format!("{:.0} % sequential", share * 100.0));
    let titles: Vec<String> = sequential
        .iter()
        .flat_map(|share| [format!("sizes, {share}"), share.clone()])
        .chain(["sizes".to_owned()])
        .collect();
    let title = fitting(&titles, area.width);
    frame.render_widget(Paragraph::new(lines).block(titled(title)), area);
}

/// The last minute at most: time to the right, place on the device upwards, each with its two ends.
fn seeks(frame: &mut Frame<'_>, seen: &Seen, area: Rect) {
    let now = seen.samples.last().map_or(0, |sample| sample.at_ns) as f64 / 1e9;
    let begin = seen.requests.front().map_or(0.0, |first| first.issued_ns as f64 / 1e9);
    let begin = begin.max(now - 60.0).min(now - 0.001);
    let top = (seen.watched.size_bytes / 512).max(1) as f64;
    let place = |read: bool| -> Vec<(f64, f64)> {
        let of_kind =
            seen.requests.iter().filter(|r| r.sectors > 0 && (r.operation == 'R') == read);
        of_kind.map(|r| (r.issued_ns as f64 / 1e9, r.sector as f64)).collect()
    };
    let (reads, writes) = (place(true), place(false));
    let titles = [
        "place on the device over time: reads coloured",
        "place on the device: reads coloured",
        "place on the device",
    ];
    let block = titled(fitting(&titles.map(str::to_owned), area.width));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let high = gigabytes(seen.watched.size_bytes);
    let labels = u16::try_from(high.chars().count()).unwrap_or(0);
    let [map, times] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(inner);
    let [names, map] =
        Layout::horizontal([Constraint::Length(labels), Constraint::Min(1)]).areas(map);
    let low = u16::saturating_sub(names.height, 2);
    let mut places = vec![Line::raw(high)];
    places.extend((0..low).map(|_| Line::raw("")));
    places.push(Line::raw("0").right_aligned());
    frame.render_widget(Paragraph::new(places).style(dim()), names);
    let canvas = Canvas::default()
        .block(Block::new().borders(Borders::LEFT | Borders::BOTTOM).border_style(dim()))
        .marker(Marker::Braille)
        .x_bounds([begin, now])
        .y_bounds([0.0, top])
        .paint(move |context| {
            context.draw(&Points { coords: &writes, color: Color::Reset });
            context.draw(&Points { coords: &reads, color: Color::Cyan });
        });
    frame.render_widget(canvas, map);
    let from = format!("-{:.0} s", now - begin);
    let room = usize::from(times.width).saturating_sub(usize::from(labels) + 1 + from.len());
    let text = format!("{:labels$} {from}{:>room$}", "", "now", labels = usize::from(labels));
    frame.render_widget(Line::styled(text, dim()), times);
}

/// A capacity in at most six characters.
fn gigabytes(bytes: u64) -> String {
    let gigabytes = bytes as f64 / 1e9;
    match gigabytes {
        _ if gigabytes >= 999.5 => format!("{:.1} TB", gigabytes / 1e3),
        _ if gigabytes >= 9.95 => format!("{gigabytes:.0} GB"),
        _ if gigabytes >= 0.95 => format!("{gigabytes:.1} GB"),
        _ => format!("{:.0} MB", gigabytes * 1e3),
    }
}

#[cfg(test)]
mod tests;
