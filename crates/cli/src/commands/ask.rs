//! `seekwell ask`: an answer of the atlas, looked up in a second.

use crate::args::AskArgs;
use crate::commands::atlas::entries;
use crate::commands::init::Asker;
use crate::failure::{Exit, Failure};
use crate::{foreign, output, terminal};
use seekwell_host::confine::Reach;
use seekwell_host::facts::disk_model;
use seekwell_host::output::Kind;
use seekwell_model::filesystems::{FILESYSTEMS, filesystem};
use seekwell_recordings::info::Summary;
use seekwell_report::{Asked, Entry, atlas_lines, shell_word};
use seekwell_session::Session;
use seekwell_session::atlas::{
    AtlasDevice, DEVICES, Form, HELD_PERCENT, KeptOut, LOADS, NEAR, device, kept_out, like, load,
    loads, nearest, own_lab, probed_on,
};
use seekwell_spec::draft::Question;
use seekwell_spec::nearest as nearest_name;
use seekwell_trace::Trace;
use std::path::Path;

/// Looks an answer up; without one, says so and how to find out.
///
/// # Errors
/// When the load or the device is not known, or a lab cannot be written.
pub fn run(session: &Session, arguments: &AskArgs) -> Result<Exit, Failure> {
    let questions = questions();
    let mut asker = Asker::new();
    let of = match &arguments.load {
        Some(given) => given.clone(),
        None => asker.ask(&questions[0], is_load, "")?,
    };
    let (known, trace) = (load(&of), Path::new(&of));
    if known.is_none() && !trace.exists() {
        return Err(no_load(&of));
    }
    let own_device = arguments.device.as_deref().map(|word| found(session, word)).transpose()?;
    if let Some(path) = &arguments.lab {
        let device = own_device.as_ref().map(|(device, _)| *device);
        write_lab(known.ok_or_else(|| no_lab(trace))?, device, path)?;
        if device.is_none() {
            return Ok(Exit::Done);
        }
    }
    let (device, reason) = match own_device {
        Some(found) => found,
        None => found(session, &asker.ask(&questions[1], is_device, "")?)?,
    };
    let now = match (&arguments.load, &arguments.now) {
        (None, None) if !arguments.json && asker.has_more() => {
            Some(asker.ask(&questions[2], |word| filesystem(word).is_some(), "")?)
        }
        (_, given) => given.clone(),
    }
    .filter(|now| now != NONE);
    now.as_deref().map_or(Ok(()), check_now)?;
    let file = session.device(device.model)?;
    let entries = entries()?;
    // Last, because a reader of traces may do nothing else.
    let (entry, likeness) = match answering(known, trace, device, &entries)? {
        Ok(found) => found,
        Err(Declined::Recording(why)) => {
            let commands = own_replay(trace, device);
            return Ok(decline(arguments.json, &why, "To find out, replay it:", &commands));
        }
        Err(Declined::Load(load)) => {
            let (why, next, commands) = missing(load, device, arguments.lab.as_deref(), &entries);
            return Ok(decline(arguments.json, &why, next, &commands));
        }
    };
    if arguments.json {
        terminal::data(atlas_lines(std::slice::from_ref(entry))?.trim_end());
        return Ok(Exit::Done);
    }
    let load = &entry.load;
    let asked = Asked {
        entry,
        title: &device.made_of(file.title()),
        model: &device.made_of(device.model),
        room: &device.room(),
        load: &(meant(known.is_some().then_some(&*of), load) + alone(device)),
        loses: device.array().filter(|(kind, _)| *kind == "raid5").map(|_| WRITE_HOLE),
        now: now.as_deref(),
        recording: likeness.as_deref(),
        like: reason.as_deref(),
        own: &match known {
            None => own_replay(trace, device),
            Some(_) => own(load, device, arguments.lab.as_deref()),
        },
    };
    terminal::data(terminal::harmless(&asked.text(terminal::width())).trim_end());
    Ok(Exit::Done)
}

/// Refuses a word that is neither a filesystem nor a stack of one.
fn check_now(word: &str) -> Result<(), Failure> {
    let name = word.split(['/', '-']).next().unwrap_or(word).to_ascii_lowercase();
    if filesystem(&name).is_some() {
        return Ok(());
    }
    let known = FILESYSTEMS.iter().map(|one| one.name);
    Err(Failure::Usage(format!("--now: no filesystem '{word}' is known{}", near(&name, known))))
}

fn is_load(word: &str) -> bool {
    load(word).is_some() || Path::new(word).is_file()
}

fn is_device(word: &str) -> bool {
    word.starts_with('/') || device(word).is_some()
}

/// The reason why a question has no answer.
enum Declined {
    /// No run answers for a recording, for this reason.
    Recording(String),
    /// The load has no run on the device.
    Load(&'static str),
}

/// The run that answers, and the sentences about a recording that it answers for.
fn answering<'a>(
    known: Option<&'static str>,
    trace: &Path,
    device: &AtlasDevice,
    entries: &'a [Entry],
) -> Result<Result<(&'a Entry, Option<String>), Declined>, Failure> {
    let run_of =
        |load: &str| entries.iter().find(|one| one.load == load && one.device == device.name());
    if let Some(load) = known {
        return Ok(run_of(load).map(|entry| (entry, None)).ok_or(Declined::Load(load)));
    }
    let Recorded { near, sentence } = recorded(trace, device)?;
    let Some((load, tried)) = near else { return Ok(Err(Declined::Recording(sentence))) };
    Ok(match run_of(load) {
        Some(entry) => Ok((entry, Some(format!("{sentence} {}", held(load, tried))))),
        None => {
            let why = format!("{sentence} The atlas has no run of {load} on {}.", device.name());
            Err(Declined::Recording(why))
        }
    })
}

/// Likeness of a recording to the loads of the atlas.
struct Recorded {
    /// The nearest load, and how its picks held for others; `None` if it has no answer for this one.
    near: Option<(&'static str, KeptOut)>,
    /// Sentence that says how near the nearest is.
    sentence: String,
}

/// The load of the atlas that a recording is most like.
fn recorded(path: &Path, device: &AtlasDevice) -> Result<Recorded, Failure> {
    foreign::confine(&Reach::default().reading(path));
    let summary = Summary::of(&Trace::open(path)?)?;
    let shape = summary.shape.ok_or_else(|| {
        Failure::Error(format!(
            "{} has no reads, writes or names of files, so that no load is like it",
            path.display()
        ))
    })?;
    let near = nearest(&shape);
    let [(load, distance), (next, farther), ..] = near.as_slice() else {
        return Err(Failure::Error("the atlas has no shapes of loads".to_owned()));
    };
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let sentence = format!(
        "{name} is most like the load {load}, at a distance of {distance:.2} (0 is the same, 1 has nothing in \
         common); next is {next}, {farther:.2}."
    );
    let tried = kept_out(load);
    Ok(match tried.filter(KeptOut::is_reliable) {
        _ if *distance > NEAR => Recorded {
            near: None,
            sentence: format!(
                "Nothing near is in the atlas. {sentence} Up to {NEAR} counts as near."
            ),
        },
        Some(tried) => Recorded { near: Some((*load, tried)), sentence },
        None => {
            let why = not_held(load, tried, device);
            Recorded { near: None, sentence: format!("{sentence} {why}") }
        }
    })
}

/// Limit of RAID 5 to a filesystem's promise (`benches/runs/virtual/cuts/raid-5-write-hole.seekwell`).
const WRITE_HOLE: &str = "by the filesystem's options; a disk that fails together with the power may take older synced \
                          data along (the write hole)";

/// Says what an answer for a device leaves out.
fn alone(device: &AtlasDevice) -> &'static str {
    match device.word {
        "sd" | "cf" => {
            " f2fs, made for flash, is not among the stacks: labs/raspberry-sd.toml compares it and what each writes."
        }
        "nas" => {
            " The device is one slow disk: raid1, raid5 and raid10 are arrays of it, with other answers."
        }
        _ => "",
    }
}

/// Says how picks for recordings like a load held.
fn held(load: &str, tried: KeptOut) -> String {
    format!(
        "The answer below is the load's, not the recording's. {} The last commands try yours.",
        format_args!("Its pick {}.", of_others(load, tried))
    )
}

/// Says why the answer of the nearest load is none for a recording.
fn not_held(load: &str, tried: Option<KeptOut>, device: &AtlasDevice) -> String {
    let why = match tried {
        None => format!("whether the pick of {load} holds for other programs was not tried"),
        Some(tried) => format!("the pick of {load} {}", of_others(load, tried)),
    };
    format!(
        "The atlas has no answer for the recording: {why}. The answer for {load} itself: seekwell ask --load {load} \
         --device {}.",
        device.word
    )
}

/// Clause about the pick of a load for the recordings that are most like it.
fn of_others(load: &str, tried: KeptOut) -> String {
    let KeptOut { programs, devices, picks, held, .. } = tried;
    let worst = tried.at_worst().map_or_else(String::new, |worst| format!(", and {worst}"));
    let only = if tried.is_reliable() { "" } else { "only " };
    let counted = |number: usize, noun: &str| match number {
        1 => format!("one {noun}"),
        number => format!("{number} {noun}s"),
    };
    format!(
        "was tried on recordings of {} most like {load}, on {}: it came within {HELD_PERCENT} % of the pick of their own \
         lab in {only}{held} of {picks} cases{worst}",
        counted(programs, "other program"),
        counted(devices, "device"),
    )
}

/// Says why there is no answer, and the commands that find one, a line each.
fn decline(json: bool, why: &str, next: &str, commands: &str) -> Exit {
    if json {
        let commands: Vec<&str> = commands.lines().map(str::trim).collect();
        let line = serde_json::json!({ "declined": why, "commands": commands });
        terminal::data(&line.to_string());
    } else {
        terminal::data(&terminal::harmless(&format!("{why}\n{next}\n{}", commands.trim_end())));
    }
    Exit::NotResolved
}

/// Commands that replay a recording on a model and on a disk.
fn own_replay(trace: &Path, device: &AtlasDevice) -> String {
    let trace = shell_word(&trace.to_string_lossy());
    // A command cannot name an array or an age as a model.
    let modelled = match device.form {
        Form::Old | Form::Array(..) => String::new(),
        Form::New => format!("  seekwell advise {trace} --for 10min --on {}\n", device.model),
    };
    format!("{modelled}  sudo seekwell advise {trace} --for 10min\n")
}

/// The meaning of a load, and that it stands for the program that the person named instead.
fn meant(named: Option<&str>, load: &str) -> String {
    let meaning = LOADS.iter().find(|(name, _)| *name == load).map_or("", |(_, meaning)| meaning);
    let stands = match named.filter(|named| !named.eq_ignore_ascii_case(load)) {
        None => format!("The load {load} means"),
        Some(named) => format!("{named} is answered by the load {load}, which means"),
    };
    format!("{stands} {meaning}.")
}

fn no_lab(trace: &Path) -> Failure {
    Failure::Usage(format!(
        "--lab writes labs of the atlas's own loads; that of a recording is written by: seekwell advise {}",
        shell_word(&trace.to_string_lossy())
    ))
}

/// The answer of a person without a filesystem.
const NONE: &str = "none";

/// The three questions.
fn questions() -> [Question; 3] {
    let leaked = |devices: &'static [AtlasDevice]| -> &'static [(&'static str, &'static str)] {
        devices.iter().map(|one| (one.word, one.meaning)).collect::<Vec<_>>().leak()
    };
    [
        Question {
            name: "load",
            text: "What runs on it?",
            choices: LOADS,
            free: None,
            default: LOADS[0].0,
        },
        Question {
            name: "device",
            text: "On which device?",
            choices: leaked(DEVICES),
            free: None,
            default: DEVICES[0].word,
        },
        Question {
            name: "now",
            text: "Which filesystem has it now?",
            choices: &[
                (NONE, "none yet"),
                ("ext4", "the default of most distributions"),
                ("xfs", "that of RHEL"),
                ("btrfs", "that of Fedora's desktop and openSUSE"),
            ],
            free: None,
            default: NONE,
        },
    ]
}

fn no_load(word: &str) -> Failure {
    let near = near(word, loads());
    let known: Vec<&str> = LOADS.iter().map(|(name, _)| *name).collect();
    Failure::Usage(format!(
        "no load '{word}' is in the atlas{near}, which has {} and programs such as postgresql, mysql, etcd and \
         postfix; no recording has that path. Record your own with seekwell capture, take a lab of labs/, or draft \
         one: seekwell init mine.toml --runs command",
        known.join(", ")
    ))
}

/// The name that was probably meant, as a clause.
fn near<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    nearest_name(word, names).map_or_else(String::new, |near| format!(" (did you mean {near}?)"))
}

/// The device for a word, a model or a path; with a path the reason for the choice.
pub(super) fn found(
    session: &Session,
    word: &str,
) -> Result<(&'static AtlasDevice, Option<String>), Failure> {
    if word.starts_with('/') {
        let (system, path) = (&session.machine().system, Path::new(word));
        let (device, reason) = like(system, path).map_err(Failure::Error)?;
        let model = disk_model(system, path).unwrap_or_default();
        let own = probed_on(session.devices()?, &model).unwrap_or_default();
        return Ok((device, Some(reason + &own)));
    }
    let known: Vec<&str> = DEVICES.iter().map(|one| one.word).collect();
    if device(word).is_none() && word.to_ascii_lowercase().starts_with("raid") {
        return Err(Failure::Usage(format!(
            "no array '{word}' is in the atlas, which has raid1, raid5 and raid10 of hard disks and ssd-raid1; a lab with a [[layer]] compares \
             others: docs/how-to/layers.md"
        )));
    }
    let device = device(word).ok_or_else(|| {
        Failure::Usage(format!(
            "no device '{word}' is in the atlas{}; name one of {}, or the path of a disk",
            near(word, known.iter().copied()),
            known.join(", ")
        ))
    })?;
    Ok((device, None))
}

/// Commands that run a load on a disk; the lab is written already, or by the first of them.
fn own(load: &str, device: &AtlasDevice, written: Option<&Path>) -> String {
    let draft = format!("{load}.toml");
    let lab = written.unwrap_or(Path::new(&draft)).display();
    let write = match (written, device.form) {
        (Some(_), _) => String::new(),
        (None, Form::New | Form::Array(..)) => {
            format!("  seekwell ask --load {load} --lab {lab}\n")
        }
        (None, Form::Old) => {
            format!("  seekwell ask --load {load} --device {} --lab {lab}\n", device.word)
        }
    };
    let (disk, what) = match device.form {
        Form::Array(..) => ("/dev/md0", "an array"),
        Form::New => ("/dev/disk/by-id/…", "a disk"),
        // A whole disk would be filled with files in every trial.
        Form::Old => return format!("{write}  sudo seekwell run {lab}  # on a scratch image\n"),
    };
    format!(
        "{write}  sudo seekwell claim {disk}  # {what} that may be erased\n  seekwell plan {lab} --device {disk}\n  \
         sudo seekwell run {lab} --device {disk}\n"
    )
}

fn write_lab(load: &str, device: Option<&AtlasDevice>, path: &Path) -> Result<(), Failure> {
    let lab = own_lab(load, device).ok_or_else(|| no_room(load))?;
    output::create(path, Kind::Lab, lab.as_bytes())
}

/// Refuses a load that an old filesystem of the atlas has no room for.
pub(super) fn no_room(load: &str) -> Failure {
    Failure::Usage(format!(
        "the old filesystem of the atlas has no room for {load}, only for smaller loads such as log and build; write \
         kind = \"age\" into a lab of your own: docs/lab-reference.md"
    ))
}

/// The reason why the atlas has no run of a load on a device, as when its cells stopped reproducing, what the
/// commands do, and the commands.
fn missing(
    load: &str,
    device: &AtlasDevice,
    written: Option<&Path>,
    entries: &[Entry],
) -> (String, &'static str, String) {
    if own_lab(load, Some(device)).is_none() {
        let its = entries.iter().filter(|entry| entry.device == device.name());
        let loads: Vec<&str> = its.map(|entry| entry.load.as_str()).collect();
        let why = format!(
            "The old filesystem of {} has no room for {load}; the atlas has {} on it.",
            device.word,
            loads.join(", ")
        );
        let new = device.word.trim_end_matches("-full");
        return (why, "On a new one:", format!("  seekwell ask --load {load} --device {new}"));
    }
    let draft = format!("{load}.toml");
    let lab = written.unwrap_or(Path::new(&draft)).display();
    let modelled = match device.form {
        Form::Old | Form::Array(..) => String::new(),
        Form::New => format!("  seekwell run {lab} --on {}\n", device.model),
    };
    let why = format!("The atlas has no run of {load} on {}.", device.name());
    (why, "To find out:", own(load, device, written) + &modelled)
}
