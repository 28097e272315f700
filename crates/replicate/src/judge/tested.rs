//! The conditions of a claim.

use super::bounds::{Bounds, differs_from};
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
            Form::Cross { curves } => whole(self.cross(curves)),
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

    /// Returns the ratios by which a claim agrees and that a tie would give as well: those with a bound at 1, or
    /// nearer to 1 than the labs' tie width. A claim of another form has none.
    pub(super) fn winning_ratios(&self, claim: &Judgeable) -> Vec<f64> {
        let centre = |found: Option<Quantity>| found.map(|found| found.centre);
        let tie = self.tie(claim);
        match &claim.form {
            Form::Order { values, best } => self
                .order(claim, values, *best)
                .iter()
                .filter_map(|test| centre(test.found))
                .collect(),
            Form::Cross { curves } => {
                self.cross(curves).iter().filter_map(|test| centre(test.found)).collect()
            }
            Form::Sign { .. } | Form::Ratio { .. } => {
                let Some(test) = self.study.tests.get(&claim.id) else { return Vec::new() };
                let ratio = |one: &Condition| self.winning_ratio(one, tie);
                let mut ratios: Vec<f64> = test.all.iter().filter_map(ratio).collect();
                // One alternative or cell is enough, so the clearest of them counts.
                ratios.extend(farthest(test.any.iter().filter_map(ratio)));
                let cells = test.cells.iter().filter(|cells| is_about_one_winner(cells));
                ratios.extend(cells.filter_map(|cells| self.clearest_cell(cells)));
                ratios
            }
            _ => Vec::new(),
        }
    }

    /// The ratio of a condition that is met and that a tie would meet as well.
    fn winning_ratio(&self, condition: &Condition, tie: f64) -> Option<f64> {
        let near_one = |bound: Option<f64>| bound.is_some_and(|bound| !differs_from(bound, tie));
        let test = self.condition(condition, tie);
        let wins =
            test.holds == Some(true) && (near_one(condition.above) || near_one(condition.below));
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

    fn order(&self, claim: &Judgeable, values: &[String], best: Best) -> Vec<Tested> {
        let bounds = Bounds { above: Some(1.0), tie: self.tie(claim), ..Bounds::default() };
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
                agrees: found.and_then(|found| bounds.agrees(found)),
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
            agrees: found.and_then(|found| Bounds::range(low, high).agrees(found)),
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
                    agrees: found
                        .and_then(|found| Bounds::range(1.0 - within, 1.0 + within).agrees(found)),
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
            agrees: small.filter(|found| side(*found)).map(|_| true),
        };
        let crossed = leads(small).zip(leads(large)).map(|(small, large)| small != large);
        let second = Tested {
            what: format!("{} / {}", one.1, two.1),
            wanted: "on the other side of 1".to_owned(),
            found: large,
            holds: large.zip(crossed).map(|(found, crossed)| side(found) && crossed),
            agrees: crossed.filter(|_| [small, large].into_iter().flatten().all(side)),
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
                agrees: found.and_then(|found| Bounds::range(low, high).agrees(found)),
            }
        };
        conditions.unwrap_or_default().iter().map(one).collect()
    }

    fn sign(&self, claim: &Judgeable) -> Judged {
        let Some(test) = self.study.tests.get(&claim.id) else { return whole(Vec::new()) };
        let tie = self.tie(claim);
        let mut all: Vec<Tested> = test.all.iter().map(|one| self.condition(one, tie)).collect();
        all.extend(test.cells.iter().map(|cells| self.cells(cells, tie)));
        let any: Vec<Tested> = test.any.iter().map(|one| self.condition(one, tie)).collect();
        if any.is_empty() {
            return whole(all);
        }
        let alternatives = one_of(any);
        if all.is_empty() {
            return alternatives;
        }
        let mut judged = whole(all);
        judged.verdict = joined([judged.verdict, alternatives.verdict]);
        judged.agreement = joined_agreements([judged.agreement, alternatives.agreement]);
        judged.tests.extend(alternatives.tests);
        judged
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
        // A cell that might be above the bound by more than a tie.
        let open = measured
            .iter()
            .filter_map(|(_, found)| *found)
            .any(|found| found.low <= cells.above && found.high > cells.above * (1.0 + tie));
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
        // Cells that count decide, however many others are open; no cell decides only when none is open.
        let agrees =
            holds.filter(|_| !open || (!counted.is_empty() && cells.count != Count::MostIn));
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
        Tested {
            what: words(&condition.formula),
            wanted: wanted.join(" and "),
            found,
            holds: found.map(holds),
            agrees: found.and_then(|found| Bounds::of(condition, tie).agrees(found)),
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
fn whole(tests: Vec<Tested>) -> Judged {
    let verdict = joined(tests.iter().map(|test| match test.holds {
        Some(true) => ClaimVerdict::Confirmed,
        Some(false) => ClaimVerdict::NotConfirmed,
        None => ClaimVerdict::NotMeasured,
    }));
    let agreement = joined_agreements(tests.iter().map(agreement));
    Judged { verdict, agreement, tests }
}

/// Combines alternatives: one that is met decides, one that is missing might have been met.
fn one_of(tests: Vec<Tested>) -> Judged {
    let has = |holds| tests.iter().any(|test| test.holds == holds);
    let verdict = match (has(Some(true)), has(None)) {
        (true, _) => ClaimVerdict::Confirmed,
        (false, true) => ClaimVerdict::NotMeasured,
        (false, false) => ClaimVerdict::NotConfirmed,
    };
    let found: Vec<Option<Agreement>> = tests.iter().map(agreement).collect();
    let agreement = if found.contains(&Some(Agreement::Agrees)) {
        Some(Agreement::Agrees)
    } else if found.contains(&None) {
        None
    } else if found.contains(&Some(Agreement::CannotTell)) {
        Some(Agreement::CannotTell)
    } else {
        Some(Agreement::OurError)
    };
    Judged { verdict, agreement, tests }
}

/// One condition; `None` when it was not measured.
fn agreement(test: &Tested) -> Option<Agreement> {
    test.found.map(|_| match test.agrees {
        Some(true) => Agreement::Agrees,
        Some(false) => Agreement::OurError,
        None => Agreement::CannotTell,
    })
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

/// Combines agreements: a difference decides, then a missing one, then one that cannot tell.
fn joined_agreements(agreements: impl IntoIterator<Item = Option<Agreement>>) -> Option<Agreement> {
    let all: Vec<Option<Agreement>> = agreements.into_iter().collect();
    let has = |agreement| all.contains(&agreement);
    if has(Some(Agreement::OurError)) {
        Some(Agreement::OurError)
    } else if has(None) || all.is_empty() {
        None
    } else if has(Some(Agreement::CannotTell)) {
        Some(Agreement::CannotTell)
    } else {
        Some(Agreement::Agrees)
    }
}
