//! A first lab from six answers, with comments that say what to change.
//!
//! The questions are data: whoever asks them, in a terminal or from flags, asks these.

mod text;

use seekwell_model::filesystems::{FILESYSTEMS, filesystem};
use seekwell_model::units::Nanos;

pub use text::{FRUGALITIES, Frugality, Scale, lab_text, scale};

/// One of the six questions.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Short name, also the name of the flag.
    pub name: &'static str,
    /// The question itself.
    pub text: &'static str,
    /// Answers by word, each with what it means. Never empty.
    pub choices: &'static [(&'static str, &'static str)],
    /// Other possible answers, in words; `None` if only the choices are possible.
    pub free: Option<&'static str>,
    /// The answer of a user who only presses Enter.
    pub default: &'static str,
}

/// The workload.
pub const RUNS: Question = Question {
    name: "runs",
    text: "What runs on it?",
    choices: &[
        ("mail", "a mail server: very many small files"),
        ("database", "a database: small reads and synced writes at random places of a large file"),
        ("log", "a log writer: small appends, each synced"),
        ("monitoring", "rrd files: small updates all over"),
        ("photos", "photos, films, backups: large files, written once and read again"),
        ("build", "a build server: trees of small files made and removed"),
        ("desktop", "a desktop: small reads while something large is copied"),
        ("containers", "containers: layers unpacked, then random reads"),
        ("command", "a command of your own"),
    ],
    free: None,
    default: "mail",
};

/// Question about the device.
pub const DEVICE: Question = Question {
    name: "device",
    text: "Which device?",
    choices: &[("scratch", "a scratch image in the current directory: destroys nothing")],
    free: Some("the stable path of a disk or partition that may be destroyed: /dev/disk/by-id/…"),
    default: "scratch",
};

/// Question about the filesystems.
pub const FILESYSTEM: Question = Question {
    name: "filesystems",
    text: "Which filesystems?",
    choices: &[
        ("usual", "ext4, xfs and btrfs"),
        ("ext4", "ext4 alone: everything else is what is compared"),
    ],
    free: Some("a list such as ext4,f2fs"),
    default: "usual",
};

/// Further axes.
pub const VARY: Question = Question {
    name: "vary",
    text: "What else should be compared?",
    choices: &[
        ("scheduler", "every I/O scheduler that the kernel offers"),
        ("journal", "the journal inside and in RAM, which is the most a second device can bring"),
        ("memory", "little memory and a quarter of the machine's"),
        ("nothing", "nothing: filesystems only"),
    ],
    free: None,
    default: "scheduler",
};

/// The goal.
pub const MATTERS: Question = Question {
    name: "matters",
    text: "What matters most?",
    choices: &[
        ("throughput", "how much gets done in all"),
        ("waiting", "how long one operation takes"),
    ],
    free: None,
    default: "throughput",
};

/// Time limit of the lab.
pub const TIME: Question = Question {
    name: "time",
    text: "How long may it take?",
    choices: &[
        ("10min", "enough for large differences"),
        ("1h", "a coffee break's worth of small ones"),
        ("8h", "over night"),
    ],
    free: Some("a duration such as 30min or 2h30min"),
    default: "10min",
};

/// The six, in the order in which they are asked.
pub const QUESTIONS: [&Question; 6] = [&RUNS, &DEVICE, &FILESYSTEM, &VARY, &MATTERS, &TIME];

/// Names of workloads by which people mean a database.
const DATABASES: [&str; 6] = ["sqlite", "postgresql", "postgres", "mysql", "mariadb", "db"];

/// An answer that does not fit its question.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: '{answer}' is not an answer; {remedy}")]
pub struct AnswerError {
    /// Name of the question.
    pub name: &'static str,
    /// The answer.
    pub answer: String,
    /// The suggested answer.
    pub remedy: String,
}

impl Question {
    /// The answer as it is kept: a choice may be given by its number, counted from 1, and nothing
    /// is the default.
    ///
    /// # Errors
    /// [`AnswerError`] when the answer does not fit.
    pub fn answer(&self, given: &str) -> Result<String, AnswerError> {
        let given = given.trim();
        if given.is_empty() {
            return Ok(self.default.to_owned());
        }
        let numbered = given.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        if let Some((word, _)) = numbered.and_then(|index| self.choices.get(index)) {
            return Ok((*word).to_owned());
        }
        if self.choices.iter().any(|(word, _)| *word == given) {
            return Ok(given.to_owned());
        }
        let lower = given.to_ascii_lowercase();
        if self.name == "runs" && DATABASES.contains(&lower.as_str()) {
            return Ok("database".to_owned());
        }
        let fits = match self.name {
            "device" => is_stable_path(given),
            "filesystems" => given
                .split(',')
                .all(|name| filesystem(name.trim()).is_some_and(|one| !one.is_remote)),
            "time" => given.parse::<Nanos>().is_ok_and(|time| time.0 > 0),
            _ => false,
        };
        if fits { Ok(given.to_owned()) } else { Err(self.wrong(given)) }
    }

    fn wrong(&self, given: &str) -> AnswerError {
        let words: Vec<&str> = self.choices.iter().map(|(word, _)| *word).collect();
        let mut remedy = format!("answer {}", words.join(", "));
        match (self.name, self.free) {
            ("filesystems", _) => {
                let known: Vec<&str> =
                    FILESYSTEMS.iter().filter(|one| !one.is_remote).map(|one| one.name).collect();
                remedy.push_str(&format!(", or a list of {}", known.join(", ")));
            }
            (_, Some(free)) => remedy.push_str(&format!(", or {free}")),
            (_, None) => {}
        }
        AnswerError { name: self.name, answer: given.to_owned(), remedy }
    }
}

/// Names that stay with a disk, and nothing that could end a text in the lab.
fn is_stable_path(path: &str) -> bool {
    let below = [
        "/dev/disk/by-id/", "/dev/disk/by-path/", "/dev/disk/by-partuuid/",
        "/dev/disk/by-partlabel/",
    ];
    let plain = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\' && c != '\'';
    below.iter().any(|folder| path.strip_prefix(folder).is_some_and(|name| !name.is_empty()))
        && path.chars().all(plain)
        && !path.contains("/../")
}

/// The six answers, as [`Question::answer`] gave them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answers {
    /// Of [`RUNS`].
    pub runs: String,
    /// Of [`DEVICE`].
    pub device: String,
    /// Of [`FILESYSTEM`].
    pub filesystems: String,
    /// Of [`VARY`].
    pub vary: String,
    /// Of [`MATTERS`].
    pub matters: String,
    /// Of [`TIME`].
    pub time: String,
}

impl Answers {
    /// From answers in the order of [`QUESTIONS`].
    #[must_use]
    pub fn from_list(list: [String; 6]) -> Self {
        let [runs, device, filesystems, vary, matters, time] = list;
        Self { runs, device, filesystems, vary, matters, time }
    }
}

#[cfg(test)]
mod tests;
