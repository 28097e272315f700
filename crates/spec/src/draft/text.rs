//! The text of a drafted lab.

use super::{Answers, RUNS};
use seekwell_model::filesystems::{USUAL_FILESYSTEMS, filesystem};
use seekwell_model::units::Nanos;
use std::fmt::Write as _;

/// With less time than this the small amounts of data are drafted.
const LARGE_FROM: Nanos = Nanos::seconds(20 * 60);

/// A workload of the draft: its tables, once small and once large, and what is judged.
struct Sketch {
    runs: &'static str,
    /// Comment above the tables.
    comment: &'static str,
    /// The tables; `FILES`, `SIZE` and `SECONDS` stand for the amounts.
    tables: &'static str,
    files: [&'static str; 2],
    /// The most of `files` that the device and `size` hold, small and large; 0 without `files`.
    most: [u64; 2],
    size: [&'static str; 2],
    throughput: &'static str,
    waiting: &'static str,
}

const SKETCHES: &[Sketch] = &[
    Sketch {
        runs: "mail",
        comment: "A mail server: four sessions deliver mails with fsync, move them, read others and remove old ones.\n# `count` is the number of deliveries. For an archive that is unpacked, read and removed write\n# kind = \"mail\", see labs/mail-archive.toml.",
        tables: "[[workload]]\nkind = \"maildir\"\ncount = FILES\n",
        files: ["1_000", "10_000"],
        most: [20_000, 200_000],
        size: ["", ""],
        throughput: "delivery.deliveries_per_s",
        waiting: "delivery.deliver_latency_p99",
    },
    Sketch {
        runs: "database",
        comment: "A stand-in for a database: 8 KiB pages at random offsets, 70 % reads, every write synced before\n# it counts. For a real one write kind =\n# \"pgbench\", \"sqlite\" or \"db_bench\", see labs/postgresql.toml, sqlite.toml and rocksdb.toml.",
        tables: "[[workload]]\nkind = \"seek\"\nstep = \"transactions\"\nsize = \"8KiB\"\nfile_size = \"SIZE\"\nmix = 70\nsync = \"fdatasync\"\nthreads = 4\ntime = \"SECONDSs\"\n",
        files: ["", ""],
        most: [0, 0],
        size: ["256MiB", "1GiB"],
        throughput: "transactions.iops",
        waiting: "transactions.commit_latency_p99",
    },
    Sketch {
        runs: "log",
        comment: "A log: 4 KiB appended to a growing file and synced, again and again. commit_latency_* counts\n# from the start of the write until its fsync has returned.",
        tables: "[[workload]]\nkind = \"stream\"\nstep = \"log\"\nwrite = true\nsize = \"4KiB\"\nappend = true\nfile_size = \"SIZE\"\ncache = \"warm\"\nsync = \"fsync\"\ncount = FILES\n",
        files: ["2_000", "20_000"],
        most: [16_000, 120_000],
        size: ["64MiB", "512MiB"],
        throughput: "log.elapsed_durable",
        waiting: "log.commit_latency_p99",
    },
    Sketch {
        runs: "monitoring",
        comment: "Monitoring: every poll makes a small update in each of many round-robin files, and ends when\n# they are on the device. Another program on it syncs small writes meanwhile: fsync_p99.",
        tables: "[[workload]]\nkind = \"rrd\"\nfiles = FILES\npolls = 3\n",
        files: ["1_000", "5_000"],
        most: [8_000, 16_000],
        size: ["", ""],
        throughput: "poll.poll_durable",
        waiting: "poll.fsync_p99",
    },
    Sketch {
        runs: "photos",
        comment: "Large files: imported, then read again from the start.",
        tables: "[[workload]]\nkind = \"stream\"\nstep = \"import\"\nwrite = true\nappend = true\nsize = \"1MiB\"\nfile_size = \"SIZE\"\ncount = FILES\n\n[[workload.then]]\nkind = \"stream\"\nstep = \"view\"\nsize = \"1MiB\"\nfile_size = \"SIZE\"\ncount = FILES\n",
        files: ["256", "1024"],
        most: [256, 1_024],
        size: ["256MiB", "1GiB"],
        throughput: "import.elapsed_durable",
        waiting: "view.elapsed",
    },
    Sketch {
        runs: "build",
        comment: "A build server: a tree of sources unpacked, read and removed. For your real build use\n# kind = \"command\", see labs/build-server.toml.",
        tables: "[[workload]]\nkind = \"mail\"\nfiles = FILES\nsteps = [\"read_directory\", \"remove\"]\n",
        files: ["2_000", "20_000"],
        most: [20_000, 100_000],
        size: ["", ""],
        throughput: "unpack.elapsed_durable",
        waiting: "remove.elapsed_durable",
    },
    Sketch {
        runs: "desktop",
        comment: "A desktop: small reads alone, then while a large file is written.",
        tables: "[[workload]]\nkind = \"seek\"\nstep = \"small-reads\"\nsize = \"4KiB\"\nfile_size = \"128MiB\"\ncache = \"direct\"\ntime = \"SECONDSs\"\n\n[[workload.beside]]\nkind = \"stream\"\nstep = \"bulk-writer\"\nwrite = true\nsize = \"1MiB\"\nfile_size = \"SIZE\"\ncache = \"warm\"\n",
        files: ["", ""],
        most: [0, 0],
        size: ["512MiB", "1GiB"],
        throughput: "small-reads.iops",
        waiting: "small-reads.latency_p99",
    },
    Sketch {
        runs: "containers",
        comment: "Containers: layers are unpacked, then programs read at random places.",
        tables: "[[workload]]\nkind = \"mail\"\nfiles = FILES\nsteps = []\n\n[[workload.then]]\nkind = \"seek\"\nstep = \"program-reads\"\nsize = \"16KiB\"\nfile_size = \"SIZE\"\ncount = 2_000\n",
        files: ["2_000", "10_000"],
        most: [20_000, 100_000],
        size: ["128MiB", "1GiB"],
        throughput: "unpack.elapsed_durable",
        waiting: "program-reads.latency_p99",
    },
    Sketch {
        runs: "command",
        comment: "Your own command. {dir} is the mounted filesystem. Put what it needs there in `prepare`,\n# which is not measured; read numbers from its output with `metrics`.",
        tables: "[[workload]]\nkind = \"command\"\nstep = \"command\"\nprepare = \"mkdir {dir}/data && dd if=/dev/urandom of={dir}/data/input bs=1M count=FILES status=none\"\nrun = \"cp -r {dir}/data {dir}/copy\"\n",
        files: ["16", "64"],
        most: [256, 1_024],
        size: ["", ""],
        throughput: "command.elapsed_durable",
        waiting: "command.elapsed_durable",
    },
];

/// Parts of a lab that are left out so that it fits its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frugality {
    /// Seconds that a step without a number of operations takes.
    step_seconds: u8,
    /// Two schedulers in place of all.
    few_schedulers: bool,
}

/// From the whole lab to the most frugal one.
pub const FRUGALITIES: [Frugality; 4] = [
    Frugality { step_seconds: 5, few_schedulers: false },
    Frugality { step_seconds: 2, few_schedulers: false },
    Frugality { step_seconds: 2, few_schedulers: true },
    Frugality { step_seconds: 1, few_schedulers: true },
];

impl Sketch {
    fn of(answers: &Answers) -> &'static Self {
        let sketch = SKETCHES.iter().find(|sketch| sketch.runs == answers.runs);
        sketch.unwrap_or(&SKETCHES[0])
    }

    fn metric(&self, answers: &Answers) -> &'static str {
        match answers.matters.as_str() {
            "waiting" => self.waiting,
            _ => self.throughput,
        }
    }
}

/// Position of the small or the large amounts of data.
fn large(answers: &Answers) -> usize {
    usize::from(answers.time.parse().unwrap_or(Nanos::seconds(600)) >= LARGE_FROM)
}

/// Amounts of work of a drafted lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Name of the judged step.
    pub step: &'static str,
    /// The amount of a brief trial.
    pub brief: u64,
    /// The most that fits the device.
    pub most: u64,
}

/// The amounts of work that these answers allow; `None` where a step ends after a time.
#[must_use]
pub fn scale(answers: &Answers) -> Option<Scale> {
    let sketch = Sketch::of(answers);
    let drafted: u64 = sketch.files[0].replace('_', "").parse().ok()?;
    let (step, _) = sketch.metric(answers).split_once('.')?;
    Some(Scale { step, brief: (drafted / 10).max(1), most: sketch.most[large(answers)] })
}

/// The lab as text: what the answers say, with comments that say what to change. `name` is the
/// lab's name, `amount` the amount of work where it was measured.
#[must_use]
pub fn lab_text(
    name: &str,
    answers: &Answers,
    frugality: Frugality,
    amount: Option<u64>,
) -> String {
    let sketch = Sketch::of(answers);
    let large = large(answers);
    let mut text = head(name, answers);
    text.push_str(&device(answers, large));
    text.push_str(&vary(answers, frugality));
    text.push_str(&filesystems(answers));
    let amount = amount.map_or_else(|| sketch.files[large].to_owned(), |amount| amount.to_string());
    let tables = sketch.tables.replace("FILES", &amount).replace("SIZE", sketch.size[large]);
    let tables = tables.replace("SECONDS", &frugality.step_seconds.to_string());
    let _ = write!(text, "\n# {}\n{tables}", sketch.comment);
    let metric = sketch.metric(answers);
    let _ = write!(
        text,
        "\n# STEP.METRIC. What is within `tie` of each other counts as equal. The run ends when the\n\
         # verdict is clear or the budget is spent.\n\
         [judge]\nmetric = \"{metric}\"\ntie = \"3%\"\nbudget = \"{}\"\n",
        answers.time
    );
    text
}

fn head(name: &str, answers: &Answers) -> String {
    let meaning = RUNS.choices.iter().find(|(word, _)| *word == answers.runs);
    let what = meaning.map_or("it", |(_, meaning)| meaning.split(':').next().unwrap_or(meaning));
    let better = match answers.matters.as_str() {
        "waiting" => "responds fastest for",
        _ => "gets most done for",
    };
    format!(
        "# Drafted by `seekwell init`. What it would do: seekwell plan FILE. Every table and field:\n\
         # docs/lab-reference.md.\n\n\
         [lab]\nname = \"{name}\"\nquestion = \"which stack {better} {what}?\"\n"
    )
}

fn device(answers: &Answers, large: usize) -> String {
    if answers.device == "scratch" {
        let size = ["2GiB", "4GiB"][large];
        return format!(
            "\n# A scratch image on the disk of the current directory, gone after the run. The answer is a\n\
             # property of that disk; for another one give its stable path and claim it:\n\
             #   disk = \"/dev/disk/by-id/…\"\n\
             [[device]]\nname = \"scratch\"\nloop = \"{size}\"\n"
        );
    }
    let path = &answers.device;
    let part = path.contains("-part") || path.contains("/by-part");
    let key = if part { "partition" } else { "disk" };
    format!(
        "\n# EVERYTHING on it is destroyed by every trial. Allow that first: seekwell claim {path}\n\
         [[device]]\nname = \"{key}\"\n{key} = \"{path}\"\n"
    )
}

fn filesystems(answers: &Answers) -> String {
    let usual = USUAL_FILESYSTEMS.join(",");
    let names = match answers.filesystems.as_str() {
        "usual" => usual.as_str(),
        list => list,
    };
    let mut text = "\n# Options are further tables: mkfs = [\"-O\", \"^has_journal\"], mount = [\"noatime\"].\n".to_owned();
    let mut seen: Vec<&str> = Vec::new();
    for name in names.split(',').map(str::trim) {
        if !seen.contains(&name) && filesystem(name).is_some() {
            let gap = if seen.is_empty() { "" } else { "\n" };
            let _ = write!(text, "{gap}[[filesystem]]\ntype = \"{name}\"\n");
            seen.push(name);
        }
    }
    text
}

fn vary(answers: &Answers, frugality: Frugality) -> String {
    match answers.vary.as_str() {
        "scheduler" if frugality.few_schedulers => {
            "\n# Two schedulers, for the time given; without this table all are tried.\n\
             [scheduler]\nchoose = [\"none\", \"mq-deadline\"]\n"
                .to_owned()
        }
        "scheduler" => {
            "\n# No [scheduler] table: every scheduler that the kernel offers is tried.\n"
                .to_owned()
        }
        "journal" => "\n# Filesystems that cannot place their journal elsewhere keep it inside.\n\
             [[journal]]\nname = \"inside\"\n\n[[journal]]\nname = \"in-ram\"\nram = \"128MiB\"\n\
             \n[scheduler]\nchoose = [\"none\"]\n"
            .to_owned(),
        "memory" => "\n# What agent and workload may use, page cache included.\n\
             [memory]\nchoose = [\"256MiB\", \"quarter\"]\n\n[scheduler]\nchoose = [\"none\"]\n"
            .to_owned(),
        _ => "\n[scheduler]\nchoose = [\"none\"]\n".to_owned(),
    }
}
