//! Equal stacks, nearly equal stacks, and looking too often.

use super::matrix::Lab;
use super::row::{Raw, Row, Share};
use super::{Scale, each};
use seekwell_stats::design::Design;
use seekwell_stats::estimate::{mean, variance};
use seekwell_stats::race::{Race, RaceConfig, Step, Stop, looks_for};
use seekwell_stats::special::t_upper_tail;
use seekwell_stats::{Better, Finding, Question, Rng, compare, derive_seed, seeded};

fn question() -> Question {
    Question::new(Better::Higher, 0.02, 0.95)
}

fn kind(verdict: &Finding) -> &'static str {
    match verdict {
        Finding::Winner { .. } => "winner",
        Finding::Tie { .. } => "tie",
        Finding::Unresolved { .. } => "unresolved",
    }
}

/// Rows about errors of the first and second kind.
pub fn rows(scale: Scale, take: &mut impl FnMut(Row)) {
    real_difference(scale, take);
    for drift in [0.0, 0.03, 0.05, 0.10] {
        drifting(scale, drift, take);
    }
    peeking(scale, take);
    identical(scale, take);
}

/// Runs a race to its end or until so many rounds, and gives the kinds of verdict after each.
fn race(
    lab: &mut Lab,
    looks: Vec<usize>,
    seed: u64,
    stop_after: usize,
) -> (Vec<&'static str>, Finding) {
    let config = RaceConfig { looks, ..RaceConfig::new(question(), seed) };
    let mut race = Race::new(lab.design.clone(), config).expect("a sound configuration");
    let mut seen = Vec::new();
    while let Step::Run(plan) = race.next_round() {
        if seen.len() == stop_after {
            race.stop(Stop::Interrupted).expect("stopping is always possible");
            break;
        }
        let values = lab.round(&plan.order);
        race.record(&values).expect("the stacks asked for");
        seen.push(race.last_look().map_or("unresolved", |look| kind(&look.finding)));
    }
    (seen, race.outcome().finding)
}

fn real_difference(scale: Scale, take: &mut impl FnMut(Row)) {
    for (stacks, worst) in [(2, 0.05), (6, 0.05)] {
        let mut truth = vec![-worst; stacks];
        truth[0] = 0.0;
        let found: Vec<(&str, usize, bool)> = each(scale.cases, |case| {
            let seed = scale.seed(case);
            let mut lab = Lab::plain(&truth, 0.03, derive_seed(seed, "real difference"));
            let (seen, verdict) = race(&mut lab, looks_for(40), seed, usize::MAX);
            let right = match &verdict {
                Finding::Winner { stack } => *stack == 0,
                Finding::Tie { set, .. } => *set == [0],
                Finding::Unresolved { .. } => false,
            };
            (kind(&verdict), seen.len(), right)
        });
        let right = Share::count(&found, |(_, _, right)| *right);
        let rounds = mean(&found.iter().map(|(_, n, _)| *n as f64).collect::<Vec<_>>());
        let wrong = Share::count(&found, |(kind, _, right)| *kind == "winner" && !right);
        take(Row {
            what: "a true 5 % difference is found",
            case: format!("CoV 3 %, {stacks} stacks, at most 40 rounds"),
            figures: format!(
                "{right} after {:.1} rounds on average; wrong winner {:.1} %",
                rounds.unwrap_or(0.0),
                100.0 * wrong.value()
            ),
            share: right,
            target: "≥ 90 %".to_owned(),
            reached: Some(right.value() >= 0.9),
            unresolved: Some(Share::count(&found, |(kind, _, _)| *kind == "unresolved")),
            raw: Raw {
                name: "real-difference".to_owned(),
                header: "stacks,case,verdict,rounds,right".to_owned(),
                lines: found
                    .iter()
                    .enumerate()
                    .map(|(case, (kind, n, right))| format!("{stacks},{case},{kind},{n},{right}"))
                    .collect(),
            },
        });
    }
}

/// Welch's t test on grouped runs: what is usually done.
fn welch(a: &[f64], b: &[f64]) -> Option<f64> {
    let part = |x: &[f64]| Some((mean(x)?, variance(x)? / x.len() as f64, x.len() as f64 - 1.0));
    let ((ma, va, fa), (mb, vb, fb)) = (part(a)?, part(b)?);
    let freedom = (va + vb).powi(2) / (va * va / fa + vb * vb / fb);
    Some(2.0 * t_upper_tail((ma - mb).abs() / (va + vb).sqrt(), freedom))
}

/// A/A in the way the tool runs it, a race of 20 rounds, and in a single look after 10 rounds,
/// whose error is 5 % by construction; compared with runs grouped by stack and Welch's test.
fn drifting(scale: Scale, drift: f64, take: &mut impl FnMut(Row)) {
    let found: Vec<Drifted> = each(scale.cases, |case| drifted(scale.seed(case), drift));
    let race = Share::count(&found, |case| case.race == "winner");
    let single = Share::count(&found, |case| case.single == "winner");
    let grouped = Share::count(&found, |case| case.grouped);
    take(Row {
        what: "A/A under drift: false winner",
        case: format!("drift {:.0} % over the run, CoV 3 %, 20 rounds", 100.0 * drift),
        figures: format!(
            "{race}; a single look after 10 rounds {:.1} %; 10 runs of each in groups, Welch's t {:.0} %",
            100.0 * single.value(),
            100.0 * grouped.value()
        ),
        share: race,
        target: "≤ 5 %".to_owned(),
        reached: Some(race.value() <= 0.05),
        unresolved: Some(Share::count(&found, |case| case.race == "unresolved")),
        raw: Raw {
            name: "drift".to_owned(),
            header: "drift,case,race,single_look,grouped_differs".to_owned(),
            lines: found
                .iter()
                .enumerate()
                .map(|(n, case)| {
                    format!("{drift},{n},{},{},{}", case.race, case.single, case.grouped)
                })
                .collect(),
        },
    });
}

struct Drifted {
    race: &'static str,
    single: &'static str,
    grouped: bool,
}

fn drifted(seed: u64, drift: f64) -> Drifted {
    const ROUNDS: usize = 20;
    let mut rng = seeded(derive_seed(seed, &format!("drift {drift}")));
    let logs = drifting_logs(&mut rng, 2 * ROUNDS, drift);
    let looks = looks_for(ROUNDS);
    let config = RaceConfig { looks, ..RaceConfig::new(question(), seed) };
    let mut race = Race::new(Design::unstructured(2), config).expect("a sound configuration");
    while let Step::Run(plan) = race.next_round() {
        let now = &logs[2 * plan.round..];
        let values: Vec<(usize, Option<f64>)> =
            plan.order.iter().zip(now).map(|(stack, log)| (*stack, Some(log.exp()))).collect();
        race.record(&values).expect("the stacks asked for");
    }
    let logs = drifting_logs(&mut rng, ROUNDS, drift);
    let half = ROUNDS / 2;
    let mut rounds = [Vec::new(), Vec::new()];
    for pair in logs.chunks(2) {
        let first = rng.index(2);
        rounds[first].push(Some(pair[0].exp()));
        rounds[1 - first].push(Some(pair[1].exp()));
    }
    let single = compare(&rounds, &question()).expect("positive values").finding;
    Drifted {
        race: kind(&race.outcome().finding),
        single: kind(&single),
        grouped: welch(&logs[..half], &logs[half..]).is_some_and(|p| p < 0.05),
    }
}

/// Linear drift in a random direction and a random walk of 0.4 % per trial, CoV 3 %.
fn drifting_logs(rng: &mut Rng, trials: usize, drift: f64) -> Vec<f64> {
    let sign = if rng.uniform() < 0.5 { -1.0 } else { 1.0 };
    let mut walk = 0.0;
    (0..trials)
        .map(|trial| {
            walk += 0.004 * rng.normal();
            sign * drift * trial as f64 / (trials - 1) as f64 + walk + 0.03 * rng.normal()
        })
        .collect()
}

fn peeking(scale: Scale, take: &mut impl FnMut(Row)) {
    let found: Vec<(bool, &str, bool)> = each(scale.cases, |case| {
        let seed = scale.seed(case);
        let mut lab = Lab::plain(&[0.0, 0.0], 0.03, derive_seed(seed, "peeking"));
        let (seen, last) = race(&mut lab, looks_for(30), seed, 30);
        (seen.contains(&"winner"), kind(&last), naive_peeking(seed))
    });
    let ever = Share::count(&found, |(ever, _, _)| *ever);
    let naive = Share::count(&found, |(_, _, naive)| *naive);
    take(Row {
        what: "A/A stopped at any of 30 looks: false winner",
        case: "CoV 3 %, the worst moment to stop".to_owned(),
        figures: format!("{ever}; a paired t test after every pair {:.0} %", 100.0 * naive.value()),
        share: ever,
        target: "≤ 5 %".to_owned(),
        reached: Some(ever.value() <= 0.05),
        unresolved: Some(Share::count(&found, |(_, kind, _)| *kind == "unresolved")),
        raw: Raw {
            name: "peeking".to_owned(),
            header: "case,ever_winner,verdict,naive_ever".to_owned(),
            lines: found
                .iter()
                .enumerate()
                .map(|(case, (ever, kind, naive))| format!("{case},{ever},{kind},{naive}"))
                .collect(),
        },
    });
}

/// Returns true if a paired t test at 5 % after each of 3 to 30 pairs of equal stacks ever rejects.
fn naive_peeking(seed: u64) -> bool {
    let mut rng = seeded(derive_seed(seed, "naive peeking"));
    let differences: Vec<f64> = (0..30).map(|_| rng.normal()).collect();
    (3..=30).any(|n| {
        let seen = &differences[..n];
        let (centre, square) = (mean(seen).unwrap_or(0.0), variance(seen).unwrap_or(1.0));
        2.0 * t_upper_tail(centre.abs() / (square / n as f64).sqrt(), n as f64 - 1.0) < 0.05
    })
}

/// Labs of identical stacks, and how often a set of 40 of them has no winner at all.
fn identical(scale: Scale, take: &mut impl FnMut(Row)) {
    const SET: usize = 40;
    for spread in [0.01, 0.02, 0.05] {
        let found: Vec<(usize, &str)> = each(scale.cases, |case| {
            let seed = scale.seed(case);
            let stacks = 2 + case % 7;
            let lab_seed = derive_seed(seed, &format!("identical {spread}"));
            let mut lab = Lab::plain(&vec![0.0; stacks], spread, lab_seed);
            (stacks, kind(&race(&mut lab, looks_for(40), seed, usize::MAX).1))
        });
        let winner = Share::count(&found, |(_, kind)| *kind == "winner");
        let tie = Share::count(&found, |(_, kind)| *kind == "tie");
        let sets: Vec<usize> = found
            .chunks_exact(SET)
            .map(|set| set.iter().filter(|(_, kind)| *kind == "winner").count())
            .collect();
        let clean = Share::count(&sets, |winners| *winners == 0);
        let calm = spread <= 0.02;
        let target = if calm { "winner 0 of 40, tie ≥ 95 %" } else { "winner 0 of 40" };
        take(Row {
            what: "identical stacks",
            case: format!("2 to 8 stacks, CoV {:.0} %, 40 rounds", 100.0 * spread),
            figures: format!(
                "winner in {} of the first 40 labs, {} of all {}; {} of {} sets of 40 labs without any; tie {tie}",
                sets.first().copied().unwrap_or(0),
                winner.hits,
                winner.of,
                clean.hits,
                clean.of
            ),
            share: tie,
            target: format!("{target} (in 9 of 10 sets of 40)"),
            reached: Some(clean.value() >= 0.9 && (!calm || tie.value() >= 0.95)),
            unresolved: Some(Share::count(&found, |(_, kind)| *kind == "unresolved")),
            raw: Raw {
                name: "identical".to_owned(),
                header: "spread,case,stacks,verdict".to_owned(),
                lines: found
                    .iter()
                    .enumerate()
                    .map(|(case, (stacks, kind))| format!("{spread},{case},{stacks},{kind}"))
                    .collect(),
            },
        });
    }
}
