//! Findings about a Slurm cluster: programs, controller, partition, shared folder.

use seekwell_host::facts::{Finding, State};
use std::path::Path;

#[cfg(test)]
mod tests;

/// A run on a cluster that is to be looked into.
#[derive(Clone, Debug)]
pub struct ClusterQuestion<'a> {
    /// Partition; `None` is the cluster's default.
    pub partition: Option<&'a str>,
    /// Workers.
    pub nodes: u32,
    /// Directory of the run file.
    pub folder: &'a Path,
    /// True if it is there.
    pub has_folder: bool,
    /// Text of `/proc/self/mountinfo`.
    pub mounts: &'a str,
}

/// Programs of Slurm that a run calls.
const PROGRAMS: [&str; 3] = ["sbatch", "squeue", "scancel"];

/// Oldest version that runs were tried with.
const TRIED: (u32, u32) = (22, 5);

/// Filesystems that other machines can have too.
const SHARED: [&str; 13] = [
    "nfs", "nfs4", "lustre", "beegfs", "ceph", "gpfs", "glusterfs", "cifs", "smb3", "9p", "pvfs2",
    "afs", "wekafs",
];

/// Runs a program with arguments: its output, or the reason why there is none.
pub type Ask<'a> = dyn Fn(&str, &[&str]) -> Result<String, String> + 'a;

/// Findings about the cluster that this machine submits to.
#[must_use]
pub fn slurm_findings(
    question: &ClusterQuestion<'_>,
    has: &dyn Fn(&str) -> bool,
    ask: &Ask<'_>,
) -> Vec<Finding> {
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(|name| !has(name)).collect();
    let folder = shared_folder(question);
    if !missing.is_empty() {
        let detail = format!("{} not found", missing.join(", "));
        let remedy = "install Slurm's commands (Debian: slurm-client) and the cluster's slurm.conf and munge key, or \
                      run this on a login node";
        return vec![finding("slurm commands", State::Missing, detail, Some(remedy)), folder];
    }
    let ready = finding("slurm commands", State::Ready, PROGRAMS.join(", "), None);
    let controller = controller(ask);
    if controller.state == State::Missing {
        return vec![ready, controller, folder];
    }
    let settings = ask("scontrol", &["show", "config"]).unwrap_or_default();
    vec![
        ready,
        controller,
        version(&settings, ask),
        partition(question, ask),
        array(question, &settings),
        folder,
    ]
}

fn finding(what: &str, state: State, detail: String, remedy: Option<&str>) -> Finding {
    Finding { what: what.to_owned(), state, detail, remedy: remedy.map(str::to_owned) }
}

fn controller(ask: &Ask<'_>) -> Finding {
    let what = "slurm controller";
    match ask("scontrol", &["ping"]) {
        Ok(text) if text.contains(" is UP") => {
            let host = text.split_whitespace().nth(2).unwrap_or("it").to_owned();
            finding(what, State::Ready, format!("{host} answers"), None)
        }
        answer => {
            let words = answer.unwrap_or_else(|words| words);
            let words = words.lines().next().unwrap_or("no answer").trim().to_owned();
            let remedy =
                "check SLURM_CONF, the network to the controller, and munge: munge -n | unmunge";
            finding(what, State::Missing, words, Some(remedy))
        }
    }
}

/// Versions of the commands and of the controller.
fn version(settings: &str, ask: &Ask<'_>) -> Finding {
    let what = "slurm version";
    let ours = ask("sbatch", &["--version"]).unwrap_or_default();
    let ours = ours.split_whitespace().next_back().unwrap_or_default().to_owned();
    let theirs = setting(settings, "SLURM_VERSION").unwrap_or_default().to_owned();
    let (Some(here), Some(there)) = (number(&ours), number(&theirs)) else {
        let detail = format!("commands {ours:?}, controller {theirs:?}");
        return finding(what, State::Limited, detail, None);
    };
    if here > there {
        let detail = format!("commands {ours}, controller {theirs}: it refuses newer commands");
        let remedy = "install commands that are not newer than the controller";
        return finding(what, State::Missing, detail, Some(remedy));
    }
    if there < TRIED {
        let detail = format!("{theirs}; runs were tried with {}.{:02} and newer", TRIED.0, TRIED.1);
        return finding(what, State::Limited, detail, None);
    }
    finding(what, State::Ready, theirs, None)
}

/// Year and month of a version.
fn number(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Value of a line `NAME = VALUE`.
fn setting<'a>(settings: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = settings.lines().filter_map(|line| line.split_once('='));
    pairs.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim())
}

/// The partition: name, state, nodes, time limit.
fn partition(question: &ClusterQuestion<'_>, ask: &Ask<'_>) -> Finding {
    let what = "slurm partition";
    let rows = match ask("sinfo", &["--noheader", "--summarize", "--format=%P|%a|%D|%l"]) {
        Ok(text) => text,
        Err(words) => return finding(what, State::Missing, words, None),
    };
    let rows: Vec<Vec<&str>> = rows.lines().map(|row| row.trim().split('|').collect()).collect();
    let name = |row: &[&str]| row[0].trim_end_matches('*').to_owned();
    let rows: Vec<Vec<&str>> = rows.into_iter().filter(|row| row.len() == 4).collect();
    let known = rows.iter().map(|row| name(row)).collect::<Vec<_>>().join(", ");
    let choose = format!("choose one with --partition: {known}");
    let found = rows.iter().find(|row| match question.partition {
        Some(wanted) => name(row) == wanted,
        None => row[0].ends_with('*'),
    });
    let Some(row) = found else {
        let detail = match question.partition {
            Some(wanted) => format!("{wanted} not found"),
            None => "the cluster has no default partition".to_owned(),
        };
        return finding(what, State::Missing, detail, Some(&choose));
    };
    let (name, nodes, limit) = (name(row), row[2], row[3]);
    if row[1] != "up" {
        return finding(what, State::Missing, format!("{name} is {}", row[1]), Some(&choose));
    }
    if nodes == "0" {
        return finding(what, State::Missing, format!("{name} has no nodes"), Some(&choose));
    }
    let limit = match limit {
        "infinite" => "no time limit".to_owned(),
        limit => format!("at most {limit} a job, then the next one continues"),
    };
    finding(what, State::Ready, format!("{name}: {nodes} nodes, {limit}"), None)
}

/// The largest array of jobs.
fn array(question: &ClusterQuestion<'_>, settings: &str) -> Finding {
    let what = "slurm job arrays";
    let most: Option<u32> = setting(settings, "MaxArraySize").and_then(|text| text.parse().ok());
    match most {
        None => finding(what, State::Limited, "MaxArraySize is not known".to_owned(), None),
        Some(most) if question.nodes >= most => {
            let detail = format!("an array has at most {} tasks", most.saturating_sub(1));
            let remedy = match most {
                0 | 1 => "ask for MaxArraySize above 1 in slurm.conf".to_owned(),
                most => format!("use --nodes {} or fewer", most - 1),
            };
            finding(what, State::Missing, detail, Some(&remedy))
        }
        Some(most) => finding(what, State::Ready, format!("up to {} workers", most - 1), None),
    }
}

/// The folder of the run file, which all nodes have to see.
fn shared_folder(question: &ClusterQuestion<'_>) -> Finding {
    let what = "shared folder";
    let folder = question.folder.display();
    if !question.has_folder {
        let remedy = format!("make it where all nodes see it: mkdir -p {folder}");
        return finding(what, State::Missing, format!("{folder} is not there"), Some(&remedy));
    }
    let Some((kind, options)) = mount_of(question.mounts, question.folder) else {
        return finding(what, State::Limited, format!("filesystem of {folder} not known"), None);
    };
    if !SHARED.contains(&kind) && !kind.starts_with("fuse.") {
        let detail = format!(
            "{folder} is on {kind}, which other machines see only if they mount it from here"
        );
        let remedy = "write the run file where all nodes see it: -o /shared/NAME.seekwell";
        return finding(what, State::Limited, detail, Some(remedy));
    }
    let is_late = kind.starts_with("nfs") && !prompt(options);
    let detail = format!("{folder} is on {kind}");
    if is_late {
        let detail = format!("{detail}, where workers see new trials up to a minute late");
        return finding(what, State::Limited, detail, Some("mount it with actimeo=1"));
    }
    finding(what, State::Ready, detail, None)
}

/// True if what NFS remembers of folders is at most three seconds old.
fn prompt(options: &str) -> bool {
    let seconds = |name: &str| {
        let mut values = options.split(',').filter_map(|option| option.strip_prefix(name));
        values.find_map(|value| value.strip_prefix('=')?.parse::<u32>().ok())
    };
    let is_short = |name: &str| seconds(name).is_some_and(|seconds| seconds <= 3);
    options.split(',').any(|option| option == "noac") || is_short("actimeo") || is_short("acdirmax")
}

/// Type and options of the filesystem that a path is on.
fn mount_of<'a>(mounts: &'a str, path: &Path) -> Option<(&'a str, &'a str)> {
    let mut best: Option<(usize, &str, &str)> = None;
    for line in mounts.lines() {
        let Some((left, right)) = line.split_once(" - ") else { continue };
        let Some(point) = left.split(' ').nth(4) else { continue };
        let mut of_type = right.split(' ');
        let (Some(kind), options) = (of_type.next(), of_type.nth(1).unwrap_or_default()) else {
            continue;
        };
        let depth = Path::new(point).components().count();
        // Of mounts at one place the last one is seen.
        if path.starts_with(point) && best.is_none_or(|(deepest, ..)| depth >= deepest) {
            best = Some((depth, kind, options));
        }
    }
    best.map(|(_, kind, options)| (kind, options))
}
