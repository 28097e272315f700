//! Questions that people ask, answered by the cost of each choice over the entries of the atlas.

use super::{Cell, Entry};
use crate::factor::{factor, list};
use crate::markdown::escape;
use crate::number::percent;
use crate::safety::class_words;

/// A question about the values of one axis.
pub(super) struct Question {
    /// Name of its page.
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    /// Axis of the choices.
    axis: fn(&Cell) -> &str,
    choices: &'static [&'static str],
    /// Loads that it is about; empty for all.
    loads: &'static [&'static str],
    /// Device that it is about; empty for all.
    device: &'static str,
    /// Conditions that would change the answer.
    pub(super) caveat: &'static str,
}

const MODEL: &str = "An old or full filesystem; CPU time, which is not counted.";

/// A question about filesystems, on all devices.
const fn filesystems(
    name: &'static str,
    text: &'static str,
    choices: &'static [&'static str],
    loads: &'static [&'static str],
    caveat: &'static str,
) -> Question {
    Question { name, text, axis: |cell| &cell.filesystem, choices, loads, device: "", caveat }
}

/// A question about the filesystem for a load.
const fn load(name: &'static str, text: &'static str, loads: &'static [&'static str]) -> Question {
    filesystems(name, text, &["ext4", "xfs", "btrfs"], loads, MODEL)
}

/// A question about the filesystem for a device.
const fn device(
    name: &'static str,
    text: &'static str,
    device: &'static str,
    caveat: &'static str,
) -> Question {
    Question { device, caveat, ..load(name, text, &[]) }
}

/// A question about schedulers.
const fn schedulers(
    name: &'static str,
    text: &'static str,
    choices: &'static [&'static str],
    loads: &'static [&'static str],
    caveat: &'static str,
) -> Question {
    Question { axis: |cell| &cell.scheduler, ..filesystems(name, text, choices, loads, caveat) }
}

pub(super) const QUESTIONS: &[Question] = &[
    filesystems("ext4-or-xfs", "ext4 or xfs?", &["ext4", "xfs"], &[], MODEL),
    filesystems(
        "postgresql",
        "ext4, xfs or btrfs for PostgreSQL and other databases?",
        &["ext4", "xfs", "btrfs", "btrfs-nodatacow"],
        &["database"],
        "The load has a database's I/O, not its CPU time: labs/postgresql.toml runs the real one.",
    ),
    load("sqlite", "Which filesystem for SQLite?", &["sqlite", "sqlite-wal"]),
    load("mail", "Which filesystem for a mail server?", &["mail"]),
    load("log", "Which filesystem for a log that is synced?", &["log"]),
    load("build", "Which filesystem for a build server?", &["build"]),
    load("vm", "Which filesystem for images of virtual machines?", &["vm"]),
    load("monitoring", "Which filesystem for monitoring with RRD files?", &["monitoring"]),
    device("hdd", "Which filesystem for a hard disk?", "sata-2tb-7200", MODEL),
    device("sata-ssd", "Which filesystem for a SATA SSD?", "ssd-sata-250gb", MODEL),
    device("nvme", "Which filesystem for an NVMe drive?", "ssd-nvme-512gb", MODEL),
    device(
        "cloud",
        "Which filesystem for a cloud volume (gp3)?",
        "cloud-gp3-100gb",
        "The volume's limits of requests and bytes hide most of what a filesystem does.",
    ),
    device(
        "compact-flash",
        "Which filesystem for a CompactFlash card?",
        "cf-transcend-133x",
        MODEL,
    ),
    filesystems(
        "data-journal",
        "Does data=journal help ext4?",
        &["ext4", "ext4-data-journal"],
        &[],
        "Everything is written twice; small synced writes need one place instead of two.",
    ),
    filesystems(
        "fast-commit",
        "Does fast_commit help ext4?",
        &["ext4", "ext4-fast-commit"],
        &[],
        "It is young code, and some operations need a whole commit.",
    ),
    filesystems(
        "nodatacow",
        "btrfs with or without copy on write for a database?",
        &["btrfs", "btrfs-nodatacow"],
        &["database", "sqlite", "sqlite-wal"],
        "Without copy on write there are no checksums. An old filesystem full of snapshots fragments; these are new.",
    ),
    filesystems(
        "noatime",
        "Do noatime and lazytime still matter?",
        &["ext4", "ext4-noatime", "ext4-lazytime"],
        &[],
        "relatime, the default, writes an access time once a day.",
    ),
    schedulers(
        "scheduler",
        "Which I/O scheduler?",
        &["none", "mq-deadline", "bfq"],
        &["database"],
        "CPU time, which limits the fastest devices, is not counted.",
    ),
    schedulers(
        "scheduler-copy",
        "Which I/O scheduler keeps a desktop responsive during a copy?",
        &["none", "mq-deadline", "kyber", "bfq"],
        &["desktop"],
        "The copy pays for it; the cells have its rate too.",
    ),
    device(
        "sd-card",
        "Which filesystem for an SD card?",
        "sd-card-4mib",
        "f2fs is not among the cells yet; labs/raspberry-sd.toml has it.",
    ),
    device(
        "smr",
        "Which filesystem for a shingled disk (SMR)?",
        "hdd-8tb-5900-smr",
        "These loads fit into the disk's unshingled cache; hours of writing do not.",
    ),
    filesystems(
        "no-journal",
        "What does ext4's journal cost?",
        &["ext4", "ext4-nojournal"],
        &["build"],
        "Without it a crash needs a whole check, and may leave half a file.",
    ),
];

/// A question with the costs of its choices.
pub(super) struct Answered<'a> {
    pub(super) question: &'static Question,
    /// Entries with every choice, each with the factor by which each choice is worse than the best of them.
    pub(super) rows: Vec<(&'a Entry, Vec<f64>)>,
}

/// Largest difference that does not matter.
const EQUAL: f64 = 1.04;
/// Largest difference that is none.
const BEST: f64 = 1.005;

impl<'a> Answered<'a> {
    /// `None` where no entry has every choice.
    pub(super) fn of(question: &'static Question, entries: &'a [Entry]) -> Option<Self> {
        let row = |entry: &'a Entry| {
            let Question { loads, device, choices, axis, .. } = *question;
            let is_asked = (loads.is_empty() || loads.contains(&entry.load.as_str()))
                && (device.is_empty() || device == entry.device);
            // With its best value on the other axis.
            let best = |choice: &&str| {
                let of_choice = entry.cells.iter().filter(|cell| axis(cell) == *choice);
                let values = of_choice.filter_map(|cell| cell.median);
                values.reduce(|a, b| if entry.worse(a, b) < 1.0 { a } else { b })
            };
            let values: Option<Vec<f64>> = choices.iter().filter(|_| is_asked).map(best).collect();
            let values = values.filter(|values| !values.is_empty())?;
            let first = *values.first()?;
            let best = values
                .iter()
                .copied()
                .fold(first, |a, b| if entry.worse(b, a) < 1.0 { b } else { a });
            Some((entry, values.iter().map(|value| entry.worse(*value, best)).collect()))
        };
        let rows: Vec<_> = entries.iter().filter_map(row).collect();
        (!rows.is_empty()).then_some(Self { question, rows })
    }

    /// The largest cost of a choice, with its entry.
    fn most(&self, choice: usize) -> Option<(&'a Entry, f64)> {
        let costs = self.rows.iter().map(|(entry, costs)| (*entry, costs[choice]));
        costs.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    pub(super) fn choices(&self) -> &'static [&'static str] {
        self.question.choices
    }

    /// The answer in one sentence.
    pub(super) fn sentence(&self) -> String {
        let most: Vec<(&str, &Entry, f64)> = (0..self.choices().len())
            .filter_map(|at| self.most(at).map(|(entry, cost)| (self.choices()[at], entry, cost)))
            .collect();
        let cases = match self.rows.len() {
            1 => "the one case".to_owned(),
            number => format!("all {number} cases"),
        };
        let largest = most.iter().map(|(.., cost)| *cost).fold(1.0, f64::max);
        if largest < EQUAL {
            return format!(
                "It does not matter: the worst choice {} in {cases}.",
                most_cost(largest)
            );
        }
        let Some(safest) = most.iter().min_by(|a, b| a.2.total_cmp(&b.2)) else {
            return String::new();
        };
        if safest.2 >= EQUAL {
            return self.depends(&most);
        }
        let clause = |(choice, entry, worst): &(&str, &Entry, f64)| match *worst {
            worst if worst < BEST => format!("{choice} equal"),
            worst if worst < EQUAL => format!("{choice} at most {} worse", extent(worst)),
            worst => {
                let (load, device) = (&entry.load, &entry.device);
                format!("{choice} at most {} worse ({load} on {device})", extent(worst))
            }
        };
        let others = most.iter().filter(|one| one.0 != safest.0);
        let others: Vec<String> = others.map(clause).collect();
        format!("{} {} in {cases}, {}.", safest.0, most_cost(safest.2), list(&others))
    }

    /// Returns in how many cases each choice is good, and its worst case, for choices of which none is good everywhere.
    fn depends(&self, most: &[(&str, &Entry, f64)]) -> String {
        let good = |at: usize| self.rows.iter().filter(|(_, costs)| costs[at] < EQUAL).count();
        let mut all: Vec<_> = most.iter().enumerate().map(|(at, one)| (good(at), one)).collect();
        all.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        let clause = |(count, (choice, entry, worst)): &(usize, &(&str, &Entry, f64))| {
            let cost = match *worst {
                worst if worst >= 2.0 => format!("a factor of {}", factor(worst)),
                worst => percent(worst - 1.0),
            };
            format!(
                "{choice} in {count}, at worst {cost} behind ({} on {})",
                entry.load, entry.device
            )
        };
        let all: Vec<String> = all.iter().map(clause).collect();
        let within = percent(EQUAL - 1.0);
        format!(
            "It depends. Within {within} of the best in {} cases: {}.",
            self.rows.len(),
            all.join("; ")
        )
    }

    /// Choices that keep less than another after a power cut, in words.
    pub(super) fn survival(&self) -> Option<String> {
        let class = |choice: &&&str| {
            let cells = self.rows.iter().flat_map(|(entry, _)| &entry.cells);
            let cells = cells.filter(|cell| (self.question.axis)(cell) == **choice);
            cells.filter_map(|cell| cell.survives).max()
        };
        let all: Vec<_> =
            self.choices().iter().filter_map(|choice| Some((*choice, class(&choice)?))).collect();
        let best = all.iter().map(|(_, class)| *class).min()?;
        let said = all.iter().filter(|(_, class)| *class > best);
        let said: Vec<String> =
            said.map(|(choice, class)| format!("{choice}: {}", class_words(*class))).collect();
        (!said.is_empty()).then(|| format!("After a power cut, {}.", said.join("; ")))
    }
}

/// The most that a choice costs.
fn most_cost(worst: f64) -> String {
    match worst {
        worst if worst < BEST => "is the best or equal".to_owned(),
        worst => format!("is at most {} worse than the best", extent(worst)),
    }
}

fn extent(worst: f64) -> String {
    if worst >= 2.0 { format!("{} times", factor(worst)) } else { percent(worst - 1.0) }
}

/// Every question that the entries answer, as a table in Markdown.
#[must_use]
pub fn questions_markdown(entries: &[Entry]) -> String {
    let mut out = "| question | answer (models) |\n| --- | --- |\n".to_owned();
    for answered in QUESTIONS.iter().filter_map(|one| Answered::of(one, entries)) {
        let said = [Some(answered.sentence()), answered.survival()];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(" ");
        out.push_str(&format!("| {} | {} |\n", answered.question.text, escape(&said)));
    }
    out
}
