//! The picture of the stacks in characters: pick, too close to call, out, each with its interval.

use crate::answer_text::{Axes, Measure, Standing, answer};
use crate::factor::benefit;
use crate::number::{DASH, exact_percent};
use crate::stack_table::{StackRow, StackTable, by_standing};
use crate::text::{Ink, Palette, harmless, pad, paragraph, width as columns, wrap};
use crate::trial_ratios::TrialRatios;
use crate::view::RunView;
use seekwell_model::lab::Better;
use seekwell_model::verdict::Basis;
use std::collections::BTreeMap;

/// Narrowest picture next to long labels, and widest.
const PICTURE: (usize, usize) = (20, 60);
/// Columns below which a picture shows nothing.
const LEAST: usize = 8;
/// Narrowest column of labels.
const LABEL: usize = 12;
/// Differences below this show three decimals of every ratio.
const FINE: f64 = 0.02;
/// Rows that each group shows at least.
const OF_GROUP: usize = 2;
/// Factors beyond which intervals are cut off.
const CUT: (f64, f64) = (0.3, 10.0);
/// Factors of the scale, those that are shown first at the front.
const TICKS: [f64; 21] = [
    1.0, 2.0, 0.5, 5.0, 10.0, 0.2, 0.1, 1.5, 1.2, 0.8, 3.0, 1.1, 0.9, 1.05, 0.95, 1.02, 0.98, 1.01,
    0.99, 1.005, 0.995,
];

/// A cell in which a trial lies.
const TRIAL: char = '\u{2575}';

/// The stacks by their place in the answer.
pub(crate) struct Forest<'a> {
    view: &'a RunView,
    axes: Axes<'a>,
    better: Better,
    unit: &'static str,
    groups: BTreeMap<Standing, Vec<StackRow>>,
    reasons: BTreeMap<String, String>,
    trials: TrialRatios<'a>,
}

impl<'a> Forest<'a> {
    pub(crate) fn of(view: &'a RunView) -> Self {
        let answer = answer(view);
        let table = StackTable::of(view);
        let groups = by_standing(view, &answer, table.rows);
        let reasons = answer.unmeasured.iter();
        let reasons = reasons.map(|one| (one.stack.clone(), one.reason.clone())).collect();
        let (better, unit) = (view.verdict.better, table.scale.symbol());
        let (axes, trials) = (Axes::of(&view.plan), TrialRatios::of(view));
        Self { view, axes, better, unit, groups, reasons, trials }
    }

    /// Number of stacks.
    pub(crate) fn stacks(&self) -> usize {
        self.groups.values().map(Vec::len).sum()
    }

    /// Lines that are no stacks: the heading in this width, the scale, the names of the groups.
    pub(crate) fn other_lines(&self, width: usize) -> usize {
        self.heading(width).lines().count() + 1 + self.groups.len()
    }

    /// The picture with this number of stacks at most.
    pub(crate) fn text(&self, width: usize, stacks: usize, palette: Palette) -> String {
        let shares = self.shares(stacks);
        let shown = || {
            let groups = self.groups.values().zip(&shares);
            groups.flat_map(|(rows, share)| rows.iter().take(*share))
        };
        let layout = Layout::of(self, width, &shown().collect::<Vec<_>>());
        let mut out = self.heading(width);
        out.push_str(&palette.paint(Ink::Faint, layout.head(self).trim_end()));
        out.push('\n');
        for ((place, rows), share) in self.groups.iter().zip(&shares) {
            out.push_str(&palette.paint(Ink::Faint, &self.title(*place, rows.len(), *share)));
            out.push('\n');
            for row in rows.iter().take(*share) {
                let line = layout.row(self, *place, row);
                let ink = match place {
                    Standing::Pick => Some(Ink::Good),
                    Standing::Unmeasured => Some(Ink::Faint),
                    _ => None,
                };
                for line in line {
                    let line = ink.map_or(line.clone(), |ink| palette.paint(ink, &line));
                    out.push_str(&line);
                    out.push('\n');
                }
            }
        }
        out
    }

    fn heading(&self, width: usize) -> String {
        let verdict = &self.view.verdict;
        let what = Measure::of(self.view).heading(verdict);
        let pick = self.groups.get(&Standing::Pick).and_then(|rows| rows.first());
        let to = match (&verdict.baseline, pick) {
            (Some(baseline), Some(pick)) if *baseline != pick.ratio.stack => baseline.as_str(),
            _ => "the pick",
        };
        let worse = match verdict.better {
            Better::Lower => "",
            Better::Higher => "; worse is to the right",
        };
        let rows = self.groups.values().flatten();
        let text = if rows.filter(|row| row.ratio.ratio.is_some()).count() > 1 {
            let tie = exact_percent(verdict.tie);
            format!("{what}, relative to {to}; \u{250a} is the {tie} tie, {TRIAL} a trial{worse}")
        } else {
            what
        };
        paragraph("", &text, width)
    }

    /// Stacks that each group shows: the pick, two of each group, then those that are close, then the others.
    fn shares(&self, stacks: usize) -> Vec<usize> {
        let mut left = stacks;
        let mut shares: Vec<usize> = Vec::new();
        for rows in self.groups.values() {
            let share = rows.len().min(OF_GROUP).min(left);
            left -= share;
            shares.push(share);
        }
        for (rows, share) in self.groups.values().zip(&mut shares) {
            let more = (rows.len() - *share).min(left);
            left -= more;
            *share += more;
        }
        shares
    }

    /// Name of a group with the number of its stacks.
    fn title(&self, place: Standing, stacks: usize, shown: usize) -> String {
        let name = match place {
            Standing::Pick => return "pick".to_owned(),
            Standing::AsGood => "as good",
            Standing::Close => "too close to call",
            Standing::Out => "out",
            Standing::Undecided => "without a bound",
            Standing::NotEligible => "not eligible: may lose data that the pick keeps",
            Standing::Unmeasured if self.view.is_over => "no usable value",
            Standing::Unmeasured => "no value yet",
        };
        if shown < stacks {
            format!("{name} ({shown} of {stacks})")
        } else {
            format!("{name} ({stacks})")
        }
    }

    /// A factor by which a ratio is worse than that of the pick.
    fn worse(&self, ratio: f64) -> f64 {
        benefit(self.better, ratio)
    }
}

/// Columns of the picture.
struct Layout {
    /// Widths of the values of each axis; one for labels.
    axes: Vec<usize>,
    /// True if labels are shown as values of axes.
    by_axis: bool,
    median: usize,
    ratio: usize,
    /// 0 for none.
    picture: usize,
    /// False where no stack has a ratio to another.
    is_compared: bool,
    /// True for ratios so close to 1 that they need three decimals.
    fine: bool,
    /// Ends of the scale, as logarithms of factors.
    low: f64,
    high: f64,
}

impl Layout {
    fn of(forest: &Forest<'_>, width: usize, rows: &[&StackRow]) -> Self {
        let ratios = rows.iter().filter_map(|row| row.ratio.ratio);
        let fine = ratios.fold(0.0_f64, |most, ratio| most.max((ratio - 1.0).abs())) < FINE;
        let widest = |text: &dyn Fn(&StackRow) -> String, least: usize| {
            rows.iter().map(|row| columns(&text(row))).max().unwrap_or(0).max(least)
        };
        let median = widest(&|row| row.median.clone(), columns(forest.unit));
        let ratio = widest(&|row| short(row.ratio.ratio, fine), 5);
        let interval = widest(&|row| interval(row, fine), 8);
        let values = |row: &&&StackRow| forest.axes.values(&row.ratio.stack);
        let of_axis = |at: usize| {
            let cells = rows.iter().filter_map(|row| values(&row)).map(|all| columns(all[at]));
            cells.max().unwrap_or(0)
        };
        let axes: Vec<usize> = (0..forest.axes.names().len()).map(of_axis).collect();
        // Indent of the label, gaps of two between five columns.
        let fixed = 2 + median + ratio + interval + 8;
        let is_compared = rows.iter().filter(|row| row.ratio.ratio.is_some()).count() > 1;
        let free = width.saturating_sub(fixed);
        let least = if is_compared { PICTURE.0.min(free.saturating_sub(LABEL)) } else { 0 };
        let room = free.saturating_sub(least).max(LABEL);
        let by_axis = !axes.is_empty()
            && rows.iter().all(|row| values(&row).is_some())
            && label(&axes) <= room;
        let axes = match by_axis {
            true => axes,
            false => vec![widest(&|row| row.ratio.stack.clone(), 0).min(room)],
        };
        let picture = free.saturating_sub(label(&axes)).min(PICTURE.1);
        let picture = if is_compared && picture >= LEAST { picture } else { 0 };
        let (low, high) = ends(forest, rows);
        Self { axes, by_axis, median, ratio, picture, is_compared, fine, low, high }
    }

    /// The line above the stacks: unit, scale, names of the columns.
    fn head(&self, forest: &Forest<'_>) -> String {
        if !self.is_compared {
            return format!(
                "  {}  {}",
                " ".repeat(label(&self.axes)),
                pad(forest.unit, self.median, true)
            );
        }
        let confidence = exact_percent(forest.view.verdict.confidence);
        format!(
            "  {}  {}  {}  {}  {confidence}",
            " ".repeat(label(&self.axes)),
            pad(forest.unit, self.median, true),
            self.scale(forest.better),
            pad("ratio", self.ratio, true),
        )
    }

    fn row(&self, forest: &Forest<'_>, place: Standing, row: &StackRow) -> Vec<String> {
        let stack = harmless(&row.ratio.stack);
        let labels = match forest.axes.values(&row.ratio.stack).filter(|_| self.by_axis) {
            Some(values) => {
                let cells = values.iter().zip(&self.axes);
                let cells: Vec<String> =
                    cells.map(|(value, width)| pad(&harmless(value), *width, false)).collect();
                vec![cells.join(" ")]
            }
            None => wrap(&stack, label(&self.axes)),
        };
        let reason = forest.reasons.get(&row.ratio.stack).filter(|text| !text.is_empty());
        let mut lines = Vec::new();
        for (number, text) in labels.iter().enumerate() {
            let start = format!("  {}", pad(text, label(&self.axes), false));
            lines.push(match (number, place, reason) {
                (0, Standing::Unmeasured, Some(reason)) => format!("{start}  {}", harmless(reason)),
                (0, _, _) => format!(
                    "{start}  {}  {}  {}  {}",
                    pad(&row.median, self.median, true),
                    self.drawn(forest, place, row),
                    pad(&ratio_text(place, row, self.fine), self.ratio, true),
                    if place == Standing::Pick { String::new() } else { interval(row, self.fine) },
                ),
                _ => start,
            });
        }
        lines.iter().map(|line| line.trim_end().to_owned()).collect()
    }

    /// The column of a factor; `None` outside of the scale.
    fn column(&self, factor: f64) -> Option<usize> {
        let share = (factor.ln() - self.low) / (self.high - self.low);
        let column = (share * (self.picture as f64 - 1.0)).round();
        (share.is_finite() && (-1e-9..=1.0 + 1e-9).contains(&share)).then_some(column as usize)
    }

    /// The scale: round factors with a blank between them.
    fn scale(&self, better: Better) -> String {
        let mut line = vec![' '; self.picture];
        for tick in TICKS {
            let Some(at) = self.column(benefit(better, tick)) else { continue };
            let text = tick.to_string();
            let from =
                at.saturating_sub(text.len() / 2).min(self.picture.saturating_sub(text.len()));
            let to = from + text.len();
            let around = from.saturating_sub(1)..(to + 1).min(self.picture);
            if to <= self.picture && line[around].iter().all(|c| *c == ' ') {
                line.splice(from..to, text.chars());
            }
        }
        line.into_iter().collect()
    }

    /// The interval and the ratio of a stack.
    fn drawn(&self, forest: &Forest<'_>, place: Standing, row: &StackRow) -> String {
        if self.picture == 0 {
            return String::new();
        }
        let mut line = vec![' '; self.picture];
        let tie = 1.0 + forest.view.verdict.tie;
        for (factor, mark) in [(1.0 / tie, '\u{250a}'), (tie, '\u{250a}'), (1.0, '\u{2502}')] {
            self.column(factor).into_iter().for_each(|at| line[at] = mark);
        }
        let ends = row.ratio.low.zip(row.ratio.high);
        if let Some((one, other)) = ends.filter(|_| place != Standing::Pick) {
            let (one, other) = (forest.worse(one), forest.worse(other));
            let (low, high) = (one.min(other), one.max(other));
            let from = self.column(low.max(self.low.exp()));
            let to = self.column(high.min(self.high.exp()));
            if let (Some(from), Some(to)) = (from, to) {
                line[from..=to].fill('\u{2500}');
                line[from] = if low.ln() < self.low - 1e-9 { '\u{2039}' } else { '\u{251c}' };
                line[to] = if high.ln() > self.high + 1e-9 { '\u{203a}' } else { '\u{2524}' };
            }
        }
        for ratio in forest.trials.of_stack(&row.ratio.stack) {
            self.column(forest.worse(ratio)).into_iter().for_each(|at| line[at] = ticked(line[at]));
        }
        let mark = match place {
            Standing::Pick => '\u{25cf}',
            Standing::Out => '\u{25a0}',
            Standing::AsGood
            | Standing::Close
            | Standing::Undecided
            | Standing::NotEligible
            | Standing::Unmeasured => '\u{25cb}',
        };
        if let Some(factor) = row.ratio.ratio.map(|ratio| forest.worse(ratio)) {
            match self.column(factor) {
                Some(at) => line[at] = mark,
                None if factor > 1.0 => line[self.picture - 1] = '\u{203a}',
                None => line[0] = '\u{2039}',
            }
        }
        line.into_iter().collect()
    }
}

/// A character of the picture with a tick on it; the vertical lines and the ends of intervals stay.
fn ticked(below: char) -> char {
    match below {
        ' ' => TRIAL,
        '\u{2500}' => '\u{2534}',
        other => other,
    }
}

/// Ends of the scale that show every interval and the tie, up to a factor of ten.
fn ends(forest: &Forest<'_>, rows: &[&StackRow]) -> (f64, f64) {
    let tie = 1.0 + forest.view.verdict.tie.max(0.01);
    let all = rows.iter().flat_map(|row| [row.ratio.ratio, row.ratio.low, row.ratio.high]);
    let all: Vec<f64> = all
        .flatten()
        .map(|ratio| forest.worse(ratio))
        .filter(|factor| factor.is_finite() && *factor > 0.0)
        .chain([1.0 / tie, tie])
        .collect();
    let low = all.iter().copied().fold(1.0, f64::min).max(CUT.0);
    let high = all.iter().copied().fold(1.0, f64::max).min(CUT.1);
    (low.ln(), high.ln())
}

/// A ratio with three digits: `1.66`, `12.3`, `140`; with three decimals where all are `fine`.
fn short(ratio: Option<f64>, fine: bool) -> String {
    let Some(ratio) = ratio.filter(|ratio| ratio.is_finite()) else { return DASH.to_owned() };
    match ratio {
        // An interval of two rounds reaches from nothing to everything.
        ratio if ratio >= 999.5 => ">999".to_owned(),
        ratio if ratio < 0.0005 => "<0.001".to_owned(),
        ratio if ratio >= 99.95 => format!("{ratio:.0}"),
        ratio if ratio >= 9.995 => format!("{ratio:.1}"),
        ratio if ratio >= 0.1 && !fine => format!("{ratio:.2}"),
        ratio => format!("{ratio:.3}"),
    }
}

fn ratio_text(place: Standing, row: &StackRow, fine: bool) -> String {
    if place == Standing::Pick { String::new() } else { short(row.ratio.ratio, fine) }
}

fn interval(row: &StackRow, fine: bool) -> String {
    let mark = if row.ratio.basis == Basis::Screen { "~" } else { "" };
    match (row.ratio.low, row.ratio.high) {
        (Some(low), Some(high)) => {
            format!("{mark}{}\u{2013}{}", short(Some(low), fine), short(Some(high), fine))
        }
        _ => DASH.to_owned(),
    }
}

/// Width of a label whose parts have these widths.
fn label(parts: &[usize]) -> usize {
    parts.iter().sum::<usize>() + parts.len() - 1
}
