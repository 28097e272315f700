//! The conditions of a claim.

use super::bounds::Bounds;
use super::measured::{Measures, Rounds, quantity};
use crate::claims::{Best, Form, Judgeable};
use crate::formula::Formula;
use crate::study::{Cells, Condition, Count, Study, references};
use seekwell_model::replication::{Agreement, ClaimVerdict, Quantity, Tested};

/// Result of a claim, with the conditions that decide it.
pub(super) struct Judged {
    /// By the rule that was frozen with the claims.
    pub(super) verdict: ClaimVerdict,
    /// By whole intervals; `None` when it was not measured. A difference is not explained yet.
    pub(super) agreement: Option<Agreement>,
    pub(super) tests: Vec<Tested>,
}

/// Judges the claims of a study.
pub(super) struct Judge<'a> {
    pub(super) study: &'a Study,
    pub(super) measures: &'a Measures<'a>,
}

impl Judge<'_> {
    /// Judges a claim.
    pub(super) fn of(&self, claim: &Judgeable) -> Judged {
        match &claim.form {
            Form::Order { values, best } => whole(self.order(claim, values, *best)),
            // Values published in different units are compared by a test of the study's file.
            Form::Ratio { .. } if self.study.tests.contains_key(&claim.id) => self.sign(claim),
            Form::Ratio { of, over, published, within } => {
                whole(vec![self.ratio(of, over, *published, *within)])
            }
            Form::Equal { values, within } => whole(self.equal(values, *within)),
            Form::Cross { curves } => whole(self.cross(claim, curves)),
            Form::Range { low, high } => whole(self.range(claim, *low, *high)),
            Form::Sign { .. } => self.sign(claim),
            Form::Cannot { .. } => {
                Judged { verdict: ClaimVerdict::CannotBeTested, agreement: None, tests: Vec::new() }
            }
        }
    }

    /// Tie width of the labs behind a claim.
    pub(super) fn tie(&self, claim: &Judgeable) -> f64 {
        self.measures.tie(&self.names(claim))
    }

    /// Returns the names of the measures behind a claim.
    pub(super) fn names(&self, claim: &Judgeable) -> Vec<String> {
        let mut names: Vec<String> = claim.form.names().into_iter().map(str::to_owned).collect();
        if let Form::Cross { curves } = &claim.form {
            let points = curves.iter().filter_map(|curve| self.study.curves.get(curve));
            names.extend(
                points.flat_map(|points| points.first().into_iter().chain(points.last()).cloned()),
            );
        }
        if let Some(test) = self.study.tests.get(&claim.id) {
            let conditions = test.all.iter().chain(&test.any);
            names.extend(conditions.flat_map(|condition| condition.formula.measures()));
            names.extend(test.cells.iter().flat_map(|cells| cells.of.iter().cloned()));
        }
        names
    }

    /// `one` over `two`, round by round.
    fn quotient(&self, one: &str, two: &str) -> Option<Quantity> {
        let (one, two) = (self.measures.rounds(one), self.measures.rounds(two));
        let ratios: Rounds = one
            .iter()
            .filter_map(|(round, value)| Some((*round, value / two.get(round)?)))
            .collect();
        quantity(&ratios)
    }

    fn order(&self, claim: &Judgeable, values: &[String], best: Best) -> Vec<Tested> {
        let bounds = Bounds { above: Some(1.0), tie: self.tie(claim), ..Bounds::default() };
        let pair = |pair: &[String]| {
            // The slower over the faster in time, the faster over the slower in rate: above 1.
            let (one, two) = match best {
                Best::Low => (&pair[1], &pair[0]),
                Best::High => (&pair[0], &pair[1]),
            };
            let found = self.quotient(one, two);
            let holds = found.map(|found| found.low > 1.0);
            bounds.tested(format!("{one} / {two}"), "above 1".to_owned(), found, holds)
        };
        values.windows(2).map(pair).collect()
    }

    fn ratio(&self, of: &str, over: &str, published: f64, within: f64) -> Tested {
        let found = self.quotient(of, over);
        let (low, high) = (published * (1.0 - within), published * (1.0 + within));
        let holds = found.map(|found| found.high >= low && found.low <= high);
        let wanted = format!("{published} ± {:.0} %", within * 100.0);
        Bounds::range(low, high).tested(format!("{of} / {over}"), wanted, found, holds)
    }

    fn equal(&self, values: &[String], within: f64) -> Vec<Tested> {
        let mut tests = Vec::new();
        for (index, one) in values.iter().enumerate() {
            for two in &values[index + 1..] {
                let found = self.quotient(one, two);
                let (low, high) = (1.0 - within, 1.0 + within);
                let holds = found.map(|found| found.low >= low && found.high <= high);
                let wanted = format!("1 ± {:.0} %, the whole interval", within * 100.0);
                let bounds = Bounds::range(low, high);
                tests.push(bounds.tested(format!("{one} / {two}"), wanted, found, holds));
            }
        }
        tests
    }

    /// The leader at the smallest block is not the leader at the largest.
    fn cross(&self, claim: &Judgeable, curves: &[String; 2]) -> Vec<Tested> {
        let width = 1.0 + self.tie(claim);
        let ends = |curve: &String| {
            let points = self.study.curves.get(curve)?;
            Some((points.first()?.clone(), points.last()?.clone()))
        };
        let (Some(one), Some(two)) = (ends(&curves[0]), ends(&curves[1])) else {
            return Vec::new();
        };
        let small = self.quotient(&one.0, &two.0);
        let large = self.quotient(&one.1, &two.1);
        let leads = |found: Option<Quantity>| found.map(|found| found.centre > 1.0);
        let side = |found: Quantity| found.low > 1.0 || found.high < 1.0;
        let leads_clearly = |found: Quantity| found.low > width || found.high < width.recip();
        let first = Tested {
            what: format!("{} / {}", one.0, two.0),
            wanted: "on one side of 1".to_owned(),
            found: small,
            holds: small.map(side),
            agrees: small.filter(|found| leads_clearly(*found)).map(|_| true),
            broken: None,
        };
        let crossed = leads(small).zip(leads(large)).map(|(small, large)| small != large);
        let agrees = crossed.filter(|_| [small, large].into_iter().flatten().all(leads_clearly));
        let second = Tested {
            what: format!("{} / {}", one.1, two.1),
            wanted: "on the other side of 1".to_owned(),
            found: large,
            holds: large.zip(crossed).map(|(found, crossed)| side(found) && crossed),
            agrees,
            broken: agrees.filter(|agrees| !agrees).map(|_| 1.0),
        };
        vec![first, second]
    }

    /// Tests whether every quantity of the claim is in the range.
    fn range(&self, claim: &Judgeable, low: f64, high: f64) -> Vec<Tested> {
        let conditions = self.study.tests.get(&claim.id).map(|test| test.all.as_slice());
        let one = |condition: &Condition| {
            let found = quantity(&self.measures.formula(&condition.formula));
            let holds = found.map(|found| (low..=high).contains(&found.centre));
            let wanted = format!("{low} to {high}");
            Bounds::range(low, high).tested(words(&condition.formula), wanted, found, holds)
        };
        conditions.unwrap_or_default().iter().map(one).collect()
    }

    fn sign(&self, claim: &Judgeable) -> Judged {
        let Some(test) = self.study.tests.get(&claim.id) else { return whole(Vec::new()) };
        let tie = self.tie(claim);
        let mut all: Vec<Tested> = test.all.iter().map(|one| self.condition(one, tie)).collect();
        all.extend(test.cells.iter().map(|cells| self.cells(cells, tie)));
        judged(all, test.any.iter().map(|one| self.condition(one, tie)).collect())
    }

    /// Counts the cells whose whole interval is above the bound. The quantity found is their number, or for
    /// [`Count::MostIn`] the share of them in the part.
    fn cells(&self, cells: &Cells, tie: f64) -> Tested {
        let names = references::cells(&cells.of, &self.study.measures);
        let measured: Vec<(&String, Option<Quantity>)> =
            names.iter().map(|name| (name, self.measures.quantity(name))).collect();
        let missing = measured.iter().filter(|(_, found)| found.is_none()).count();
        let counts = |found: &Quantity| found.low > cells.above;
        let counted: Vec<&String> = measured
            .iter()
            .filter(|(_, found)| found.as_ref().is_some_and(counts))
            .map(|(name, _)| *name)
            .collect();
        let wanted_in = references::cells(&cells.most_in, &self.study.measures);
        let inside = counted.iter().filter(|name| wanted_in.contains(name)).count();
        let all_known = missing == 0;
        // By whole intervals a cell counts, does not, or may.
        let bounds = Bounds { above: Some(cells.above), tie, ..Bounds::default() };
        let told: Vec<Option<bool>> =
            measured.iter().filter_map(|(_, found)| Some(bounds.agrees((*found)?))).collect();
        let (some, open) = (told.contains(&Some(true)), told.contains(&None));
        let (wanted, number, holds) = match cells.count {
            Count::One => {
                let holds = (!counted.is_empty()).then_some(true).or(all_known.then_some(false));
                ("one at least".to_owned(), counted.len() as f64, holds)
            }
            Count::None => {
                let holds = (!counted.is_empty()).then_some(false).or(all_known.then_some(true));
                ("none".to_owned(), counted.len() as f64, holds)
            }
            Count::MostIn => {
                let share =
                    if counted.is_empty() { 0.0 } else { inside as f64 / counted.len() as f64 };
                let wanted = format!("more than half of them in {}", cells.most_in.join(", "));
                (wanted, share, all_known.then_some(share > 0.5))
            }
        };
        let agrees = holds.and_then(|holds| match cells.count {
            Count::One if some || !open => Some(some),
            Count::None if some || !open => Some(!some),
            Count::MostIn if !open => Some(holds),
            _ => None,
        });
        let rounds = measured.iter().filter_map(|(_, found)| Some(found.as_ref()?.rounds)).min();
        let found = holds.zip(rounds).map(|(_, rounds)| Quantity {
            low: number,
            centre: number,
            high: number,
            rounds,
        });
        Tested {
            what: format!(
                "{} of {} cells {} above {}, {missing} not measured: {}",
                counted.len(),
                names.len(),
                cells.of.join(", "),
                cells.above,
                some_of(&counted)
            ),
            wanted,
            found,
            holds,
            agrees,
            broken: None,
        }
    }

    /// Tests a condition on the trials.
    pub(super) fn condition(&self, condition: &Condition, tie: f64) -> Tested {
        let found = quantity(&self.measures.formula(&condition.formula));
        let above = condition.above.map(|bound| format!("above {bound}"));
        let below = condition.below.map(|bound| format!("below {bound}"));
        let not_above = condition.not_above.map(|bound| format!("not above {bound}"));
        let wanted: Vec<String> = above.into_iter().chain(below).chain(not_above).collect();
        let holds = |found: Quantity| {
            condition.above.is_none_or(|bound| found.low > bound)
                && condition.below.is_none_or(|bound| found.high < bound)
                && condition.not_above.is_none_or(|bound| found.low <= bound)
        };
        let bounds = Bounds::of(condition, tie);
        bounds.tested(words(&condition.formula), wanted.join(" and "), found, found.map(holds))
    }
}

/// Names that a sentence can hold.
const NAMES_SHOWN: usize = 6;

/// The first of these names, and how many more there are.
fn some_of(names: &[&String]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(|name| name.as_str()).collect();
    match names.len().saturating_sub(NAMES_SHOWN) {
        0 if names.is_empty() => "none".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A formula without its braces.
fn words(formula: &Formula) -> String {
    formula.text.replace(['{', '}'], "")
}

/// Combines conditions all of which must be met.
fn whole(tests: Vec<Tested>) -> Judged {
    judged(tests, Vec::new())
}

/// Combines conditions: all of the first must be met, and one of the second where there are any. The frozen rule and
/// whole intervals are combined alike.
fn judged(mut all: Vec<Tested>, any: Vec<Tested>) -> Judged {
    let combined = |state: fn(&Tested) -> Option<Agreement>| {
        let mut states: Vec<Option<Agreement>> = all.iter().map(state).collect();
        if !any.is_empty() {
            let any: Vec<Option<Agreement>> = any.iter().map(state).collect();
            states.push(decisive(&any, Agreement::Agrees, Agreement::OurError));
        }
        decisive(&states, Agreement::OurError, Agreement::Agrees).filter(|_| !states.is_empty())
    };
    let verdict = match combined(|test| test.holds.map(met_or_not)) {
        None => ClaimVerdict::NotMeasured,
        Some(Agreement::Agrees) => ClaimVerdict::Confirmed,
        Some(_) => ClaimVerdict::NotConfirmed,
    };
    let agreement =
        combined(|test| test.found.map(|_| test.agrees.map_or(Agreement::CannotTell, met_or_not)));
    all.extend(any);
    Judged { verdict, agreement, tests: all }
}

fn met_or_not(met: bool) -> Agreement {
    if met { Agreement::Agrees } else { Agreement::OurError }
}

/// One state that decides is enough; else a missing one leaves it open, and one that cannot tell comes before the other.
fn decisive(
    states: &[Option<Agreement>],
    decides: Agreement,
    other: Agreement,
) -> Option<Agreement> {
    let has = |state| states.contains(&state);
    if has(Some(decides)) {
        Some(decides)
    } else if has(None) {
        None
    } else if has(Some(Agreement::CannotTell)) {
        Some(Agreement::CannotTell)
    } else {
        Some(other)
    }
}
