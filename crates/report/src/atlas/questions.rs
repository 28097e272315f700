//! Questions that people ask, answered by the cost of each choice over the entries of the atlas.

use super::{AS_SLOW, Against, Cell, EQUAL, Entry};
use crate::factor::list_with;
use crate::markdown::escape;
use crate::number::percent;
use crate::safety::class_words;
use seekwell_model::verdict::DurabilityClass;

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
    /// Device that it is about; `*-full` for those with this end, empty for all but those.
    device: &'static str,
    /// Conditions that would change the answer.
    pub(super) caveat: &'static str,
}

/// End of the names of devices with an old filesystem.
const OLD: &str = "-full";

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

const CPU: &str = "CPU time, which limits the fastest devices, is not counted.";

/// A question about I/O schedulers.
const fn schedulers(
    name: &'static str,
    text: &'static str,
    choices: &'static [&'static str],
    loads: &'static [&'static str],
    device: &'static str,
    caveat: &'static str,
) -> Question {
    let base = filesystems(name, text, choices, loads, caveat);
    Question { axis: |cell| &cell.scheduler, device, ..base }
}

/// A question about the two usual schedulers of a device.
const fn scheduler_of(name: &'static str, text: &'static str, device: &'static str) -> Question {
    schedulers(name, text, &["none", "mq-deadline"], &[], device, CPU)
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
    device(
        "raid1",
        "Which filesystem for a mirror (RAID 1) of hard disks?",
        "raid1",
        "A resync, or one disk of the two; an old or full filesystem.",
    ),
    device(
        "raid5",
        "Which filesystem for RAID 5 of hard disks?",
        "raid5",
        "A rebuild. A disk lost together with the power may take older synced data (the write hole).",
    ),
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
    device(
        "full",
        "Which filesystem for a disk that is old and 85 % full?",
        "*-full",
        "A filesystem larger than 1 GiB, files larger than the rest of it, and how files came to lie.",
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
        "A later kernel: e2fsck finds damage after some power cuts of Linux 6.12.",
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
        "Which I/O scheduler for a database?",
        &["none", "mq-deadline", "bfq"],
        &["database"],
        "",
        CPU,
    ),
    scheduler_of("scheduler-nvme", "none or mq-deadline for an NVMe drive?", "ssd-nvme-512gb"),
    scheduler_of("scheduler-ssd", "none or mq-deadline for a SATA SSD?", "ssd-sata-250gb"),
    scheduler_of("scheduler-hdd", "none or mq-deadline for a hard disk?", "sata-2tb-7200"),
    schedulers(
        "scheduler-copy",
        "Which I/O scheduler for a desktop during a copy?",
        &["none", "mq-deadline", "kyber", "bfq"],
        &["desktop"],
        "",
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
        "What does ext4's journal cost a build server?",
        &["ext4", "ext4-nojournal"],
        &["build"],
        "Contents that can be made again: without a journal a crash needs a whole check, and may leave half a file.",
    ),
];

/// A question with the costs of its choices.
pub(super) struct Answered<'a> {
    pub(super) question: &'static Question,
    /// Entries with every choice, each with the factor by which each choice is worse than the best of them; `None`
    /// for a choice that is worse by its median and too close to call by its interval.
    pub(super) rows: Vec<(&'a Entry, Vec<Option<f64>>)>,
}

/// The case in which a choice costs most.
struct Worst<'a> {
    choice: &'static str,
    entry: &'a Entry,
    /// Factor by which it is worse than the best there; of a choice that is open everywhere 1.
    cost: f64,
    /// True if it is as good as the best in every case.
    is_good: bool,
    /// True if it is too close to call in a case.
    is_open: bool,
}

/// Largest difference that does not matter.
const NEAR: f64 = 1.04;

impl<'a> Answered<'a> {
    /// `None` where no entry has every choice.
    pub(super) fn of(question: &'static Question, entries: &'a [Entry]) -> Option<Self> {
        let row = |entry: &'a Entry| {
            let Question { loads, device, choices, axis, .. } = *question;
            let is_asked = (loads.is_empty() || loads.contains(&entry.load.as_str()))
                && match device.strip_prefix('*') {
                    Some(end) => entry.device.ends_with(end),
                    None if device.is_empty() => !entry.device.ends_with(OLD),
                    None => device == entry.device,
                };
            // With its best value on the other axis.
            let best = |choice: &&str| {
                let of_choice = entry.cells.iter().filter(|cell| axis(cell) == *choice);
                let values =
                    of_choice.filter_map(|cell| Some((entry.worse(cell.median?, 1.0), cell)));
                values.min_by(|one, other| one.0.total_cmp(&other.0))
            };
            let found: Option<Vec<_>> = choices.iter().filter(|_| is_asked).map(best).collect();
            let found = found.filter(|found| !found.is_empty())?;
            let least = found.iter().map(|(value, _)| *value).fold(f64::INFINITY, f64::min);
            // Intervals are those against the leader of the run.
            let is_leader = |(value, cell): &&(f64, &Cell)| {
                *value == least && entry.against_leader(cell) == Some(Against::Equal)
            };
            let has_intervals = found.iter().any(|one| is_leader(&one));
            let cost = |(value, cell): &(f64, &Cell)| {
                let is_open = has_intervals && entry.against_leader(cell) == Some(Against::Open);
                Some(value / least).filter(|cost| *cost < NEAR || !is_open)
            };
            Some((entry, found.iter().map(cost).collect()))
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
            let costs = self.rows.iter().map(|(entry, costs)| (*entry, costs[at].unwrap_or(1.0)));
            let (entry, cost) = costs.max_by(|a, b| a.1.total_cmp(&b.1))?;
            let is_good = self.rows.iter().all(|(_, costs)| is_good(costs[at]));
            let is_open = self.rows.iter().any(|(_, costs)| costs[at].is_none());
            Some(Worst { choice, entry, cost, is_good, is_open })
        };
        self.choices().iter().enumerate().filter_map(of).collect()
    }

    /// The answer, which begins with the choice to take. `kind` gives the kind of a model.
    pub(super) fn sentence(&self, kind: &dyn Fn(&str) -> String) -> String {
        let mut all = self.worst();
        all.sort_by(|a, b| b.is_good.cmp(&a.is_good).then(a.cost.total_cmp(&b.cost)));
        let weak = self.weak();
        let safe: Vec<&Worst<'_>> = all
            .iter()
            .filter(|one| !weak.iter().any(|(choice, _)| *choice == one.choice))
            .collect();
        match (all.first(), all.last(), safe.as_slice()) {
            (_, _, [safe]) if !weak.is_empty() => self.keeps(safe, &weak, kind),
            (Some(_), Some(last), _) if last.is_good => self.alike(&all),
            (Some(safest), ..) if safest.is_good => self.everywhere(&all, kind),
            _ => self.depends(&all, kind),
        }
    }

    /// The answer where one choice keeps more than the others after a power cut.
    fn keeps(
        &self,
        safe: &Worst<'_>,
        weak: &[(&'static str, DurabilityClass)],
        kind: &dyn Fn(&str) -> String,
    ) -> String {
        let others: Vec<&str> = weak.iter().map(|(choice, _)| *choice).collect();
        let cost = match safe.cost {
            cost if cost < EQUAL => ", and is no slower".to_owned(),
            cost => {
                format!(": at most {}{}", safe.entry.extent(cost), self.place(safe.entry, kind))
            }
        };
        format!("{}, which keeps more than {}{cost}.", safe.choice, any_of(&others))
    }

    /// The answer where each choice will do.
    fn alike(&self, all: &[Worst<'_>]) -> String {
        let most = all.iter().max_by(|a, b| a.cost.total_cmp(&b.cost));
        let cost = match most {
            Some(most) if most.cost >= EQUAL => format!("at most {}", most.entry.extent(most.cost)),
            _ => "no difference".to_owned(),
        };
        format!("{}: {cost} ({}).", any_of(&self.listed(all)), self.cases())
    }

    /// The answer where the first of the choices is as good as the best in every case.
    fn everywhere(&self, all: &[Worst<'_>], kind: &dyn Fn(&str) -> String) -> String {
        let best = all.iter().take_while(|one| one.is_good && one.cost < EQUAL).count();
        let good = all.iter().take_while(|one| one.is_good).count();
        let (taken, others) = all.split_at(if best == 0 { good } else { best });
        let mut said = format!("{} everywhere ({})", any_of(&self.listed(taken)), self.cases());
        if let Some(worst) = taken.last().filter(|_| best == 0) {
            said.push_str(&format!(": at most {}", worst.entry.extent(worst.cost)));
        }
        let mut groups: Vec<(Vec<&str>, String)> = Vec::new();
        for one in others {
            let cost = self.up_to(one, kind);
            match groups.last_mut().filter(|(_, last)| *last == cost) {
                Some((names, _)) => names.push(one.choice),
                None => groups.push((vec![one.choice], cost)),
            }
        }
        for (names, cost) in groups {
            said.push_str(&format!("; {} {cost}", and(&names)));
        }
        once(&said) + "."
    }

    /// The largest cost of a choice, and where.
    fn up_to(&self, one: &Worst<'_>, kind: &dyn Fn(&str) -> String) -> String {
        let extent = one.entry.extent(one.cost);
        match one.is_good {
            true => format!("at most {extent}"),
            false if one.cost < EQUAL => "too close to call".to_owned(),
            false if one.is_open && one.cost < NEAR => {
                format!("up to {extent}{} or too close to call", self.place(one.entry, kind))
            }
            false => format!("up to {extent}{}", self.place(one.entry, kind)),
        }
    }

    /// The answer where no choice is good in every case: the loads of each, or the devices where all have one load.
    fn depends(&self, all: &[Worst<'_>], kind: &dyn Fn(&str) -> String) -> String {
        let by_load = self.rows.iter().any(|(entry, _)| entry.load != self.rows[0].0.load);
        let mut places: Vec<(String, Vec<bool>)> = Vec::new();
        for (entry, costs) in &self.rows {
            let place = if by_load { entry.load.clone() } else { kind(&entry.device) };
            let here = costs.iter().map(|cost| is_good(*cost));
            match places.iter_mut().find(|(known, _)| *known == place) {
                Some((_, good)) => good.iter_mut().zip(here).for_each(|(good, here)| *good &= here),
                None => places.push((place, here.collect())),
            }
        }
        let mut groups: Vec<(Vec<bool>, Vec<&str>)> = Vec::new();
        for (place, good) in &places {
            match groups.iter_mut().find(|(known, _)| known == good) {
                Some((_, list)) => list.push(place),
                None => groups.push((good.clone(), vec![place])),
            }
        }
        // What one choice wins first, what is alike or open last.
        groups.sort_by_key(|(good, list)| {
            let taken = good.iter().filter(|good| **good).count();
            (if taken == 0 { usize::MAX } else { taken }, std::cmp::Reverse(list.len()))
        });
        let taken = |good: &[bool]| {
            let taken: Vec<&str> = self
                .choices()
                .iter()
                .zip(good)
                .filter(|(_, good)| **good)
                .map(|(one, _)| *one)
                .collect();
            match taken.len() {
                0 => "by device".to_owned(),
                2 if self.choices().len() == 2 => "either".to_owned(),
                all if all == self.choices().len() => "any".to_owned(),
                _ => any_of(&taken),
            }
        };
        let clause =
            |(good, list): &(Vec<bool>, Vec<&str>)| format!("{} for {}", taken(good), and(list));
        // What holds for most is the answer, and the others are exceptions.
        let is_most = |(good, list): &(Vec<bool>, Vec<&str>)| {
            list.len() * 2 > places.len() && good.contains(&true)
        };
        let said = match groups.iter().position(is_most).map(|at| groups.remove(at)) {
            Some((good, _)) => {
                let others: Vec<String> = groups.iter().map(clause).collect();
                format!("{}, except {}", taken(&good), others.join(", "))
            }
            None => groups.iter().map(clause).collect::<Vec<_>>().join("; "),
        };
        let costs = all.iter().filter(|one| one.cost >= NEAR);
        let costs: Vec<String> =
            costs.map(|one| format!("{} {}", one.choice, self.up_to(one, kind))).collect();
        match costs.as_slice() {
            [] => format!("{said}."),
            costs => format!("{said}. Elsewhere {}.", once(&costs.join(", "))),
        }
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

    /// Choices that keep less than another after a power cut.
    fn weak(&self) -> Vec<(&'static str, DurabilityClass)> {
        let class = |choice: &&&str| {
            let cells = self.rows.iter().flat_map(|(entry, _)| &entry.cells);
            let cells = cells.filter(|cell| (self.question.axis)(cell) == **choice);
            cells.filter_map(|cell| cell.survives).max()
        };
        let all = self.choices().iter().filter_map(|choice| Some((*choice, class(&choice)?)));
        let all: Vec<_> = all.collect();
        let best = all.iter().map(|(_, class)| *class).min();
        all.into_iter().filter(|(_, class)| Some(*class) > best).collect()
    }

    /// The same in words.
    pub(super) fn survival(&self) -> Option<String> {
        let weak = self.weak();
        let said = weak.iter().map(|(choice, class)| format!("{choice}: {}", class_words(*class)));
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| format!("After a power cut, {}.", said.join("; ")))
    }
}

/// True for a choice that may be taken.
fn is_good(cost: Option<f64>) -> bool {
    cost.is_some_and(|cost| cost < NEAR)
}

/// The difference that [`Answered::sentence`] makes nothing of.
pub(super) fn named() -> String {
    format!(
        "each choice with the best of the others; differences of medians up to {} do not count",
        percent(NEAR - 1.0)
    )
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
    list_with(names, "or")
}

/// `a`, `a and b`, `a, b and c`.
fn and(names: &[&str]) -> String {
    list_with(names, "and")
}

/// Every question that the entries answer, as a table in Markdown. `kind` gives the kind of a model.
#[must_use]
pub fn questions_markdown(entries: &[Entry], kind: &dyn Fn(&str) -> String) -> String {
    let mut out = format!("| question | answer (models; {}) |\n| --- | --- |\n", named());
    for answered in QUESTIONS.iter().filter_map(|one| Answered::of(one, entries)) {
        let said = [Some(answered.sentence(kind)), answered.survival()];
        let said = said.into_iter().flatten().collect::<Vec<_>>().join(" ");
        out.push_str(&format!("| {} | {} |\n", answered.question.text, escape(&said)));
    }
    out
}
