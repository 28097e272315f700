//! The answer for each axis in a sentence.

use super::names::by_name;
use super::{AxisLine, Effect, Said, Sides, size, word};
use crate::factor::list_with;
use crate::number::percent;
use seekwell_model::answer::{AxisAnswer, Depends, Trend, ValueOut};

/// Values of an axis that may differ by more than this are not said to be within it of each other: that
/// would read as if they were alike.
const UNRESOLVED: f64 = 0.25;
/// Values of an axis in its line at most.
const VALUES: usize = 3;

impl Said<'_> {
    pub(super) fn axis_lines(&self) -> Vec<AxisLine> {
        let line = |axis: &AxisAnswer| AxisLine {
            axis: axis.axis.clone(),
            matters: (self.differing(axis).next().is_some() && self.alike(axis).is_none())
                || axis.depends.iter().any(is_shown)
                || self.out_with_pick(axis).is_some(),
            text: format!("{}.", self.axis(axis).trim_end_matches('.')),
        };
        self.answer.axes.iter().map(line).collect()
    }

    fn axis(&self, axis: &AxisAnswer) -> String {
        if !axis.depends.is_empty() {
            return self.depends(axis);
        }
        if let Some(alike) = self.alike(axis) {
            return alike;
        }
        let differing: Vec<&ValueOut> = self.differing(axis).collect();
        let mut text = self.left(axis);
        let out = self.values_out(&axis.axis, &differing);
        if !out.is_empty() {
            text.push_str(if text.is_empty() { "" } else { "; " });
            text.push_str(&out);
        }
        if let Some(trend) = &axis.trend {
            text.push_str(&format!("; {}", self.trend(trend)));
        }
        if let Some(out) = self.out_with_pick(axis) {
            text.push_str(&format!("; {out}"));
        }
        text
    }

    /// Values of an axis that is open on average, or depends on others without a difference that is shown, whose stacks
    /// are out where all else is the pick's.
    fn out_with_pick(&self, axis: &AxisAnswer) -> Option<String> {
        let Self { axes, answer, .. } = self;
        let is_open = axis.out.is_empty() && axis.within.is_none_or(|most| most > UNRESOLVED);
        if !is_open || axis.depends.iter().any(is_shown) || axes.names().len() < 2 {
            return None;
        }
        let at = axes.names().iter().position(|name| axis.axis.starts_with(name))?;
        let pick = axes.values(answer.pick.as_deref()?)?;
        let value = |label: &String| {
            let values = axes.values(label)?;
            let differs = |(place, value): (usize, &&str)| (place != at) == (pick[place] == *value);
            values.iter().enumerate().all(differs).then(|| values[at].to_owned())
        };
        let out: Vec<String> = answer.out.iter().filter_map(value).collect();
        let are = if out.len() == 1 { "is" } else { "are" };
        let with = self.rest_of_pick(&axis.axis);
        (!out.is_empty()).then(|| format!("{} {are} out{with}", by_name(&out).text))
    }

    /// The line of an axis of which one value is left and no other is shown to be worse, whose stacks are out for
    /// another reason.
    fn alike(&self, axis: &AxisAnswer) -> Option<String> {
        let out: Vec<&ValueOut> = self.differing(axis).collect();
        if !axis.depends.is_empty() || axis.left.len() > 1 || axis.out.is_empty() {
            return None;
        }
        if out.is_empty() {
            let with = match self.is_alike_everywhere(&axis.axis) {
                true => String::new(),
                false => self.rest_of_pick(&axis.axis),
            };
            return Some(format!("no difference{with}"));
        }
        let own = |out: &&ValueOut| self.with_pick(&axis.axis, out);
        if out.iter().all(|out| own(out).is_some_and(Effect::is_nothing)) {
            return Some(format!("no difference{}", self.rest_of_pick(&axis.axis)));
        }
        let most = self.unseen(&out).filter(|most| *most <= UNRESOLVED)?;
        let is_said = out.iter().any(|out| self.apart(&axis.axis, out).is_some());
        (!is_said).then(|| format!("no difference above {}", percent(most)))
    }

    /// Returns true if stacks that differ in this axis alone are within the tie of each other.
    fn is_alike_everywhere(&self, axis: &str) -> bool {
        let Self { axes, view, .. } = self;
        let Some(at) = axes.names().iter().position(|name| axis.starts_with(name)) else {
            return true;
        };
        let rows = view.verdict.ratios.iter();
        let rows: Vec<(&[&str], f64)> =
            rows.filter_map(|row| Some((axes.values(&row.stack)?, row.ratio?))).collect();
        let is_pair = |one: &[&str], two: &[&str]| {
            one.iter().zip(two).enumerate().all(|(place, (a, b))| place == at || a == b)
        };
        let most = 1.0 + view.verdict.tie;
        let is_alike = |(one, size): &(&[&str], f64), (two, other): &(&[&str], f64)| {
            !is_pair(one, two) || (size / other).max(other / size) <= most
        };
        rows.iter().all(|one| rows.iter().all(|two| is_alike(one, two)))
    }

    /// The most that values can differ whose intervals all hold no difference: their stacks are out for another
    /// reason. `None` if one is shown to be worse.
    fn unseen(&self, out: &[&ValueOut]) -> Option<f64> {
        let most = |out: &&ValueOut| {
            let effect = self.effect(out.ratio, out.low, out.high);
            effect.most().filter(|_| effect.holds(1.0))
        };
        let all: Option<Vec<f64>> = out.iter().map(most).collect();
        all?.into_iter().reduce(f64::max)
    }

    /// The values of an axis that are left, and how far they differ.
    fn left(&self, axis: &AxisAnswer) -> String {
        let over = match axis.over.as_str() {
            "" => String::new(),
            over => format!(" averaged over {over}"),
        };
        let single = |within: f64| match axis.single {
            Some(single) if single > within && !axis.over.is_empty() => {
                format!(" (up to {} in single combinations)", percent(single))
            }
            _ => String::new(),
        };
        match (axis.left.as_slice(), axis.within) {
            ([], _) => String::new(),
            ([only], _)
                if axis.out.iter().any(|out| self.is_best_with_pick_alone(&axis.axis, out)) =>
            {
                format!("{only} is best with the pick")
            }
            ([only], _) => format!("{only} is best"),
            (left, Some(within)) if within > UNRESOLVED => {
                let who = match axis.out.as_slice() {
                    [] => String::new(),
                    _ => format!("{} are ", by_name(left).text),
                };
                let apart = match within {
                    // Trials that vary by so much set no bound worth a number.
                    wide if wide >= 1.0 => String::new(),
                    within => format!(", at most {} apart{over}", percent(within)),
                };
                format!("{who}too close to call{apart}")
            }
            (_, Some(within)) if axis.out.is_empty() => {
                let comma = if over.is_empty() { "" } else { "," };
                let above = match within {
                    none if none < size::NOTHING => String::new(),
                    within => format!(" above {}", percent(within)),
                };
                format!("no difference{above}{comma}{over}{}", single(within))
            }
            (left, Some(within)) if within < size::NOTHING => {
                format!("{}, which do not differ{over}{}", alternatives(left), single(within))
            }
            (left, Some(within)) => format!(
                "{}, within {} of each other{over}{}",
                alternatives(left),
                percent(within),
                single(within)
            ),
            (left, None) => format!("{} are too close to call", by_name(left).text),
        }
    }

    /// Returns true for a value whose stacks are all out and that is better than the best value on average.
    fn is_better_on_average(&self, out: &ValueOut) -> bool {
        self.effect(out.ratio, out.low, out.high).to < 1.0
    }

    /// The same where the combination of the pick is not said.
    fn is_best_with_pick_alone(&self, axis: &str, out: &ValueOut) -> bool {
        self.is_better_on_average(out) && self.with_pick(axis, out).is_none()
    }

    /// Values that are out by a difference that can be noticed.
    fn differing<'s>(&'s self, axis: &'s AxisAnswer) -> impl Iterator<Item = &'s ValueOut> {
        let differs = |out: &&ValueOut| !self.effect(out.ratio, out.low, out.high).is_nothing();
        axis.out.iter().filter(differs)
    }

    /// Values that are out with their sizes; of a long list the range alone, or the first if they were
    /// compared with different values.
    fn values_out(&self, axis: &str, out: &[&ValueOut]) -> String {
        let clause = |out: &ValueOut, effect: Effect| {
            let sides =
                Sides { worse: &out.value, is_plural: false, better: &out.against, both: true };
            self.measure.clause(&sides, effect)
        };
        // The clause, and what it holds with.
        let one = |out: &&ValueOut| {
            let effect = self.effect(out.ratio, out.low, out.high);
            if let Some(own) = self.apart(axis, out) {
                return (clause(out, own), self.rest_of_pick(axis));
            }
            if let Some(most) = self.unseen(&[out]) {
                let text = format!(
                    "{} differs from {} by at most {}",
                    out.value,
                    out.against,
                    percent(most)
                );
                return (text, String::new());
            }
            if self.is_better_on_average(out) {
                let (worse, better) = (out.against.as_str(), out.value.as_str());
                let sides = Sides { worse, is_plural: false, better, both: true };
                return (self.measure.clause(&sides, effect.turned()), " on average".to_owned());
            }
            (clause(out, effect), String::new())
        };
        let listed = |out: &[&ValueOut]| {
            let all: Vec<(String, String)> = out.iter().map(one).collect();
            let is_same = all.iter().all(|(_, with)| *with == all[0].1);
            let mut said = String::new();
            for (at, (text, with)) in all.iter().enumerate() {
                let is_last = !is_same || at + 1 == all.len();
                said.push_str(text);
                said.push_str(if is_last { with } else { "" });
                said.push_str(if at + 1 < all.len() { "; " } else { "" });
            }
            said
        };
        // Those that are better on average are no part of a range of costs.
        let (better, worse): (Vec<&ValueOut>, Vec<&ValueOut>) =
            out.iter().partition(|out| self.is_better_on_average(out));
        let (Some(first), true) = (worse.first(), worse.len() > VALUES) else { return listed(out) };
        let range = Effect::range(self.view.verdict.better, worse.iter().map(|out| out.ratio));
        let said = match range.filter(|_| worse.iter().all(|one| one.against == first.against)) {
            Some(range) => {
                let the = if better.is_empty() { "the " } else { "" };
                let worse = format!("{the}{} others", word(worse.len()));
                let sides =
                    Sides { worse: &worse, is_plural: true, better: &first.against, both: true };
                self.measure.clause(&sides, range)
            }
            None => {
                let more = worse.len() - VALUES;
                let are = if more == 1 { "is" } else { "are" };
                format!("{}; {more} more {are} out", listed(&worse[..VALUES]))
            }
        };
        [said, listed(&better)]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// The effect of a value against the best with what else the pick has; `None` where that is not the pick's, or
    /// the value is no worse there.
    fn with_pick(&self, axis: &str, out: &ValueOut) -> Option<Effect> {
        let Self { axes, answer, .. } = self;
        let at = axes.names().iter().position(|name| axis.starts_with(name))?;
        let mut values = axes.values(answer.pick.as_deref()?)?.to_vec();
        if axes.names().len() < 2 || values[at] != out.against {
            return None;
        }
        values[at] = out.value.as_str();
        self.row(&values.join("/")).filter(|effect| effect.from > 1.0 || effect.is_nothing())
    }

    /// The same where the average says another thing, and misleads.
    fn apart(&self, axis: &str, out: &ValueOut) -> Option<Effect> {
        let average = self.effect(out.ratio, out.low, out.high);
        self.with_pick(axis, out).filter(|own| !average.holds(own.from))
    }

    /// The rest of the pick besides the value of an axis: ` with the pick's scheduler`.
    fn rest_of_pick(&self, axis: &str) -> String {
        let others = self.axes.names().iter().filter(|name| !axis.starts_with(**name));
        match others.collect::<Vec<_>>().as_slice() {
            [other] => format!(" with the pick's {other}"),
            _ => " with the rest of the pick".to_owned(),
        }
    }

    fn depends(&self, axis: &AxisAnswer) -> String {
        let others: Vec<&str> = self
            .axes
            .names()
            .iter()
            .filter(|name| !axis.axis.starts_with(**name))
            .copied()
            .collect();
        let on = match others.as_slice() {
            [only] => format!("the {only}"),
            _ => "the rest of the stack".to_owned(),
        };
        let with = |one: &Depends| {
            let sides =
                Sides { worse: &one.worst, is_plural: false, better: &one.best, both: true };
            let size = self.measure.clause(&sides, self.effect(one.ratio, one.low, one.high));
            format!("with {} {size}", one.with)
        };
        let (mut shown, alike): (Vec<&Depends>, Vec<_>) =
            axis.depends.iter().partition(|one| is_shown(one));
        if let Some(out) = self.out_with_pick(axis) {
            return format!("depends on {on}; {out}");
        }
        if shown.is_empty() {
            return format!("depends on {on}, but no combination shows a difference by itself");
        }
        let more = if shown.len() > VALUES { shown.len() - 1 } else { 0 };
        if more > 0 {
            // The largest difference alone: a list of many says nothing.
            shown.sort_by(|one, other| other.ratio.ln().abs().total_cmp(&one.ratio.ln().abs()));
            shown.truncate(1);
        }
        let mut parts: Vec<String> = shown.iter().map(|one| with(one)).collect();
        if more > 0 {
            parts.push(format!("{more} more combinations differ too, by less"));
        }
        match alike.as_slice() {
            [] => {}
            [only] => parts.push(format!("with {} no difference is shown", only.with)),
            many => parts.push(format!("with {} others no difference is shown", many.len())),
        }
        format!("depends on {on}: {}", parts.join("; "))
    }

    fn trend(&self, trend: &Trend) -> String {
        let effect = self.effect(trend.ratio, trend.low, trend.high);
        let steady = if trend.steady { ", step by step" } else { "" };
        let range = format!("from {} to {}", trend.from, trend.to);
        if effect.from < 1.0 {
            return format!("{range} it gets {}{steady}", self.measure.gain(effect.turned()));
        }
        let sides = Sides { worse: "it", is_plural: false, better: &trend.from, both: false };
        format!("{range} {}{steady}", self.measure.clause(&sides, effect))
    }
}

/// True if the interval of the two values leaves out that they are alike.
fn is_shown(one: &Depends) -> bool {
    one.low.is_some_and(|low| low > 1.0) || one.high.is_some_and(|high| high < 1.0)
}

/// `ext4 or xfs`.
fn alternatives(values: &[String]) -> String {
    if values.len() <= VALUES {
        return list_with(values, "or");
    }
    format!("{} or {} others", values[..VALUES - 1].join(", "), values.len() - VALUES + 1)
}
