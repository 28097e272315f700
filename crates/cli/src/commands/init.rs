//! `seekwell init`: six questions become a lab.

use crate::args::InitArgs;
use crate::failure::{Exit, Failure, chain};
use crate::{output, terminal};
use seekwell_host::output::Kind;
use seekwell_model::record::Status;
use seekwell_model::units::Nanos;
use seekwell_session::{Amounts, LabText, Options, Seen, Session};
use seekwell_spec::draft::{self, Answers, Frugality, QUESTIONS, Question};
use std::io::{BufRead, IsTerminal, Stderr, StdinLock, Write, stderr, stdin};
use std::path::Path;

/// Image of the trial that is measured.
const MEASURED_ON: &str = "loop = \"512MiB\"";

/// Asks what the flags leave open, and writes the lab.
///
/// # Errors
/// When the file exists, an answer does not fit, or the answers end too early.
pub fn run(session: &Session, arguments: &InitArgs) -> Result<Exit, Failure> {
    let path = &arguments.lab;
    let name = lab_name(path)?;
    // Before six questions are answered for nothing.
    if path.symlink_metadata().is_ok() {
        return Err(Failure::Error(format!(
            "{} exists and is not overwritten; name another file or remove it",
            path.display()
        )));
    }
    let given = [
        &arguments.runs, &arguments.device, &arguments.filesystems, &arguments.vary,
        &arguments.matters, &arguments.time,
    ];
    let mut asker = Asker { defaults: arguments.defaults, ..Asker::new() };
    let answers = asker.answers(given.map(|answer| answer.as_deref()))?;
    let mut draft = fitting(session, &name, &answers);
    if !arguments.estimate {
        measure(session, &name, &answers, &mut draft, &path.with_extension("seekwell"));
    }
    output::new(path, Kind::Lab, draft.text.as_bytes())?;
    if let Some(least) = draft.longer_ns {
        terminal::talk(&format!(
            "{} is too short for this question, which takes at least {}. Leave out filesystems, or answer \
             with more time.",
            answers.time,
            about(least)
        ));
    }
    terminal::talk(&format!(
        "wrote {}; read it, then: seekwell plan {}",
        path.display(),
        path.display()
    ));
    Ok(Exit::Done)
}

/// A lab as it is drafted.
struct Draft {
    text: String,
    frugality: Frugality,
    /// Least time that it takes, in nanoseconds, if that is more than the answer allows.
    longer_ns: Option<u64>,
}

/// The fullest draft whose least time is within the answer.
fn fitting(session: &Session, name: &str, answers: &Answers) -> Draft {
    let limit = answers.time.parse::<Nanos>().map_or(u64::MAX, |time| time.0);
    let mut texts = draft::FRUGALITIES.map(|one| draft::lab_text(name, answers, one, None));
    let least = texts.each_ref().map(|text| least_ns(session, text));
    let chosen = first_within(&least, limit);
    let longer_ns = least[chosen].filter(|least| *least > limit);
    let frugality = draft::FRUGALITIES[chosen];
    Draft { text: std::mem::take(&mut texts[chosen]), frugality, longer_ns }
}

/// Chooses the amount of work from one brief trial on a scratch image. Without such a trial the
/// draft stays as it is estimated.
fn measure(session: &Session, name: &str, answers: &Answers, draft: &mut Draft, run_file: &Path) {
    let Some(scale) = draft::scale(answers).filter(|_| answers.device == "scratch") else { return };
    let brief = draft::lab_text(name, answers, draft.frugality, Some(scale.brief));
    // A smaller image is written sooner; some work needs the whole one.
    let small =
        brief.replace("loop = \"2GiB\"", MEASURED_ON).replace("loop = \"4GiB\"", MEASURED_ON);
    let brief = if least_ns(session, &small).is_some() { small } else { brief };
    terminal::talk("measuring one trial, to choose how much work it takes to compare");
    let (seen, stacks) = match one_trial(session, &brief, scale.step, run_file) {
        Ok(measured) => measured,
        Err(why) => {
            terminal::talk(&format!("not measured, the amount of work is an estimate: {why}"));
            return;
        }
    };
    let amounts = Amounts { brief: scale.brief, most: scale.most };
    let time = answers.time.parse().unwrap_or(Nanos::seconds(600));
    let amount = amounts.choose(&seen, stacks, time);
    let least = amounts.least_time(&seen, stacks, amount);
    draft.text = draft::lab_text(name, answers, draft.frugality, Some(amount));
    draft.longer_ns = Some(least.0).filter(|least| *least > time.0);
}

/// Times of one trial of a lab, and how many trials a round has.
fn one_trial(
    session: &Session,
    text: &str,
    step: &str,
    run_file: &Path,
) -> Result<(Seen, u64), String> {
    let lab = LabText::new("draft", text);
    let planned = session.resolve(&lab, &Options::of("host")).and_then(|lab| lab.plan());
    let planned = planned.map_err(|error| chain(&error))?;
    let stacks = planned.plan().candidates.len() as u64;
    let record = planned.first_trial(run_file).map_err(|error| chain(&error))?;
    match record.status {
        Status::Failed { stage, reason } => Err(format!("the trial failed in {stage}: {reason}")),
        _ => Ok((Seen::of(&record, step), stacks)),
    }
}

/// Whole minutes, or seconds below two minutes: a forecast needs no more precision.
fn about(ns: u64) -> String {
    let seconds = ns.div_ceil(1_000_000_000);
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}

/// The first whose time is within `limit_ns` or unknown; else the last.
fn first_within(least_ns: &[Option<u64>], limit_ns: u64) -> usize {
    let fits = |least: &Option<u64>| least.is_none_or(|least| least <= limit_ns);
    least_ns.iter().position(fits).unwrap_or(least_ns.len() - 1)
}

/// Returns the least time that a lab takes; `None` if it cannot be planned on this machine.
fn least_ns(session: &Session, text: &str) -> Option<u64> {
    let lab = LabText::new("draft", text);
    let planned = session.resolve(&lab, &Options::of("host")).ok()?.plan().ok()?;
    Some(planned.plan().predicted_range_ns().0)
}

/// Asks over a line-wise input.
pub struct Asker<R, W> {
    input: R,
    output: W,
    /// True if a user is present who can answer again.
    again: bool,
    /// Take the default of what was not given.
    defaults: bool,
}

impl Asker<StdinLock<'static>, Stderr> {
    /// One on standard input and standard error.
    pub fn new() -> Self {
        let again = stdin().is_terminal();
        Self { input: stdin().lock(), output: stderr(), again, defaults: false }
    }
}

impl<R: BufRead, W: Write> Asker<R, W> {
    fn answers(&mut self, given: [Option<&str>; 6]) -> Result<Answers, Failure> {
        let mut list: [String; 6] = Default::default();
        for ((slot, question), given) in list.iter_mut().zip(QUESTIONS).zip(given) {
            *slot = match given {
                Some(answer) => question.answer(answer).map_err(|wrong| usage(&wrong))?,
                None if self.defaults => question.default.to_owned(),
                None => self.ask(question, |_| false, ", or take all defaults with --defaults")?,
            };
        }
        Ok(Answers::from_list(list))
    }

    /// Asks a question until the answer fits, as a choice or a word that `takes` knows; `otherwise` names another
    /// way than its option to answer.
    ///
    /// # Errors
    /// When the answer does not fit and nobody can answer again, or there is none.
    pub fn ask(
        &mut self,
        question: &Question,
        takes: impl Fn(&str) -> bool,
        otherwise: &str,
    ) -> Result<String, Failure> {
        self.say(&asked(question));
        loop {
            let mut line = String::new();
            let read = self.input.read_line(&mut line);
            match read {
                Ok(0) => {
                    // The question ends in a prompt without a line end.
                    self.say("\n");
                    return Err(Failure::Usage(format!(
                        "no answer to the question '{}'; give it with --{} ANSWER{otherwise}",
                        question.text, question.name
                    )));
                }
                Ok(_) => {}
                Err(error) => {
                    return Err(Failure::Error(format!("cannot read the answer: {error}")));
                }
            }
            match question.answer(&line) {
                Ok(answer) => return Ok(answer),
                Err(_) if takes(line.trim()) => return Ok(line.trim().to_owned()),
                Err(wrong) if self.again => self.say(&format!("{wrong}\n> ")),
                Err(wrong) => return Err(usage(&wrong)),
            }
        }
    }

    /// Returns false if the input is no terminal and has ended.
    pub fn has_more(&mut self) -> bool {
        self.again || self.input.fill_buf().is_ok_and(|left| !left.is_empty())
    }

    fn say(&mut self, text: &str) {
        // Who cannot be talked to can still answer.
        let _ = self.output.write_all(text.as_bytes()).and_then(|()| self.output.flush());
    }
}

fn asked(question: &Question) -> String {
    let mut text = format!("\n{}\n", question.text);
    let width = question.choices.iter().map(|(word, _)| word.len()).max().unwrap_or(0);
    for (number, (word, meaning)) in question.choices.iter().enumerate() {
        text.push_str(&format!("  {} {word:width$}  {meaning}\n", number + 1));
    }
    if let Some(free) = question.free {
        text.push_str(&format!("  or {free}\n"));
    }
    text.push_str(&format!("[{}] > ", question.default));
    text
}

fn usage(wrong: &draft::AnswerError) -> Failure {
    Failure::Usage(wrong.to_string())
}

/// The lab is named by its file.
fn lab_name(path: &Path) -> Result<String, Failure> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if stem.is_empty() || !stem.chars().all(plain) {
        let text = format!(
            "{}: the name of a lab file has letters, digits, - and _ only; for example mine.toml",
            path.display()
        );
        return Err(Failure::Usage(text));
    }
    Ok(stem.to_owned())
}

#[cfg(test)]
mod tests;
