//! A lab from a few arguments, for a question that does not need a lab file.

use crate::error::SessionError;
use crate::load_folder::chosen;
use crate::loaded::Session;
use crate::options::Options;
use crate::resolved::{LabText, Resolved};
use crate::sizing::{Amounts, Seen};
use seekwell_host::confine::{Reach, read_confined};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::workloads::workload_kind;
use seekwell_recordings::info::Summary;
use seekwell_spec::Diagnostic;
use seekwell_trace::Trace;
use seekwell_virtual::labs::programs_to_bring;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// A lab in a few arguments: one kind of work on every combination of filesystem and scheduler.
#[derive(Clone, Debug)]
pub struct Tried {
    /// A shell command, run in the mounted directory (`{dir}`), the name of a known kind, or the path of
    /// a recording.
    pub work: String,
    /// Preparation of the command, run before it and not measured.
    pub prepare: Option<String>,
    /// Filesystems by name.
    pub filesystems: Vec<String>,
    /// I/O schedulers by name.
    pub schedulers: Vec<String>,
    /// Size of the scratch image.
    pub size: Bytes,
    /// Time of all trials together.
    pub time: Nanos,
    /// The recording that `work` names; found by [`Tried::found`].
    pub trace: Option<TriedTrace>,
}

/// A recorded load to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriedTrace {
    /// Absolute path.
    pub path: PathBuf,
    /// Folder of the recorded machine that the replay is limited to; `None` for all.
    pub only: Option<String>,
}

/// A kind of work whose amount can be chosen.
struct Kind {
    name: &'static str,
    /// Fields of the workload; `AMOUNT` stands for the amount.
    fields: &'static str,
    /// `STEP.METRIC`.
    metric: &'static str,
    /// The amount of the first, brief trial, and the largest amount.
    amounts: [u64; 2],
    /// Largest space on the filesystem for one unit of the amount; 0 if it takes none.
    bytes_each: u64,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "mail",
        fields: "files = AMOUNT\n",
        metric: "unpack.elapsed_durable",
        amounts: [200, 20_000],
        // Messages of some 4 KiB, rounded up to blocks, with their directories.
        bytes_each: 16 << 10,
    },
    Kind {
        name: "seek",
        fields: "file_size = \"64MiB\"\ncount = AMOUNT\n",
        metric: "seek.seek_time",
        amounts: [500, 1_000_000],
        bytes_each: 0,
    },
    Kind {
        name: "stream",
        fields: "write = true\nfile_size = \"64MiB\"\nsize = \"64KiB\"\ncount = AMOUNT\n",
        metric: "stream.elapsed_durable",
        amounts: [100, 1_000],
        bytes_each: 0,
    },
];

/// The reason for which a path without a recording is no program either.
fn no_work(path: &Path) -> Option<String> {
    let shown = path.display();
    let Ok(found) = path.metadata() else { return Some(format!("there is no '{shown}'")) };
    if found.is_dir() {
        return Some(format!("the folder '{shown}' holds no recording"));
    }
    let is_program = found.permissions().mode() & 0o111 != 0;
    (!is_program).then(|| format!("'{shown}' is neither a recording nor a program"))
}

impl Tried {
    fn kind(&self) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == self.work)
    }

    /// The same, with its recording when the work is the path of one.
    ///
    /// # Errors
    /// [`SessionError::Advice`] for a recording that cannot be replayed.
    pub fn found(mut self) -> Result<Self, SessionError> {
        let Ok(path) = Path::new(&self.work).canonicalize() else { return Ok(self) };
        let read = || {
            // Any other file is a program.
            let Ok(trace) = Trace::open(&path) else { return Ok(None) };
            let summary = Summary::of(&trace)?;
            chosen(&trace, &summary, None).map(|(only, _)| Some(only))
        };
        let only = read_confined(&Reach::default().reading_trace(&path), read);
        if let Some(only) = only.map_err(SessionError::Advice)? {
            self.trace = Some(TriedTrace { path, only });
        }
        Ok(self)
    }

    /// Checks the work, which the reader of labs cannot: that its amount can be chosen, and that a
    /// single word is a kind or a program. `is_program` tells programs by name.
    ///
    /// # Errors
    /// [`SessionError::Tried`].
    pub fn check(&self, is_program: impl Fn(&str) -> bool) -> Result<(), SessionError> {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
        let known = known.join(", ");
        let work = &self.work;
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
        let problem = if self.kind().is_some() || self.trace.is_some() {
            return Ok(());
        } else if work.contains('/') && work.chars().all(|c| c == '/' || is_name(c)) {
            match no_work(Path::new(work)) {
                None => return Ok(()),
                Some(problem) => format!("{problem}; write {known}, a command or a recording"),
            }
        } else if workload_kind(work).is_some() {
            format!("try has no kind '{work}'; write {known} or a command, or write a lab")
        } else if work.chars().all(is_name) && !is_program(work) {
            format!("'{work}' is neither a kind of work nor a program; write {known} or a command")
        } else {
            return Ok(());
        };
        Err(SessionError::Tried(problem))
    }

    /// Paths of the programs that the commands call and that guests lack, each once; `find` finds programs
    /// by name.
    pub fn programs(&self, find: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
        if self.kind().is_some() || self.trace.is_some() {
            return Vec::new();
        }
        let lines = self.prepare.iter().chain([&self.work]);
        let names: BTreeSet<&str> = lines.flat_map(|line| programs_to_bring(line)).collect();
        names.into_iter().filter_map(find).collect()
    }

    /// Resolves `text`, a lab that [`Self::lab_text`] made and `name` names. An error names the option
    /// that a mistake came from: no one has written its line.
    ///
    /// # Errors
    /// As [`Session::resolve`].
    pub fn resolve(
        session: &Session,
        name: String,
        text: &str,
        options: &Options,
    ) -> Result<Resolved, SessionError> {
        session.resolve(&LabText::new(name, text), options).map_err(|error| match error {
            SessionError::Lab(mistake) => SessionError::Tried(by_option(text, &mistake)),
            other => other,
        })
    }

    /// The amount of work of a brief first trial; `None` for a command, whose length is fixed.
    #[must_use]
    pub fn brief(&self) -> Option<u64> {
        self.kind().map(|kind| kind.amounts[0])
    }

    /// The amount of work that decides soonest in the time, from a brief trial; `None` for a
    /// command.
    #[must_use]
    pub fn amount(&self, seen: &Seen) -> Option<u64> {
        let kind = self.kind()?;
        let [brief, most] = kind.amounts;
        let stacks = (self.filesystems.len() * self.schedulers.len()) as u64;
        // Half of the device: journal, metadata and what is deleted later need the rest.
        let fitting = (self.size.0 / 2).checked_div(kind.bytes_each).unwrap_or(most);
        let amounts = Amounts { brief, most: most.min(fitting) };
        Some(amounts.choose(seen, stacks, self.time))
    }

    fn metric(&self) -> &'static str {
        match self.kind() {
            Some(kind) => kind.metric,
            None if self.trace.is_some() => "replay.elapsed_durable",
            None => "command.elapsed_durable",
        }
    }

    /// Name of the judged step.
    #[must_use]
    pub fn step(&self) -> &'static str {
        let metric = self.metric();
        metric.split_once('.').map_or(metric, |(step, _)| step)
    }

    /// The lab, as a file that runs again and can be changed. `name` is the lab's name, `amount`
    /// the amount of work of a kind.
    #[must_use]
    pub fn lab_text(&self, name: &str, amount: Option<u64>) -> String {
        let mut text = format!(
            "# Written by `seekwell try`. Every table and field: docs/lab-reference.md.\n\n\
             [lab]\nname = \"{name}\"\nquestion = {}\n\n\
             [[device]]\nname = \"scratch\"\nloop = \"{}\"\n",
            quoted(&format!("which stack runs {} fastest?", self.work)),
            self.size
        );
        for filesystem in &self.filesystems {
            let _ = write!(text, "\n[[filesystem]]\ntype = {}\n", quoted(filesystem));
        }
        let schedulers: Vec<String> = self.schedulers.iter().map(|name| quoted(name)).collect();
        let _ =
            write!(text, "\n[scheduler]\nchoose = [{}]\n\n[[workload]]\n", schedulers.join(", "));
        match (self.kind(), &self.trace) {
            (Some(kind), _) => {
                let amount = amount.unwrap_or(kind.amounts[0]).to_string();
                let fields = kind.fields.replace("AMOUNT", &amount);
                let _ = write!(text, "kind = \"{}\"\n{fields}", kind.name);
            }
            (None, Some(trace)) => {
                let path = quoted(&trace.path.to_string_lossy());
                let _ = write!(text, "kind = \"replay\"\ntrace = {path}\n");
                if let Some(only) = &trace.only {
                    let _ = writeln!(text, "only = {}", quoted(only));
                }
            }
            (None, None) => {
                text.push_str("kind = \"command\"\n");
                if let Some(prepare) = &self.prepare {
                    let _ = writeln!(text, "prepare = {}", quoted(prepare));
                }
                let _ = writeln!(text, "run = {}", quoted(&self.work));
            }
        }
        let metric = self.metric();
        let _ = write!(
            text,
            "\n[judge]\nmetric = \"{metric}\"\ntie = \"5%\"\nbudget = \"{}\"\n",
            duration(self.time)
        );
        text
    }
}

/// A mistake in a line of `text`, told by the option of `try` that wrote the line.
fn by_option(text: &str, mistake: &Diagnostic) -> String {
    const OPTIONS: [(&str, &str); 4] = [
        ("[[device]]", "--size"),
        ("[[filesystem]]", "--fs"),
        ("[scheduler]", "--sched"),
        ("[judge]", "--for"),
    ];
    let lines = text.lines().take(mistake.line as usize);
    let table = lines.filter(|line| line.starts_with('[')).last().unwrap_or_default();
    let option = OPTIONS.iter().find(|(name, _)| *name == table).map(|(_, option)| option);
    let Some(option) = option else { return format!("{}; {}", mistake.message, mistake.remedy) };
    let mut remedy = mistake.remedy.clone();
    for field in ["type = ", "choose = ", "loop = "] {
        remedy = remedy.replace(field, "");
    }
    format!("{option}: {}; {remedy}", mistake.message.replace("`loop`", "the device"))
}

/// A duration as labs write it, in whole seconds.
pub(crate) fn duration(time: Nanos) -> String {
    let seconds = (time.0 / 1_000_000_000).max(1);
    if seconds.is_multiple_of(60) { format!("{}min", seconds / 60) } else { format!("{seconds}s") }
}

/// A text as a TOML string: the escapes of JSON are a part of TOML's.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
