//! The screen of `watch`.

use super::seen::Seen;
use crate::screen::{bars, dim, good, heading, scaled};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Color;
use ratatui::symbols::Marker;
use ratatui::text::{Line, Span};
use ratatui::widgets::canvas::{Canvas, Points};
use ratatui::widgets::{Block, Borders, Paragraph, Sparkline};
use seekwell_model::record::Sample;
use seekwell_observe::requests::{LATENCY_CLASSES, Picture, SIZE_CLASSES};
use seekwell_report::iostat_columns;

/// Draws everything that was seen.
pub fn draw(frame: &mut Frame<'_>, seen: &Seen) {
    let [title, table, lines, middle, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(4),
        Constraint::Length(4),
        Constraint::Min(6),
        Constraint::Length(1),
    ])
    .areas(frame.area());
    frame.render_widget(Line::styled(crate::terminal::harmless(&seen.title()), heading()), title);
    frame.render_widget(Paragraph::new(columns(seen)), table);
    sparklines(frame, seen, lines);
    match &seen.picture {
        Some(picture) => requests(frame, seen, picture, middle),
        None => {
            let text = "Latency histogram, request sizes and seek picture need the block event \
                        stream: root and a kernel with tracefs.";
            frame.render_widget(Paragraph::new(Line::styled(text, dim())), middle);
        }
    }
    let seconds = seen.samples.last().map_or(0.0, |sample| sample.at_ns as f64 / 1e9);
    let text = format!("q leaves   {seconds:.0} s watched   reads only counters and events");
    frame.render_widget(Line::styled(text, dim()), foot);
}

/// Titles, the last interval, the mean of all.
fn columns(seen: &Seen) -> Vec<Line<'static>> {
    let last = seen.samples.last().copied().unwrap_or_default();
    let mean = mean(&seen.samples);
    let mut titles = vec![Span::raw("      ")];
    let mut now = vec![Span::raw("now   ")];
    let mut all = vec![Span::raw("mean  ")];
    for ((title, value), (_, average)) in
        iostat_columns(&last).into_iter().zip(iostat_columns(&mean))
    {
        let width = title.len().max(value.len()).max(average.len()).max(6) + 1;
        titles.push(Span::styled(format!("{title:>width$}"), dim()));
        now.push(Span::styled(format!("{value:>width$}"), good()));
        all.push(Span::raw(format!("{average:>width$}")));
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
        let block = Block::new().title(format!("{title}  max {most:.1}")).title_style(dim());
        let data = scaled(shown.iter().map(read));
        frame.render_widget(Sparkline::default().block(block).data(data).style(good()), area);
    }
}

fn requests(frame: &mut Frame<'_>, seen: &Seen, picture: &Picture, area: Rect) {
    let [left, middle, right] = Layout::horizontal([
        Constraint::Percentage(34),
        Constraint::Percentage(22),
        Constraint::Percentage(44),
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
    let title = format!("device latency   depth {depth}, most {}", picture.most_in_flight);
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
    let title = match picture.sequential {
        Some(share) => format!("sizes, {:.0} % sequential", share * 100.0),
        None => "sizes".to_owned(),
    };
    frame.render_widget(Paragraph::new(lines).block(titled(title)), area);
}

/// The last minute at most: time to the right, place on the device upwards.
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
    let title = format!("place on the device, last {:.0} s: reads coloured", now - begin);
    let canvas = Canvas::default()
        .block(titled(title))
        .marker(Marker::Braille)
        .x_bounds([begin, now])
        .y_bounds([0.0, top])
        .paint(move |context| {
            context.draw(&Points { coords: &writes, color: Color::Reset });
            context.draw(&Points { coords: &reads, color: Color::Cyan });
        });
    frame.render_widget(canvas, area);
}

#[cfg(test)]
mod tests;
