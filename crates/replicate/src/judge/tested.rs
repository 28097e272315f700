//! The conditions of a claim.

use super::measured::{Measures, Rounds, quantity};
use crate::claims::{Best, Form, Judgeable};
use crate::formula::Formula;
use crate::study::{Cells, Condition, Count, Study, references};
use seekwell_model::replication::{ClaimVerdict, Quantity, Tested};

/// Judges the claims of a study.
pub(super) struct Judge<'a> {
    pub(super) study: &'a Study,
    pub(super) measures: &'a Measures<'a>,
}

impl Judge<'_> {
    /// Returns the verdict, and the conditions that decide it.
    pub(super) fn of(&self, claim: &Judgeable) -> (ClaimVerdict, Vec<Tested>) {
        match &claim.form {
            Form::Order { values, best } => whole(self.order(values, *best)),
            // Values published in different units are compared by a test of the study's file.
            Form::Ratio { .. } if self.study.tests.contains_key(&claim.id) => self.sign(claim),
            Form::Ratio { of, over, published, within } => {
                whole(vec![self.ratio(of, over, *published, *within)])
            }
            Form::Equal { values, within } => whole(self.equal(values, *within)),
            Form::Cross { curves } => whole(self.cross(curves)),
            Form::Range { low, high } => whole(self.range(claim, *low, *high)),
            Form::Sign { .. } => self.sign(claim),
            Form::Cannot { .. } => (ClaimVerdict::CannotBeTested, Vec::new()),
        }
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

    /// Returns the ratios that confirm a claim by being on one side of 1. A claim of another form has none.
    pub(super) fn winning_ratios(&self, claim: &Judgeable) -> Vec<f64> {
        let centre = |found: Option<Quantity>| found.map(|found| found.centre);
        match &claim.form {
            Form::Order { values, best } => {
                self.order(values, *best).iter().filter_map(|test| centre(test.found)).collect()
            }
            Form::Cross { curves } => {
                self.cross(curves).iter().filter_map(|test| centre(test.found)).collect()
            }
            Form::Sign { .. } | Form::Ratio { .. } => {
                let Some(test) = self.study.tests.get(&claim.id) else { return Vec::new() };
                let mut ratios: Vec<f64> =
                    test.all.iter().filter_map(|one| self.winning_ratio(one)).collect();
                // One alternative or cell is enough, so the clearest of them counts.
                ratios.extend(farthest(test.any.iter().filter_map(|one| self.winning_ratio(one))));
                let cells = test.cells.iter().filter(|cells| is_about_one_winner(cells));
                ratios.extend(cells.filter_map(|cells| self.clearest_cell(cells)));
                ratios
            }
            _ => Vec::new(),
        }
    }

    /// The ratio of a condition that must be above or below 1.
    fn winning_ratio(&self, condition: &Condition) -> Option<f64> {
        let is_one = |bound: Option<f64>| bound == Some(1.0);
        let test = self.condition(condition);
        let wins = test.holds == Some(true) && (is_one(condition.above) || is_one(condition.below));
        test.found.filter(|_| wins).map(|found| found.centre)
    }

    fn clearest_cell(&self, cells: &Cells) -> Option<f64> {
        let names = references::cells(&cells.of, &self.study.measures);
        let found = names.iter().filter_map(|name| self.measures.quantity(name));
        farthest(found.filter(|found| found.low > cells.above).map(|found| found.centre))
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

    fn order(&self, values: &[String], best: Best) -> Vec<Tested> {
        let pair = |pair: &[String]| {
            // The slower over the faster in time, the faster over the slower in rate: above 1.
            let (one, two) = match best {
                Best::Low => (&pair[1], &pair[0]),
                Best::High => (&pair[0], &pair[1]),
            };
            let found = self.quotient(one, two);
            Tested {
                what: format!("{one} / {two}"),
                wanted: "above 1".to_owned(),
                found,
                holds: found.map(|found| found.low > 1.0),
            }
        };
        values.windows(2).map(pair).collect()
    }

    fn ratio(&self, of: &str, over: &str, published: f64, within: f64) -> Tested {
        let found = self.quotient(of, over);
        let (low, high) = (published * (1.0 - within), published * (1.0 + within));
        Tested {
            what: format!("{of} / {over}"),
            wanted: format!("{published} ± {:.0} %", within * 100.0),
            found,
            holds: found.map(|found| found.high >= low && found.low <= high),
        }
    }

    fn equal(&self, values: &[String], within: f64) -> Vec<Tested> {
        let mut tests = Vec::new();
        for (index, one) in values.iter().enumerate() {
            for two in &values[index + 1..] {
                let found = self.quotient(one, two);
                let holds =
                    |found: Quantity| found.low >= 1.0 - within && found.high <= 1.0 + within;
                tests.push(Tested {
                    what: format!("{one} / {two}"),
                    wanted: format!("1 ± {:.0} %, the whole interval", within * 100.0),
                    found,
                    holds: found.map(holds),
                });
            }
        }
        tests
    }

    /// The leader at the smallest block is not the leader at the largest.
    fn cross(&self, curves: &[String; 2]) -> Vec<Tested> {
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
        let first = Tested {
            what: format!("{} / {}", one.0, two.0),
            wanted: "on one side of 1".to_owned(),
            found: small,
            holds: small.map(side),
        };
        let crossed = leads(small).zip(leads(large)).map(|(small, large)| small != large);
        let second = Tested {
            what: format!("{} / {}", one.1, two.1),
            wanted: "on the other side of 1".to_owned(),
            found: large,
            holds: large.zip(crossed).map(|(found, crossed)| side(found) && crossed),
        };
        vec![first, second]
    }

    /// Tests whether every quantity of the claim is in the range.
    fn range(&self, claim: &Judgeable, low: f64, high: f64) -> Vec<Tested> {
        let conditions = self.study.tests.get(&claim.id).map(|test| test.all.as_slice());
        let one = |condition: &Condition| {
            let found = quantity(&self.measures.formula(&condition.formula));
            Tested {
                what: words(&condition.formula),
                wanted: format!("{low} to {high}"),
                found,
                holds: found.map(|found| (low..=high).contains(&found.centre)),
            }
        };
        conditions.unwrap_or_default().iter().map(one).collect()
    }

    fn sign(&self, claim: &Judgeable) -> (ClaimVerdict, Vec<Tested>) {
        let Some(test) = self.study.tests.get(&claim.id) else {
            return (ClaimVerdict::NotMeasured, Vec::new());
        };
        let mut all: Vec<Tested> = test.all.iter().map(|one| self.condition(one)).collect();
        all.extend(test.cells.iter().map(|cells| self.cells(cells)));
        let any: Vec<Tested> = test.any.iter().map(|one| self.condition(one)).collect();
        let (verdict, mut tests) = whole(all);
        let alternatives = match any.iter().map(|test| test.holds).max() {
            None => None,
            Some(Some(true)) => Some(ClaimVerdict::Confirmed),
            // One that was not measured might have held.
            Some(_) if any.iter().any(|test| test.holds.is_none()) => {
                Some(ClaimVerdict::NotMeasured)
            }
            Some(_) => Some(ClaimVerdict::NotConfirmed),
        };
        tests.extend(any);
        let verdict = match (test.all.is_empty() && test.cells.is_empty(), alternatives) {
            (_, None) => verdict,
            (true, Some(alternatives)) => alternatives,
            (false, Some(alternatives)) => joined([verdict, alternatives]),
        };
        (verdict, tests)
    }

    /// Counts the cells whose whole interval is above the bound. The quantity found is their number, or for
    /// [`Count::MostIn`] the share of them in the part.
    fn cells(&self, cells: &Cells) -> Tested {
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
        }
    }

    fn condition(&self, condition: &Condition) -> Tested {
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
        Tested {
            what: words(&condition.formula),
            wanted: wanted.join(" and "),
            found,
            holds: found.map(holds),
        }
    }
}

fn is_about_one_winner(cells: &Cells) -> bool {
    cells.count == Count::One && (cells.above - 1.0).abs() < f64::EPSILON
}

/// The ratio that is farthest from 1.
fn farthest(ratios: impl Iterator<Item = f64>) -> Option<f64> {
    ratios.max_by(|one, two| one.ln().abs().total_cmp(&two.ln().abs()))
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

/// Combines all conditions: one that fails decides, one that is missing leaves the claim open.
fn whole(tests: Vec<Tested>) -> (ClaimVerdict, Vec<Tested>) {
    let verdict = joined(tests.iter().map(|test| match test.holds {
        Some(true) => ClaimVerdict::Confirmed,
        Some(false) => ClaimVerdict::NotConfirmed,
        None => ClaimVerdict::NotMeasured,
    }));
    (verdict, tests)
}

fn joined(verdicts: impl IntoIterator<Item = ClaimVerdict>) -> ClaimVerdict {
    let all: Vec<ClaimVerdict> = verdicts.into_iter().collect();
    let has = |verdict| all.contains(&verdict);
    if has(ClaimVerdict::NotConfirmed) {
        ClaimVerdict::NotConfirmed
    } else if has(ClaimVerdict::NotMeasured) || all.is_empty() {
        ClaimVerdict::NotMeasured
    } else {
        ClaimVerdict::Confirmed
    }
}
