//! Cgroups of units and containers (docker, podman, Kubernetes) by name, and the places of a
//! container's directories outside.

use crate::error::CaptureError;
use seekwell_trace::meta::Mount;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Root of all cgroups.
pub(crate) const CGROUPS: &str = "/sys/fs/cgroup";
/// Names in the message about one that is not there.
const SIMILAR: usize = 5;
/// Digits of an id that are enough to find it.
const DIGITS: usize = 12;
/// Filesystems of the kernel, of which nothing is on a device.
const OF_KERNEL: [&str; 9] =
    ["proc", "sysfs", "tmpfs", "devpts", "devtmpfs", "mqueue", "cgroup", "cgroup2", "securityfs"];

/// Root of the cgroups of version 2, of which programs can be chosen: below [`CGROUPS`] where the machine
/// has those of version 1 as well.
pub(crate) fn root() -> PathBuf {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    root_in(&mounts).unwrap_or_else(|| CGROUPS.into())
}

fn root_in(mounts: &str) -> Option<PathBuf> {
    let roots = mounts.lines().filter_map(mounted).filter(|mount| mount.kind == "cgroup2");
    roots.map(|mount| mount.point).find(|point| point.starts_with(CGROUPS))
}

/// The cgroup of a systemd unit, by its name with or without `.service`, or of a container, by the
/// first 12 or more digits of its id. The name of a template, as `postgresql` of
/// `postgresql@15-main.service`, stands for all units that are made of it.
///
/// # Errors
/// When there is none.
pub fn cgroup_of(name: &str) -> Result<PathBuf, CaptureError> {
    cgroup_below(&root(), name)
}

fn cgroup_below(root: &Path, name: &str) -> Result<PathBuf, CaptureError> {
    let service = format!("{name}.service");
    // systemd writes a minus in the name of a template so.
    let template = name.strip_suffix(".service").unwrap_or(name).trim_end_matches('@');
    let slice = format!("system-{}.slice", template.replace('-', "\\x2d"));
    let is_id = name.len() >= DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = |found: &str| found == name || found == service || (is_id && found.contains(name));
    let (mut of_template, mut similar) = (None, Vec::new());
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                continue;
            }
            let (found, path) = (entry.file_name(), entry.path());
            let found = found.to_string_lossy();
            if named(&found) {
                return Ok(path);
            }
            if found == slice {
                of_template = Some(path.clone());
            } else if !name.is_empty() && found.contains(name) && !found.ends_with(".slice") {
                similar.push(found.into_owned());
            }
            left.push(path);
        }
    }
    similar.sort();
    similar.truncate(SIMILAR);
    of_template.ok_or_else(|| {
        let but = if similar.is_empty() { "" } else { ", but of " };
        CaptureError::NotStarted(format!(
            "no cgroup of {name} below /sys/fs/cgroup{but}{}; name a running unit (`systemctl list-units`) or \
             a running container by name or the first 12 digits of its id (`docker ps`)",
            similar.join(", ")
        ))
    })
}

/// The cgroup of a container, by its name or by the first 12 or more digits of its id. In Kubernetes
/// the name is that of the pod, POD/CONTAINER, or NAMESPACE/POD/CONTAINER.
///
/// # Errors
/// When there is none, or several have the name.
pub fn cgroup_of_container(name: &str) -> Result<PathBuf, CaptureError> {
    let mut ids = ids(Path::new("/"), name);
    ids.sort();
    ids.dedup();
    match ids.as_slice() {
        [] => cgroup_of(name),
        [id] => cgroup_of(&id[..id.len().min(64)]),
        _ => Err(CaptureError::NotStarted(format!(
            "{} containers are named {name}; give the id of one: {}",
            ids.len(),
            ids.join(", ")
        ))),
    }
}

/// Ids of the containers with this name, from the files that their programs keep below `root`.
fn ids(root: &Path, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in entries(&root.join("var/lib/docker/containers")) {
        let config = json(&entry.join("config.v2.json"));
        let own = config.as_ref().and_then(|config| config.get("Name")?.as_str());
        let id = entry.file_name().and_then(|name| name.to_str());
        if own.is_some_and(|own| own.trim_start_matches('/') == name) {
            found.extend(id.map(str::to_owned));
        }
    }
    let storage = "containers/storage/overlay-containers/containers.json";
    let homes = entries(&root.join("home")).into_iter().map(|home| home.join(".local/share"));
    for share in [root.join("var/lib"), root.join("root/.local/share")].into_iter().chain(homes) {
        let list = json(&share.join(storage));
        for container in list.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let names = container.get("names").and_then(Value::as_array).into_iter().flatten();
            if names.into_iter().any(|own| own.as_str() == Some(name)) {
                found.extend(container.get("id").and_then(Value::as_str).map(str::to_owned));
            }
        }
    }
    // POD_NAMESPACE_CONTAINER-ID.log, as the kubelet links them.
    for entry in entries(&root.join("var/log/containers")) {
        let file = entry.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some((names, id)) = file.strip_suffix(".log").and_then(|file| file.rsplit_once('-'))
        else {
            continue;
        };
        let names: Vec<&str> = names.split('_').collect();
        let &[pod, space, container] = names.as_slice() else { continue };
        let whole = [space, pod, container].join("/");
        if pod == name || whole == name || whole.split_once('/').is_some_and(|(_, to)| to == name) {
            found.push(id.to_owned());
        }
    }
    found.retain(|id| id.len() >= DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Places outside of the directories that the processes of a cgroup see; none when they see what this
/// process sees.
pub(crate) fn mounts(cgroup: &Path) -> Vec<Mount> {
    let space = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/mnt")).ok();
    let Some(process) = process_of(cgroup) else { return Vec::new() };
    if space(&process).is_none() || space(&process) == space("self") {
        return Vec::new();
    }
    let read = |process: &str| std::fs::read_to_string(format!("/proc/{process}/mountinfo"));
    match (read(&process), read("self")) {
        (Ok(inside), Ok(outside)) => joined(&inside, &outside),
        _ => Vec::new(),
    }
}

/// A process in a cgroup or below: podman keeps those of a container in a cgroup of their own.
fn process_of(cgroup: &Path) -> Option<String> {
    let mut left = vec![cgroup.to_owned()];
    while let Some(folder) = left.pop() {
        let processes = std::fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
        if let Some(process) = processes.lines().next() {
            return Some(process.to_owned());
        }
        left.extend(entries(&folder).into_iter().filter(|path| path.is_dir()));
    }
    None
}

/// A line of `/proc/PID/mountinfo`.
struct Mounted<'a> {
    device: &'a str,
    /// Directory of the filesystem that is mounted.
    root: PathBuf,
    point: PathBuf,
    kind: &'a str,
}

fn mounted(line: &str) -> Option<Mounted<'_>> {
    let (fields, rest) = line.split_once(" - ")?;
    let mut fields = fields.split(' ').skip(2);
    let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
    let kind = rest.split(' ').next()?;
    Some(Mounted { device, root: unescaped(root), point: unescaped(point), kind })
}

/// The kernel writes blanks, tabs, line ends and backslashes as `\040` and so on.
fn unescaped(text: &str) -> PathBuf {
    let escapes = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    escapes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to)).into()
}

/// Joins the mounts of two namespaces by device and directory.
fn joined(inside: &str, outside: &str) -> Vec<Mount> {
    let host: Vec<Mounted<'_>> = outside.lines().filter_map(mounted).collect();
    let mut found = Vec::new();
    for mount in inside.lines().filter_map(mounted) {
        if OF_KERNEL.contains(&mount.kind) {
            continue;
        }
        let places = host.iter().filter_map(|above| {
            let rest = mount.root.strip_prefix(&above.root).ok()?;
            (above.device == mount.device).then(|| (above.root.components().count(), above, rest))
        });
        // The mount that shows least of the rest is the nearest one.
        let Some((_, above, rest)) = places.max_by_key(|(depth, ..)| *depth) else { continue };
        let place =
            if rest.as_os_str().is_empty() { above.point.clone() } else { above.point.join(rest) };
        found.push(Mount {
            inside: mount.point.to_string_lossy().into_owned(),
            outside: place.to_string_lossy().into_owned(),
        });
    }
    found
}

/// The path inside of a path outside; `None` for one that is not to be seen there.
pub(crate) fn inside(mounts: &[Mount], outside: &str) -> Option<String> {
    let fits = mounts.iter().filter_map(|mount| {
        let rest = Path::new(outside).strip_prefix(&mount.outside).ok()?;
        Some((mount.outside.len(), mount, rest))
    });
    let (_, mount, rest) = fits.max_by_key(|(length, ..)| *length)?;
    let path = Path::new(&mount.inside).join(rest);
    let text = path.to_string_lossy();
    Some(if text.len() > 1 { text.trim_end_matches('/').to_owned() } else { text.into_owned() })
}

#[cfg(test)]
mod tests;
