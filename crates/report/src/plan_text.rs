//! A plan before anything is touched.

use crate::factor::list;
use crate::terminal::warnings;
use crate::text::{self, Ink, Palette, Table, bullets, harmless, paragraph};
use crate::view::count;
use seekwell_model::lab::Effort;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::stack::{Backing, Stack};
use seekwell_model::units::{Bytes, Nanos};

/// Trials of the first round that are listed; a longer round says how many more it has.
const LISTED: usize = 40;
/// A longer list gets two columns where they fit.
const LONG: usize = 6;
/// Blanks between these columns.
const BETWEEN: usize = 4;
/// Looks of a race that are listed one by one.
const MOST_LOOKS: usize = 6;
/// Kinds of combinations left out that are listed.
const LEFT_OUT: usize = 30;

/// The plan of a lab, in `width` columns (at least 60 are used): what it costs, the order of
/// its first round, what is left out and why, and doubts.
/// `effects` are the lines on what it writes whole and runs as root.
#[must_use]
pub fn plan_text(plan: &Plan, effects: &[String], width: usize) -> String {
    let width = width.max(60);
    let mut out = paragraph("", &format!("{}: {}", plan.lab.name, plan.lab.question), width);
    out.push_str(&paragraph("", &size(plan), width));
    out.push_str(&paragraph("", &cost(plan), width));
    out.push('\n');
    out.push_str(&order(plan, width));
    out.push_str(&left_out(plan, width));
    out.push_str(&warnings(&plan.warnings, width, Palette { colour: false }));
    let is_model = |stack: &Stack| matches!(stack.device.backing, Backing::Model { .. });
    // Guests need no rights.
    let rights = match plan.stacks.iter().all(is_model) {
        true => "A run of this lab:",
        false => "A run of this lab, as root:",
    };
    let palette = Palette { colour: false };
    out.push_str(&bullets((Ink::Heading, rights), "  - ", effects, width, palette));
    out.push_str("Nothing was touched.\n");
    out
}

fn size(plan: &Plan) -> String {
    let workloads = count(plan.workloads.len(), "workload");
    let pairs = plan.candidates.len();
    let full = plan.stacks.len() * plan.workloads.len();
    let shape = if pairs == full {
        format!("{} × {workloads}", count(plan.ranked(), "stack"))
    } else {
        format!(
            "{} and {workloads} in {}",
            count(plan.ranked(), "stack"),
            count(pairs, "possible pair")
        )
    };
    if let Some(race) = &plan.race {
        let (least, most) = plan.stack_trials(race);
        let trials = |of_stacks: u64| of_stacks * pairs as u64 / (plan.stacks.len() as u64).max(1);
        let (least, most) = (trials(least), trials(most));
        let trials = if least == most {
            count(usize::try_from(least).unwrap_or(usize::MAX), "trial")
        } else {
            format!("{least} to {most} trials")
        };
        let finalists = race.finalists;
        let stages = match race.pilot.len() {
            // Few stacks: all of them start in the final.
            0 => "Each round runs the stacks that are not out yet; it".to_owned(),
            pilot => format!(
                "A pilot of {} in {}; a screen that keeps the better half until {finalists} remain; \
                 a final of fresh rounds among them, which",
                count(pilot, "stack"),
                count(race.pilot_rounds as usize, "round"),
            ),
        };
        let ends = match plan.lab.judge.effort {
            Effort::Rounds(_) => looks(&race.looks),
            Effort::Budget(budget) => {
                // No more rounds fit than trials for the finalists, and the first look is always held.
                let rounds = most / u64::from(race.finalists.max(1));
                let first = race.looks.first().copied().unwrap_or_default();
                let fits = |look: &&u32| **look == first || u64::from(**look) <= rounds;
                let within: Vec<u32> = race.looks.iter().filter(fits).copied().collect();
                format!("{}, or when the budget of {budget} is used", looks(&within))
            }
        };
        return format!("{shape} in a race: {trials}. {stages} can end after {ends}.");
    }
    let rounds = count(plan.rounds() as usize, "round");
    let effort = match plan.lab.judge.effort {
        Effort::Rounds(_) => rounds,
        Effort::Budget(budget) => format!("about {rounds} in the budget of {budget}"),
    };
    format!("{shape}, {effort}: {}.", count(plan.trials.len(), "trial"))
}

/// The rounds after which a race looks, many of them in short.
fn looks(all: &[u32]) -> String {
    match all {
        [first, second, third, .., last] if all.len() > MOST_LOOKS => {
            format!("{first}, {second}, {third} … {last} rounds ({} looks)", all.len())
        }
        _ => format!("{} rounds", list(&all.iter().map(u32::to_string).collect::<Vec<_>>())),
    }
}

fn cost(plan: &Plan) -> String {
    let (least, most) = plan.predicted_range_ns();
    let time = if least == most {
        Nanos(most).to_string()
    } else {
        format!("{} to {}", Nanos(least), Nanos(most))
    };
    let written = plan.predicted_written().map_or("an unknown amount".to_owned(), about);
    let over = plan.exceeded_budget().map_or_else(String::new, |budget| {
        format!(
            " That is more than the budget of {budget}: fewer stacks, shorter steps or a larger \
             budget fit."
        )
    });
    format!(
        "Predicted, before anything was measured: {time}, {}{written} written to the devices; judged \
         on {}.{over}",
        if plan.race.is_some() { "at most " } else { "" },
        harmless(&plan.lab.judge.metric)
    )
}

/// A size with three digits.
fn about(bytes: Bytes) -> String {
    let value = bytes.0 as f64;
    for (unit, size) in [("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)] {
        if value >= size {
            let decimals = if value >= 100.0 * size { 0 } else { 1 };
            return format!("{:.decimals$} {unit}", value / size);
        }
    }
    format!("{} B", bytes.0)
}

fn order(plan: &Plan, width: usize) -> String {
    let first: Vec<&PlannedTrial> = plan.trials.iter().filter(|trial| trial.round == 0).collect();
    if first.is_empty() {
        return "No trials to run.\n".to_owned();
    }
    // The only workload needs no column.
    let only = if plan.workloads.len() == 1 { plan.workloads.first() } else { None };
    let of = only.map_or_else(String::new, |only| format!(" of {}", harmless(&only.name)));
    let mut out = paragraph(
        "",
        &format!(
            "Round 1 of {}{of}, in an order drawn from seed {}; each round has its own:",
            plan.rounds(),
            plan.lab.seed
        ),
        width,
    );
    let mut table = Table::default();
    table.column("stack", "", false);
    if only.is_none() {
        table.column("workload", "", false);
    }
    table.column("time", "", true);
    table.column("written", "", true);
    for trial in first.iter().take(LISTED) {
        let (stack, workload) = plan.pair(trial);
        let cost = plan.costs.get(trial.candidate as usize);
        let workload = only.is_none().then(|| workload.name.clone());
        let cells = [Some(stack.label.clone()), workload].into_iter().flatten().chain([
            cost.map_or("-".to_owned(), |cost| Nanos(cost.time_ns).to_string()),
            cost.and_then(|cost| cost.written).map_or("-".to_owned(), about),
        ]);
        table.row(None, cells.collect());
    }
    let columns = if only.is_some() { 3 } else { 4 };
    let room = width.saturating_sub(2);
    let (text, _) = table.render(room, columns, Palette { colour: false });
    out.extend(in_columns(&text, room).iter().map(|line| format!("  {line}\n")));
    if first.len() > LISTED {
        out.push_str(&format!("  and {} more\n", first.len() - LISTED));
    }
    out
}

/// The lines of a table, in two columns if it is long and they fit: the second half to the right of the
/// first, below the same head.
fn in_columns(table: &str, room: usize) -> Vec<String> {
    let lines: Vec<&str> = table.lines().collect();
    let Some((head, rows)) = lines.split_first() else { return Vec::new() };
    let widest = lines.iter().map(|line| text::width(line)).max().unwrap_or(0);
    let column = widest + BETWEEN;
    if rows.len() <= LONG || column + widest > room {
        return lines.iter().map(|line| (*line).to_owned()).collect();
    }
    let pair = |left: &str, right: &str| text::pad(left, column, false) + right;
    let half = rows.len().div_ceil(2);
    let rest = rows[half..].iter().copied().chain(std::iter::repeat(""));
    let rows = rows[..half].iter().zip(rest).map(|(left, right)| pair(left, right));
    let all = std::iter::once(pair(head, head)).chain(rows);
    all.map(|line| line.trim_end().to_owned()).collect()
}

fn left_out(plan: &Plan, width: usize) -> String {
    if plan.left_out.is_empty() {
        return String::new();
    }
    let total: u64 = plan.left_out.iter().map(|one| one.count).sum();
    let mut out =
        format!("\nLeft out ({}):\n", count(usize::try_from(total).unwrap_or(usize::MAX), "pair"));
    for one in plan.left_out.iter().take(LEFT_OUT) {
        let times = if one.count == 1 { String::new() } else { format!(" ({} pairs)", one.count) };
        let text = format!("{}{times}: {}", one.what, one.reason);
        out.push_str(&paragraph("  - ", &text, width));
    }
    if plan.left_out.len() > LEFT_OUT {
        out.push_str(&format!("  and {} more reasons\n", plan.left_out.len() - LEFT_OUT));
    }
    out
}

#[cfg(test)]
mod tests;
