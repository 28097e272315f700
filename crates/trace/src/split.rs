//! A trace as several: one for each process, or for each directory.

use crate::error::TraceError;
use crate::event::{Event, FileEntry, FileId};
use crate::fast::FastMap;
use crate::meta::Meta;
use crate::read::Trace;
use crate::write::{Limits, TraceWriter};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

/// Most parts; what has the fewest calls is together in the last one. Each keeps rows in memory.
const PARTS: usize = 64;
/// Rows in memory of each part: 64 parts take 100 MiB.
const ROWS: usize = 16 << 10;
/// Name of the part with what belongs to no other.
const REST: &str = "rest";
const S_IFMT: u32 = 0o170_000;
const S_IFDIR: u32 = 0o040_000;

/// Parts of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Each process.
    Process,
    /// Each directory below the one that all files of the trace have in common.
    Path,
}

/// A part that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name of its folder.
    pub name: String,
    /// Calls and requests.
    pub events: u64,
}

/// Writes the parts of `trace` as traces in the folder `output`, as a stream; those with the most
/// calls first.
///
/// # Errors
/// When a segment is damaged or the output cannot be written.
pub fn split(trace: &Trace, output: &Path, by: By) -> Result<Vec<Part>, TraceError> {
    let is_empty = std::fs::read_dir(output).map_or(true, |mut entries| entries.next().is_none());
    if !is_empty {
        return Err(TraceError::Exists { path: output.to_owned() });
    }
    let files = trace.files()?;
    let keys = Keys::of(trace, &files, by)?;
    let mut meta = trace.meta().clone();
    meta.gaps.push(match by {
        By::Process => "a part of a split trace: other processes are not in it".to_owned(),
        By::Path => {
            meta.requests = false;
            "a part of a split trace: other directories and all block requests are not in it"
                .to_owned()
        }
    });
    let mut writers = Vec::new();
    for name in &keys.names {
        writers.push(Writing::create(&output.join(name), &meta, files.len())?);
    }
    write_rows(trace, &files, &keys, by, &mut writers)?;
    let mut parts = Vec::new();
    for (writing, name) in writers.into_iter().zip(keys.names) {
        parts.push(Part { name, events: writing.writer.events() });
        writing.writer.finish(&meta)?;
    }
    Ok(parts)
}

/// A part that is being written.
struct Writing {
    writer: TraceWriter,
    /// Files that it has.
    written: Vec<bool>,
    processes: HashSet<u32>,
}

impl Writing {
    fn create(folder: &Path, meta: &Meta, files: usize) -> Result<Self, TraceError> {
        let limits = Limits { rows: ROWS, ..Limits::default() };
        let writer = TraceWriter::create(folder, meta, limits)?;
        Ok(Self { writer, written: vec![false; files], processes: HashSet::new() })
    }
}

fn write_rows(
    trace: &Trace,
    files: &[FileEntry],
    keys: &Keys,
    by: By,
    writers: &mut [Writing],
) -> Result<(), TraceError> {
    // Hashes of the paths of each part's files, and of the directories above them.
    let (seed, mut named) = (RandomState::new(), HashSet::new());
    trace.events(|event| {
        let part = keys.part(&event);
        let writing = &mut writers[part];
        for file in [event.file, event.to_file].into_iter().flatten() {
            if let Ok(at) = files.binary_search_by_key(&file, |entry| entry.id)
                && !std::mem::replace(&mut writing.written[at], true)
            {
                writing.writer.file(files[at].clone());
                let path = files[at].path.as_deref().unwrap_or_default();
                named.extend(Path::new(path).ancestors().map(|path| seed.hash_one((part, path))));
            }
        }
        writing.processes.insert(event.process);
        writing.writer.event(event)
    })?;
    if by == By::Process {
        trace.requests(|request| {
            let part = request.process.map_or(keys.rest(), |process| keys.of_process(process));
            writers[part].processes.extend(request.process);
            writers[part].writer.request(request)
        })?;
    }
    for process in trace.processes()? {
        let has = |writing: &&mut Writing| writing.processes.contains(&process.process);
        writers.iter_mut().filter(has).for_each(|writing| writing.writer.process(process.clone()));
    }
    trace.initial(|entry| {
        writers.iter_mut().enumerate().try_for_each(|(part, writing)| {
            if named.contains(&seed.hash_one((part, Path::new(&entry.path)))) {
                writing.writer.initial(entry.clone())?;
            }
            Ok(())
        })
    })
}

/// Part of each process, or of each file.
struct Keys {
    processes: FastMap<u32, usize>,
    files: FastMap<FileId, usize>,
    names: Vec<String>,
}

impl Keys {
    fn of(trace: &Trace, files: &[FileEntry], by: By) -> Result<Self, TraceError> {
        let mut counts: FastMap<u32, u64> = FastMap::default();
        let mut keys =
            Self { processes: FastMap::default(), files: FastMap::default(), names: Vec::new() };
        if by == By::Process {
            trace.events(|event| {
                *counts.entry(event.process).or_default() += 1;
                Ok(())
            })?;
            let named: HashMap<u32, String> = trace
                .processes()?
                .into_iter()
                .filter_map(|entry| Some((entry.process, entry.name?)))
                .collect();
            for (part, process) in most(counts).into_iter().enumerate() {
                let name = named.get(&process).map_or("", String::as_str);
                keys.add(&format!("{process} {name}"));
                keys.processes.insert(process, part);
            }
        } else {
            let directories = directories(files);
            trace.events(|event| {
                let file = event.file.or(event.to_file);
                if let Some(at) = file.and_then(|file| directories.of.get(&file)) {
                    *counts.entry(*at).or_default() += 1;
                }
                Ok(())
            })?;
            let mut parts = FastMap::default();
            for (part, at) in most(counts).into_iter().enumerate() {
                keys.add(&directories.names[at as usize]);
                parts.insert(at, part);
            }
            let of = directories.of.iter();
            keys.files = of.filter_map(|(file, at)| Some((*file, *parts.get(at)?))).collect();
        }
        keys.names.push(REST.to_owned());
        Ok(keys)
    }

    /// Adds a part with a name like this one that no other has.
    fn add(&mut self, name: &str) {
        let plain = |letter: char| {
            if letter.is_alphanumeric() || "._-".contains(letter) { letter } else { '-' }
        };
        let name: String = name.trim().trim_matches('/').chars().map(plain).take(80).collect();
        let name = match name.trim_start_matches('.') {
            "" => "root",
            REST => "rest-1",
            name => name,
        };
        let taken = |name: &str| self.names.iter().any(|other| other == name);
        let mut unique = name.to_owned();
        let mut nth = 2;
        while taken(&unique) {
            unique = format!("{name}-{nth}");
            nth += 1;
        }
        self.names.push(unique);
    }

    fn rest(&self) -> usize {
        self.names.len() - 1
    }

    fn of_process(&self, process: u32) -> usize {
        self.processes.get(&process).copied().unwrap_or(self.rest())
    }

    fn part(&self, event: &Event) -> usize {
        if !self.processes.is_empty() {
            return self.of_process(event.process);
        }
        let file = event.file.or(event.to_file);
        file.and_then(|file| self.files.get(&file)).copied().unwrap_or(self.rest())
    }
}

/// The keys with the most calls, at most as many as there are parts besides the rest.
fn most(counts: FastMap<u32, u64>) -> Vec<u32> {
    let mut counts: Vec<(u32, u64)> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|(key, count)| (std::cmp::Reverse(*count), *key));
    counts.truncate(PARTS - 1);
    counts.into_iter().map(|(key, _)| key).collect()
}

/// Directories below the common one.
struct Directories {
    names: Vec<String>,
    /// Place in `names` of the directory of each file.
    of: FastMap<FileId, u32>,
}

fn directories(files: &[FileEntry]) -> Directories {
    let on_disk = || files.iter().filter(|file| crate::info::on_disk(file));
    let mut common: Option<&Path> = None;
    for file in on_disk() {
        let Some(folder) = folder(file) else { continue };
        common = Some(common.map_or(folder, |common| {
            let both = common.ancestors().find(|above| folder.starts_with(above));
            both.unwrap_or(Path::new("/"))
        }));
    }
    let common = common.unwrap_or(Path::new("/"));
    let mut all = Directories { names: Vec::new(), of: FastMap::default() };
    let mut places: HashMap<&Path, u32> = HashMap::new();
    for file in on_disk() {
        let Some(folder) = folder(file) else { continue };
        // The common directory is the part of the files in it.
        let depth = common.components().count() + 1;
        let end = folder.ancestors().find(|above| above.components().count() <= depth);
        let directory = end.unwrap_or(common);
        let next = u32::try_from(all.names.len()).unwrap_or(u32::MAX);
        let at = *places.entry(directory).or_insert(next);
        if at == next {
            all.names.push(directory.to_string_lossy().into_owned());
        }
        all.of.insert(file.id, at);
    }
    all
}

/// The directory of a file, which of a directory is itself; `None` without an absolute path.
fn folder(file: &FileEntry) -> Option<&Path> {
    let path = Path::new(file.path.as_deref().filter(|path| path.starts_with('/'))?);
    let is_directory = file.mode.is_some_and(|mode| mode & S_IFMT == S_IFDIR);
    if is_directory { Some(path) } else { path.parent() }
}

#[cfg(test)]
mod tests;
