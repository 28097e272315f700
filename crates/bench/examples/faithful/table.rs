//! The tables: errors as absolute log ratios of medians.

use crate::raw::Sample;

/// All runs of a program that was recorded on one filesystem, on one filesystem.
pub struct Cell {
    program: String,
    from: String,
    on: String,
    cache: String,
    pairs: usize,
    program_s: f64,
    again_s: f64,
    replay_s: f64,
    recorded_inside_s: f64,
    inside_s: f64,
    fidelity: f64,
}

impl Cell {
    fn of(runs: &[&Sample]) -> Self {
        let side = |side: &str, value: fn(&Sample) -> Option<f64>| {
            let own = runs.iter().filter(|one| one.side == side);
            middle(own.filter_map(|one| value(one)).collect())
        };
        let elapsed = |one: &Sample| Some(one.elapsed_s);
        let shares = runs.iter().filter_map(|one| one.fidelity);
        Self {
            program: runs[0].program.clone(),
            from: runs[0].from.clone(),
            on: runs[0].on.clone(),
            cache: runs[0].cache.clone(),
            pairs: runs.iter().filter(|one| one.side == "replay").count(),
            program_s: side("program", elapsed),
            again_s: side("again", elapsed),
            replay_s: side("replay", elapsed),
            recorded_inside_s: side("recorded", |one| one.inside_s),
            inside_s: side("replay", |one| one.inside_s),
            fidelity: shares.fold(f64::NAN, f64::min),
        }
    }

    fn error(&self) -> f64 {
        log_ratio(self.replay_s, self.program_s)
    }

    fn itself(&self) -> f64 {
        log_ratio(self.again_s, self.program_s)
    }

    fn inside_error(&self) -> f64 {
        log_ratio(self.inside_s, self.recorded_inside_s)
    }

    fn is_same(&self) -> bool {
        self.from == self.on
    }

    /// One line about the cell.
    pub fn line(&self) -> String {
        let Self { program, from, on, cache, pairs, program_s, again_s, replay_s, .. } = self;
        format!(
            "{program} {from}→{on} {cache}, {pairs} pairs: program {program_s:.4} s, again {again_s:.4}, replay {replay_s:.4}, error {:.3}, itself {:.3}; inside {:.4} s of {:.4}, error {:.3}; fidelity {:.4}",
            self.error(),
            self.itself(),
            self.inside_s,
            self.recorded_inside_s,
            self.inside_error(),
            self.fidelity,
        )
    }
}

fn log_ratio(of: f64, to: f64) -> f64 {
    (of / to).ln().abs()
}

fn middle(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    match all.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => all[count / 2],
        count => f64::midpoint(all[count / 2 - 1], all[count / 2]),
    }
}

/// The cells in the order of their first runs.
pub fn cells(samples: &[Sample]) -> Vec<Cell> {
    let key =
        |one: &Sample| (one.program.clone(), one.from.clone(), one.on.clone(), one.cache.clone());
    let mut groups: Vec<Vec<&Sample>> = Vec::new();
    for one in samples {
        match groups.iter_mut().find(|group| key(group[0]) == key(one)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups.iter().map(|group| Cell::of(group)).collect()
}

/// Three significant digits.
fn seconds(value: f64) -> String {
    let digits = 2 - value.log10().floor().clamp(-9.0, 2.0) as i32;
    format!("{value:.*}", usize::try_from(digits).unwrap_or(0))
}

fn per_cent(error: f64) -> String {
    if error.is_nan() { "–".to_owned() } else { format!("{:.1} %", error * 100.0) }
}

/// Prints both tables in Markdown with a sentence about each.
pub fn markdown(cells: &[Cell]) {
    let (same, other): (Vec<&Cell>, Vec<&Cell>) = cells.iter().partition(|cell| cell.is_same());
    if !same.is_empty() {
        println!("{}\n", spread("Elapsed time", &same, Cell::error));
        println!("{}\n", spread("Time inside of calls", &same, Cell::inside_error));
        table(
            "| program | filesystem, cache | pairs | program, s | replay, s | error | program against itself | in calls recorded, s | replayed, s | error | fidelity |",
            &same,
            same_row,
        );
    }
    if !other.is_empty() {
        println!("{}\n", spread("Predicted elapsed time", &other, Cell::error));
        table(
            "| program | recorded on | replayed on | pairs | program there, s | replay there, s | error | program against itself |",
            &other,
            other_row,
        );
        orders(cells);
    }
}

fn table(head: &str, cells: &[&Cell], row: fn(&Cell)) {
    println!("{head}\n{}", rule(head));
    cells.iter().for_each(|cell| row(cell));
    println!();
}

/// The line below the head of a table.
fn rule(head: &str) -> String {
    format!("|{}", " --- |".repeat(head.matches('|').count() - 1))
}

fn spread(name: &str, cells: &[&Cell], error: fn(&Cell) -> f64) -> String {
    let errors: Vec<f64> = cells.iter().map(|cell| error(cell)).collect();
    let worst = errors.iter().copied().fold(0.0, f64::max);
    let itself = middle(cells.iter().map(|cell| cell.itself()).collect());
    format!(
        "{name}: {} rows, median error {}, worst {} (elapsed time of the program against itself: median {}).",
        cells.len(),
        per_cent(middle(errors)),
        per_cent(worst),
        per_cent(itself)
    )
}

fn same_row(cell: &Cell) {
    println!(
        "| {} | {}, {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.4} |",
        cell.program,
        cell.on,
        cell.cache,
        cell.pairs,
        seconds(cell.program_s),
        seconds(cell.replay_s),
        per_cent(cell.error()),
        per_cent(cell.itself()),
        seconds(cell.recorded_inside_s),
        seconds(cell.inside_s),
        per_cent(cell.inside_error()),
        cell.fidelity
    );
}

fn other_row(cell: &Cell) {
    println!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |",
        cell.program,
        cell.from,
        cell.on,
        cell.pairs,
        seconds(cell.program_s),
        seconds(cell.replay_s),
        per_cent(cell.error()),
        per_cent(cell.itself())
    );
}

/// Prints for each recording the filesystems by the program's time and by that of the replay.
fn orders(cells: &[Cell]) {
    let head = "| program | recorded on | fastest first | predicted | Kendall's τ |";
    println!("{head}\n{}", rule(head));
    for (at, cell) in cells.iter().enumerate() {
        let is_same = |one: &&Cell| {
            (&one.program, &one.from, &one.cache) == (&cell.program, &cell.from, &cell.cache)
        };
        let is_first = cells.iter().position(|one| is_same(&one)) == Some(at);
        let own: Vec<&Cell> = cells.iter().filter(is_same).collect();
        if !is_first || own.len() < 2 {
            continue;
        }
        let by = |time: fn(&Cell) -> f64| {
            let mut sorted = own.clone();
            sorted.sort_by(|a, b| time(a).total_cmp(&time(b)));
            sorted.iter().map(|one| one.on.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (live, replayed) = (by(|one| one.program_s), by(|one| one.replay_s));
        let tau = kendall(&own);
        println!("| {} | {} | {live} | {replayed} | {tau:.2} |", cell.program, cell.from);
    }
}

/// Kendall's τ between the order of the program and that of its replay.
fn kendall(cells: &[&Cell]) -> f64 {
    let (mut agree, mut pairs) = (0.0, 0.0);
    for (at, one) in cells.iter().enumerate() {
        for other in &cells[at + 1..] {
            let live = (one.program_s - other.program_s).signum();
            agree += live * (one.replay_s - other.replay_s).signum();
            pairs += 1.0;
        }
    }
    agree / pairs
}
