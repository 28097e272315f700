//! `seekwell capture`: records a live load.

use crate::args::CaptureArgs;
use crate::failure::{Exit, Failure, chain};
use crate::progress::child::ScreenProcess;
use crate::progress::recording::Recording;
use crate::{screen, stop, terminal};
use seekwell_capture::{
    CaptureError, Captured, Command, Ended, Environment, Live, Options, Step, Target,
};
use seekwell_model::units::Nanos;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::AtomicBool;

/// Records until the target ends, the time is over or Ctrl-C.
///
/// # Errors
/// When the kernel, the target or the output cannot be used.
pub fn run(arguments: &CaptureArgs) -> Result<Exit, Failure> {
    let stop = stop::flag()?;
    let options = Options {
        paths: arguments.paths.clone(),
        time: arguments.time.map(Nanos::to_duration),
        block: !arguments.no_block,
        same_device: arguments.same_device,
        walk: !arguments.no_walk,
        anonymize: arguments.anonymize,
        max_bytes: arguments.max_size.map(|size| size.0),
        ..Options::new(arguments.output.clone(), target(arguments)?)
    };
    let captured = recorded(&options, &stop).map_err(failure)?;
    terminal::talk(terminal::harmless(&told(&options, &captured)).trim_end());
    Ok(exit(&captured))
}

/// A script that records a command learns that it failed. One that the end of the recording ended has not.
fn exit(captured: &Captured) -> Exit {
    let failed = captured.status.is_some_and(|status| !status.success());
    if failed && captured.ended == Ended::Target { Exit::CommandFailed } else { Exit::Done }
}

/// Records, on a screen where there can be one. A command has its terminal for itself.
fn recorded(options: &Options, stop: &AtomicBool) -> Result<Captured, CaptureError> {
    let is_alone = !matches!(options.target, Target::Command(_));
    let screen = (is_alone && screen::possible())
        .then(|| ScreenProcess::start("capture-screen").ok())
        .flatten();
    let Some(screen) = screen else {
        return seekwell_capture::capture(&Options { tell: say, ..options.clone() }, stop, None);
    };
    let trace = options.output.display().to_string();
    let mut watch = |live: &Live| {
        // Without its screen the capture goes on.
        screen.send(&Recording::of(&trace, live));
    };
    let captured = seekwell_capture::capture(options, stop, Some(&mut watch));
    screen.finish();
    captured
}

/// Says that a step begins: without a screen the wait would look like a hang.
fn say(options: &Options, step: Step<'_>) {
    let time = options.time.map(|time| Nanos::from_duration(time).to_string());
    let line = match (step, time, &options.target) {
        (Step::Walk(roots), ..) => {
            let names: Vec<String> = roots.iter().map(|root| root.display().to_string()).collect();
            format!("reading names and sizes of the files in {}", names.join(", "))
        }
        (Step::Record, None, Target::Command(_)) => "recording until the command ends".to_owned(),
        (Step::Record, Some(time), Target::Command(_)) => {
            format!("recording until the command ends, for {time} at most")
        }
        (Step::Record, None, _) => "recording; end with Ctrl-C".to_owned(),
        (Step::Record, Some(time), _) => format!("recording for {time}; end earlier with Ctrl-C"),
    };
    terminal::talk(&terminal::harmless(&line));
}

fn failure(error: CaptureError) -> Failure {
    if error.is_refusal() { Failure::Refused(chain(&error)) } else { error.into() }
}

fn target(arguments: &CaptureArgs) -> Result<Target, Failure> {
    if let Some(process) = arguments.pid {
        return Ok(Target::Process(process));
    }
    if let Some(path) = &arguments.cgroup {
        return Ok(Target::Cgroup(path.clone()));
    }
    if let Some(name) = &arguments.unit {
        return Ok(Target::Cgroup(seekwell_capture::cgroup_of(name).map_err(failure)?));
    }
    if let Some(name) = &arguments.container {
        return Ok(Target::Cgroup(seekwell_capture::cgroup_of_container(name).map_err(failure)?));
    }
    if arguments.system {
        return Ok(Target::System);
    }
    Ok(Target::Command(command(arguments)?))
}

/// The command; under sudo as the user who called it, with that user's groups and variables.
///
/// # Errors
/// When sudo's variables name no user and group: the command is not run as root instead.
fn command(arguments: &CaptureArgs) -> Result<Command, Failure> {
    let words = arguments.command.clone();
    let variable = |name| std::env::var_os(name);
    let is_root = rustix::process::geteuid().is_root();
    if !is_root || variable("SUDO_UID").is_none() && variable("SUDO_GID").is_none() {
        return Ok(Command { words, ..Command::default() });
    }
    let number = |name| {
        let text = variable(name).unwrap_or_default().to_string_lossy().into_owned();
        // The highest number means "no change" to the kernel.
        let number = text.parse::<u32>().ok().filter(|number| *number != u32::MAX);
        number.ok_or_else(|| {
            Failure::Usage(format!(
                "{name} is '{text}', so it is unknown as which user to run the command; to run it as \
                 root: env -u SUDO_UID -u SUDO_GID seekwell capture …"
            ))
        })
    };
    let (user, group) = (number("SUDO_UID")?, number("SUDO_GID")?);
    let name = std::env::var("SUDO_USER").ok();
    let groups = name.as_deref().and_then(|name| groups(name, group)).unwrap_or_default();
    let environment = of_sudo()
        .map_or_else(|| Environment::Own(of_user(user, name.as_deref())), Environment::Whole);
    Ok(Command { words, user: Some((user, group)), groups, environment })
}

/// Variables with which sudo itself was called: it keeps few of them for its command. `None` when this
/// process is no child of it.
fn of_sudo() -> Option<Vec<(OsString, OsString)>> {
    let sudo = rustix::process::getppid()?.as_raw_nonzero();
    let program = std::fs::read_to_string(format!("/proc/{sudo}/comm")).ok()?;
    if program.trim_end() != "sudo" {
        return None;
    }
    let bytes = std::fs::read(format!("/proc/{sudo}/environ")).ok()?;
    let variables = bytes.split(|byte| *byte == 0).filter_map(|variable| {
        let at = variable.iter().skip(1).position(|byte| *byte == b'=')? + 1;
        let text = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        Some((text(&variable[..at]), text(&variable[at + 1..])))
    });
    Some(variables.collect::<Vec<_>>()).filter(|variables| !variables.is_empty())
}

/// Variables that name the user.
fn of_user(user: u32, name: Option<&str>) -> Vec<(OsString, OsString)> {
    let named = name.into_iter().flat_map(|name| [("USER", name), ("LOGNAME", name)]);
    let mut variables: Vec<_> = named.map(|(key, name)| (key.into(), name.into())).collect();
    variables.extend(home(user).map(|home| ("HOME".into(), home.into())));
    variables
}

/// All groups of a user; `None` for a name that the system does not know.
fn groups(name: &str, group: u32) -> Option<Vec<u32>> {
    const MOST: usize = 65_536;
    let name = CString::new(name).ok()?;
    let mut groups = vec![0; MOST];
    let mut count = libc::c_int::try_from(MOST).ok()?;
    // SAFETY: the name ends with a zero, and the list has room for `count` groups.
    let found =
        unsafe { libc::getgrouplist(name.as_ptr(), group, groups.as_mut_ptr(), &raw mut count) };
    groups.truncate(usize::try_from(count).ok()?);
    (found >= 0).then_some(groups)
}

fn home(user: u32) -> Option<String> {
    let users = std::fs::read_to_string("/etc/passwd").ok()?;
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let mine = users.lines().map(fields).find(|fields| {
        fields.get(2).and_then(|number| number.parse().ok()) == Some(user) && fields.len() > 5
    })?;
    mine.get(5).cloned()
}

/// Numbers of a capture, losses and the next command.
fn told(options: &Options, captured: &Captured) -> String {
    let trace = options.output.display();
    let is_command = matches!(options.target, Target::Command(_));
    let seconds = captured.duration.as_secs_f64();
    let mut text = format!("wrote {trace}: {} events in {seconds:.2} s", captured.events);
    if captured.lost.is_empty() {
        text.push_str(", none lost\n");
    } else {
        text.push('\n');
        for lost in &captured.lost {
            let cpu = lost.cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
            text.push_str(&format!("lost: {} of {}{cpu}\n", lost.count, lost.kind));
        }
        text.push_str("the trace is incomplete; its summary says what that limits\n");
    }
    match captured.ended {
        Ended::Size => text.push_str("ended: the trace has the size of --max-size\n"),
        Ended::Space => text.push_str(
            "ended: the filesystem of the trace has less than 5 % and less than 1 GiB free\n",
        ),
        Ended::Target | Ended::Time | Ended::Stopped => {}
    }
    if is_command && captured.status.is_none() {
        text.push_str("the command still runs\n");
    }
    if let Some(status) = captured.status.filter(|status| !status.success()) {
        text.push_str(&format!("the command ended with {status}\n"));
    }
    text.push_str(&format!("see what kind of load it is: seekwell trace info {trace}\n"));
    text
}

#[cfg(test)]
mod tests;
