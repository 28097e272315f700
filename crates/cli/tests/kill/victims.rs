//! A run under way, and its processes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait for a chosen moment, also on an emulated machine; a run that never gets there has failed.
const MOMENT: Duration = Duration::from_secs(600);

/// Between two looks at the processes: short against the shortest program that is waited for.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    Runner,
    Agent,
    Guardian,
    /// The programs that the agent has started: the workload's, or mkfs.
    Workload,
}

impl Who {
    pub const ALL: [Self; 4] = [Self::Runner, Self::Agent, Self::Guardian, Self::Workload];
}

pub struct Run {
    child: Child,
    talk: Receiver<String>,
    heard: Vec<String>,
}

pub fn process_ids() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

fn arguments(pid: u32) -> Vec<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    bytes.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

/// Parent process id and command name of a process.
fn stat(pid: u32) -> Option<(u32, String)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (front, back) = text.rsplit_once(')')?;
    let name = front.split_once('(')?.1.to_owned();
    Some((back.split_whitespace().nth(1)?.parse().ok()?, name))
}

/// Returns true for a process of such a name that does more than tell its version, which programs are
/// asked for before the first trial.
fn works(pid: u32, is_named: impl Fn(&str) -> bool) -> bool {
    const ASKS: [&str; 4] = ["-V", "--version", "version", "--help"];
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let asks = |word: &[u8]| ASKS.iter().any(|ask| ask.as_bytes() == word);
    stat(pid).is_some_and(|(_, name)| is_named(&name)) && !line.split(|byte| *byte == 0).any(asks)
}

/// Children of a process, their children, and so on, as far as the kernel keeps lists of them. To look
/// at every process of an emulated machine takes longer than most programs run.
fn listed_below(ancestor: u32) -> Option<Vec<u32>> {
    let mut found = vec![];
    let mut left = vec![ancestor];
    while let Some(pid) = left.pop() {
        let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else { continue };
        for thread in threads.flatten() {
            match std::fs::read_to_string(thread.path().join("children")) {
                Ok(list) => {
                    left.extend(list.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()))
                }
                // The process has ended meanwhile, unless it is this kernel that has no such lists.
                Err(_) if Path::new("/proc/thread-self/children").exists() => {}
                Err(_) => return None,
            }
        }
        found.push(pid);
    }
    found.retain(|pid| *pid != ancestor);
    Some(found)
}

/// Processes below another.
fn below(ancestor: u32) -> Vec<u32> {
    listed_below(ancestor).unwrap_or_else(|| {
        process_ids().into_iter().filter(|pid| is_below(*pid, ancestor)).collect()
    })
}

/// Returns true for a child of a process, a child's child, and so on.
fn is_below(pid: u32, ancestor: u32) -> bool {
    let mut pid = pid;
    while let Some((parent, _)) = stat(pid) {
        if parent == ancestor {
            return true;
        }
        if parent <= 1 {
            return false;
        }
        pid = parent;
    }
    false
}

fn kill(pid: u32) {
    signal(pid, "-KILL");
}

fn signal(pid: u32, signal: &str) {
    // A victim that has ended by itself meanwhile is no harm.
    let _ = Command::new("kill").args([signal, &pid.to_string()]).stderr(Stdio::null()).status();
}

impl Run {
    /// Starts the run, or goes on with it when the run file is there.
    pub fn start(binary: &Path, directory: &Path, run_file: &Path) -> Self {
        let mut command = Command::new(binary);
        command.arg("run");
        if run_file.exists() {
            command.arg("--resume");
        } else {
            command.arg("lab.toml");
        }
        let mut child = command
            .arg("-o")
            .arg(run_file)
            .current_dir(directory)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, talk) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, talk, heard: vec![] }
    }

    pub fn wait(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    fn talk_so_far(&mut self) -> String {
        self.heard.extend(self.talk.try_iter());
        self.heard.join("\n")
    }

    /// Waits until a program with one of these names runs below the runner.
    pub fn wait_for_program(&mut self, prefixes: &[&str]) {
        let runner = self.child.id();
        let is_it = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix));
        self.wait_until(&prefixes.join(" or "), || {
            below(runner).into_iter().any(|pid| works(pid, is_it))
        });
    }

    /// Waits until this is true of the agent.
    pub fn wait_for_agent(&mut self, name: &str, is_true: impl Fn(u32) -> bool) {
        let runner = self.child.id();
        let is_agent = |pid: &u32| arguments(*pid).get(1).is_some_and(|word| word == "agent");
        let agents = || below(runner).into_iter().filter(is_agent);
        self.wait_until(name, || agents().any(&is_true));
    }

    /// Asks the run to end, as Ctrl-C does.
    pub fn interrupt(&self) {
        signal(self.child.id(), "-INT");
    }

    /// Waits until this is there; a run that ends before has failed.
    pub fn wait_until(&mut self, name: &str, is_there: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_there() {
            let ended = self.child.try_wait().unwrap();
            let talk = self.talk_so_far();
            assert!(
                ended.is_none() && begun.elapsed() < MOMENT,
                "no {name} was seen ({ended:?}):\n{talk}"
            );
            sleep(LOOK_AGAIN);
        }
    }

    /// Waits until a program has run and ended: what follows it is under way. After mkfs that is
    /// the mount, which takes a few milliseconds.
    pub fn wait_for_the_end_of(&mut self, prefix: &str) {
        self.wait_for_program(&[prefix]);
        let begun = Instant::now();
        let runs = |pid: u32| works(pid, |name| name.starts_with(prefix));
        while below(self.child.id()).into_iter().any(runs) {
            assert!(begun.elapsed() < MOMENT, "{prefix} does not end");
            sleep(LOOK_AGAIN);
        }
    }

    fn find(&self, word: &str) -> Vec<u32> {
        let matches = |pid: &u32| arguments(*pid).get(1).is_some_and(|argument| argument == word);
        below(self.child.id()).into_iter().filter(matches).collect()
    }

    /// Processes below the runner that run another program than this one.
    fn programs(&self) -> Vec<u32> {
        let program = |pid: u32| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
        let ours = program(self.child.id());
        let is_other = |pid: &u32| {
            let theirs = program(*pid);
            theirs.is_some() && theirs != ours
        };
        below(self.child.id()).into_iter().filter(is_other).collect()
    }

    fn processes(&self, who: &[Who]) -> Vec<u32> {
        let of = |victim: &Who| match victim {
            Who::Runner => vec![self.child.id()],
            Who::Agent => self.find("agent"),
            Who::Guardian => self.find("guardian"),
            Who::Workload => self.programs(),
        };
        who.iter().flat_map(of).collect()
    }

    /// Kills these at once. Who is not there at this moment, as the agent between two trials, is
    /// not killed.
    pub fn kill(&mut self, who: &[Who]) -> usize {
        let pids = self.processes(who);
        pids.iter().copied().for_each(kill);
        pids.len()
    }

    /// Stops these for a time, as `SIGSTOP`, a debugger or a frozen group does; returns how many.
    pub fn pause(&mut self, who: &[Who], time: Duration) -> usize {
        let pids = self.processes(who);
        pids.iter().for_each(|pid| signal(*pid, "-STOP"));
        std::thread::sleep(time);
        pids.iter().for_each(|pid| signal(*pid, "-CONT"));
        pids.len()
    }

    /// Waits until the run is over by itself, and returns its exit status with what it said.
    pub fn finish(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        (status.code(), self.talk_so_far())
    }

    /// Ends the runner, if it still runs, as Ctrl-C would not: at once.
    pub fn end(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            kill(self.child.id());
        }
        self.child.wait().unwrap();
    }
}
