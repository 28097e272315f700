//! Rules for a probed file that is given to others: `seekwell device check`.

use crate::amount::bytes;
use crate::file::{DeviceFile, load};
use crate::truth::{self, Row, TOLERANCE};
use crate::withheld::{self, BELIEVED};

#[cfg(test)]
mod tests;

/// A rule and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Name.
    pub name: &'static str,
    /// True when the file keeps it; `None` when it was not checked.
    pub passed: Option<bool>,
    /// Reason, in words.
    pub reason: String,
}

impl Rule {
    fn new(name: &'static str, found: Result<String, String>) -> Self {
        let passed = Some(found.is_ok());
        Self { name, passed, reason: found.unwrap_or_else(|reason| reason) }
    }

    fn unchecked(name: &'static str, reason: &str) -> Self {
        Self { name, passed: None, reason: reason.to_owned() }
    }
}

/// Checks the text of a device file, with that of another probe of the same drive if there is one. `private` are texts of
/// this machine that must not be in it, each with its name for people.
#[must_use]
pub fn check(text: &str, other: Option<&str>, private: &[(&'static str, String)]) -> Vec<Rule> {
    let privacy = Rule::new("privacy", privacy(text, private));
    let file = match load(text) {
        Ok(file) => file,
        Err(error) => {
            let rest = ["provenance", "accuracy", "agreement"];
            let rest = rest.map(|name| Rule::unchecked(name, "not checked: the file is wrong"));
            let schema = Rule::new("schema", Err(error.to_string()));
            return [schema].into_iter().chain(rest).chain([privacy]).collect();
        }
    };
    let agreement = match other {
        Some(other) => Rule::new("agreement", agreement(&file, other)),
        None => Rule::unchecked("agreement", "not checked: name the file of a second probe too"),
    };
    vec![
        Rule::new("schema", schema(&file)),
        Rule::new("provenance", provenance(&file)),
        Rule::new("accuracy", accuracy(&file)),
        agreement,
        privacy,
    ]
}

/// The rules as lines, each ended by `\n`.
#[must_use]
pub fn lines(rules: &[Rule]) -> String {
    let line = |Rule { name, passed, reason }: &Rule| {
        let word = passed.map_or("open", |passed| if passed { "pass" } else { "fail" });
        format!("{word}  {name:<10}  {reason}\n")
    };
    rules.iter().map(line).collect()
}

fn schema(file: &DeviceFile) -> Result<String, String> {
    let format = file.format().ok_or("no format version; probe the drive with this version")?;
    Ok(format!("a device file of format {format}"))
}

fn provenance(file: &DeviceFile) -> Result<String, String> {
    let probed = file.probed().ok_or("no [probed]; probe the drive with this version")?;
    let no_drive = "no drive: a model was probed, or a drive that tells no model";
    let drive = probed.drive.as_ref().ok_or(no_drive)?;
    let size = bytes(file.presented().sectors * 512);
    let (version, date, method) = (&probed.seekwell, &probed.date, &probed.method);
    Ok(format!("{drive}, {size}; Seekwell {version} probed it with {method} on {date}"))
}

/// The mixed trace that the probe withheld, by the limit above which reports warn, and the withheld rates that check the
/// model. Of narrow classes a few requests decide by chance: those above the limit are counted.
fn accuracy(file: &DeviceFile) -> Result<String, String> {
    let classes = file.withheld();
    let mixed = withheld::mixed(classes).ok_or("no withheld figure of a mixed trace")?;
    let (said, limit) = (mixed.sentence(), BELIEVED * 100.0);
    if !mixed.is_believed() {
        return Err(format!("{said}, above {limit:.0} %"));
    }
    let rows = truth::rows(file);
    let worst = near(&rows)?.ok_or("no withheld figure that checks the model")?.sentence();
    let doubted = classes.iter().filter(|class| !class.is_believed()).count();
    let all = classes.len();
    Ok(format!("{said}; worst rate: {worst}; {doubted} of {all} classes above {limit:.0} %"))
}

/// Each probe's model against the rates that the other probe measured and withheld from its own.
fn agreement(file: &DeviceFile, other: &str) -> Result<String, String> {
    let other = &load(other).map_err(|error| format!("the second file: {error}"))?;
    let [one, two] = [file, other].map(|file| {
        let drive = file.probed().and_then(|probed| probed.drive.as_deref());
        format!("{}, {} sectors", drive.unwrap_or("unknown"), file.presented().sectors)
    });
    if one != two {
        return Err(format!("not the same drive: {one}, and {two}"));
    }
    if file.withheld() == other.withheld() {
        return Err("the same withheld figures in both files; probe the drive again".to_owned());
    }
    let rows =
        [truth::rows_of(file, other.published()), truth::rows_of(other, file.published())].concat();
    let worst = near(&rows)?.ok_or("no withheld figure that checks the other model")?;
    Ok(format!("each model meets the other probe's rates; worst: {}", worst.sentence()))
}

/// The worst of the rows that check a model; an error if that is off.
fn near(rows: &[Row]) -> Result<Option<&Row>, String> {
    let checking = || rows.iter().filter(|row| !row.published.calibrates);
    match truth::worst(checking().filter(|row| row.is_off())) {
        Some(off) => {
            Err(format!("{}, off by more than {:.0} %", off.sentence(), TOLERANCE * 100.0))
        }
        None => Ok(truth::worst(checking())),
    }
}

/// Parts of a line that give a person or a single drive away, in small letters.
const MARKS: [(&str, &str); 10] = [
    ("/home/", HOME),
    ("/root", HOME),
    ("/users/", HOME),
    ("by-id/", SERIAL),
    ("by-uuid/", SERIAL),
    ("wwn-0x", SERIAL),
    ("naa.", SERIAL),
    ("eui.", SERIAL),
    ("serial n", SERIAL),
    ("serial:", SERIAL),
];
const HOME: &str = "the path of a home folder";
const SERIAL: &str = "a serial number";

/// Shortest name that is looked for, and names that say nothing.
const SHORTEST: usize = 3;
const COMMON: [&str; 2] = ["root", "localhost"];

fn privacy(text: &str, private: &[(&'static str, String)]) -> Result<String, String> {
    let known = private.iter().map(|(kind, text)| (*kind, text.to_lowercase()));
    let known: Vec<(&str, String)> = known
        .filter(|(_, text)| text.len() >= SHORTEST && !COMMON.contains(&text.as_str()))
        .collect();
    let kind_in = |line: &str| {
        let line = line.to_lowercase();
        let mark = MARKS.iter().find(|(mark, _)| line.contains(mark)).map(|(_, kind)| *kind);
        let own = || known.iter().find(|(_, word)| has_word(&line, word)).map(|(kind, _)| *kind);
        mark.or_else(own).or_else(|| has_address(&line).then_some("an e-mail address"))
    };
    let mut found = (1..).zip(text.lines()).filter_map(|(nth, line)| Some((nth, kind_in(line)?)));
    let Some((line, kind)) = found.next() else {
        return Ok("no name of a person or host, no serial number, no home folder".to_owned());
    };
    let more = match found.count() {
        0 => String::new(),
        more => format!(" (the first of {} such lines)", more + 1),
    };
    Err(format!("{kind} in line {line}{more}; take it out"))
}

/// Returns true if a line has the word, and not only as a part of another.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let (before, rest) = line.split_at(at);
        let around = [before.chars().next_back(), rest.chars().nth(word.chars().count())];
        !around.into_iter().flatten().any(char::is_alphanumeric)
    })
}

/// Returns true if a line has an e-mail address.
fn has_address(line: &str) -> bool {
    line.split_whitespace().any(|word| {
        word.split_once('@')
            .is_some_and(|(name, host)| name.ends_with(char::is_alphanumeric) && host.contains('.'))
    })
}
