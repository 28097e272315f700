//! Questions that people ask, answered by the cost of each choice over the entries of the atlas.

use super::{Cell, Entry};
use crate::factor::factor;
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

pub(super) const QUESTIONS: &[Question] = &[
    filesystems("ext4-or-xfs", "ext4 or xfs?", &["ext4", "xfs"], &[], MODEL),
    filesystems(
        "postgresql",
        "ext4, xfs or btrfs for PostgreSQL?",
        &["ext4", "xfs", "btrfs", "btrfs-nodatacow"],
        &["database"],
        "The load has a database's I/O, not its CPU time: labs/postgresql.toml runs the real one.",
    ),
    load("sqlite", "Which filesystem for SQLite?", &["sqlite", "sqlite-wal"]),
    load("mail", "Which filesystem for a mail server?", &["mail"]),
    load("log", "Which filesystem for a synced log?", &["log"]),
    load("build", "Which filesystem for a build server?", &["build"]),
    load("vm", "Which filesystem for virtual machines?", &["vm"]),
    load("monitoring", "Which filesystem for RRD files?", &["monitoring"]),
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
    Question {
        axis: |cell| &cell.scheduler,
        ..filesystems(
            "scheduler",
            "Which I/O scheduler for a database?",
            &["none", "mq-deadline", "bfq"],
            &["database"],
            "CPU time, which limits the fastest devices, is not counted.",
        )
    },
    Question {
        axis: |cell| &cell.scheduler,
        ..filesystems(
            "scheduler-copy",
            "Which I/O scheduler for a desktop during a copy?",
            &["none", "mq-deadline", "kyber", "bfq"],
            &["desktop"],
            "The copy pays for it; the cells have its rate too.",
        )
    },
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
        "What does ext4's journal cost a build server?",
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

/// The case in which a choice costs most.
struct Worst<'a> {
    choice: &'static str,
    entry: &'a Entry,
    /// Factor by which it is worse than the best there.
    cost: f64,
    /// Number of cases in which it is as good as the best.
    close: usize,
}

/// Largest difference that does not matter.
const EQUAL: f64 = 1.04;
/// Unit of a factor.
const AS_SLOW: &str = " as slow";
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

    pub(super) fn choices(&self) -> &'static [&'static str] {
        self.question.choices
    }

    /// Each choice with its worst case.
    fn worst(&self) -> Vec<Worst<'a>> {
        let of = |(at, &choice): (usize, &&'static str)| {
            let costs = self.rows.iter().map(|(entry, costs)| (*entry, costs[at]));
            let (entry, cost) = costs.max_by(|a, b| a.1.total_cmp(&b.1))?;
            let close = self.rows.iter().filter(|(_, costs)| costs[at] < EQUAL).count();
            Some(Worst { choice, entry, cost, close })
        };
        self.choices().iter().enumerate().filter_map(of).collect()
    }

    /// The answer, which begins with the choice to take. `kind` gives the kind of a model.
    pub(super) fn sentence(&self, kind: &dyn Fn(&str) -> String) -> String {
        let mut all = self.worst();
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        match (all.first(), all.last()) {
            (Some(_), Some(last)) if last.cost < EQUAL => self.alike(&all, last.cost),
            (Some(safest), _) if safest.cost < EQUAL => self.everywhere(&all, kind),
            _ => self.depends(all, kind),
        }
    }

    /// The answer where each choice will do.
    fn alike(&self, all: &[Worst<'_>], largest: f64) -> String {
        let cost = match largest {
            cost if cost < BEST => "no difference".to_owned(),
            cost => format!("at most {}", extent(cost)),
        };
        format!("{}: {cost} ({}).", any_of(&self.listed(all)), self.cases())
    }

    /// The answer where the first of the choices is as good as the best in every case.
    fn everywhere(&self, all: &[Worst<'_>], kind: &dyn Fn(&str) -> String) -> String {
        let best = all.iter().take_while(|one| one.cost < BEST).count();
        let (taken, others) = all.split_at(best.max(1));
        let mut said = format!("{} everywhere ({})", any_of(&self.listed(taken)), self.cases());
        if best == 0 {
            said.push_str(&format!(": at most {}", extent(taken[0].cost)));
        }
        let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
        for one in others {
            let cost = match one.cost {
                cost if cost < EQUAL => format!("at most {}", extent(cost)),
                cost => format!("up to {}{}", extent(cost), self.place(one.entry, kind)),
            };
            match groups.last_mut().filter(|(_, last)| *last == cost) {
                Some((names, _)) => names.push(one.choice),
                None => groups.push((vec![one.choice], cost)),
            }
        }
        for (names, cost) in groups {
            said.push_str(&format!("; {} {cost}", names.join(" and ")));
        }
        once(&said) + "."
    }

    /// The answer where no choice is good in every case: the one that is good most often first.
    fn depends(&self, mut all: Vec<Worst<'_>>, kind: &dyn Fn(&str) -> String) -> String {
        all.sort_by_key(|one| std::cmp::Reverse(one.close));
        let number = self.rows.len();
        let clause = |(nth, one): (usize, &Worst<'_>)| {
            let Worst { choice, entry, cost, close } = one;
            let cost = format!("{}{}", extent(*cost), self.place(entry, kind));
            match nth {
                0 => format!("{choice}: good in {close} of {number} cases, at worst {cost}."),
                _ => format!("{choice}: {close} of {number}, {cost}."),
            }
        };
        once(&all.iter().enumerate().map(clause).collect::<Vec<_>>().join(" "))
    }

    /// Names in the order of the question.
    fn listed(&self, of: &[Worst<'_>]) -> Vec<&'static str> {
        let is_one = |choice: &&&str| of.iter().any(|one| one.choice == **choice);
        self.choices().iter().filter(is_one).copied().collect()
    }

    fn cases(&self) -> String {
        match self.rows.len() {
            1 => "one case".to_owned(),
            number => format!("{number} cases"),
        }
    }

    /// Load and device of an entry, as far as the question does not name them.
    fn place(&self, entry: &Entry, kind: &dyn Fn(&str) -> String) -> String {
        let load = (self.question.loads.len() != 1).then(|| entry.load.clone());
        let device = self.question.device.is_empty().then(|| kind(&entry.device));
        let said: Vec<String> = [load, device].into_iter().flatten().collect();
        if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
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

/// The meaning of a good choice in [`Answered::sentence`].
pub(super) fn good() -> String {
    format!("good: within {} of the best", percent(EQUAL - 1.0))
}

/// A cost of at least half a per cent: `21 % behind`, `2.3 times as slow`, `11,300 times as slow`.
fn extent(cost: f64) -> String {
    match cost {
        cost if cost < 2.0 => format!("{} behind", percent(cost - 1.0)),
        cost if cost < 999.5 => format!("{} times{AS_SLOW}", factor(cost)),
        cost => {
            let digit = 10_f64.powf(cost.log10().floor() - 2.0);
            let rounded = ((cost / digit).round() * digit) as u64;
            format!("{},{:03} times{AS_SLOW}", rounded / 1000, rounded % 1000)
        }
    }
}

/// The text with the first ` as slow` alone, which is enough for all.
fn once(text: &str) -> String {
    match text.split_once(AS_SLOW) {
        Some((first, rest)) => format!("{first}{AS_SLOW}{}", rest.replace(AS_SLOW, "")),
        None => text.to_owned(),
    }
}

/// `a`, `a or b`, `a, b or c`.
fn any_of(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Every question that the entries answer, as a table in Markdown. `kind` gives the kind of a model.
#[must_use]
pub fn questions_markdown(entries: &[Entry], kind: &dyn Fn(&str) -> String) -> String {
    let mut out = format!("| question | answer (models; {}) |\n| --- | --- |\n", good());
    for answered in QUESTIONS.iter().filter_map(|one| Answered::of(one, entries)) {
        let said = [Some(answered.sentence(kind)), answered.survival()];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(" ");
        out.push_str(&format!("| {} | {} |\n", answered.question.text, escape(&said)));
    }
    out
}
