//! All sequences of up to a few file system operations, each with a sync at its end: the bounded space of `CrashMonkey`'s
//! ACE (Mohan and others, OSDI 2018), on a few names in two directories.

use std::collections::{BTreeMap, BTreeSet};

use seekwell_model::workloads::calls::{Call, CallKind};
use seekwell_stats::seeded;

#[cfg(test)]
mod tests;

/// Names of both directories: two files, and a directory that may hold a file.
const PATHS: [&str; 6] = ["A/foo", "A/bar", "A/C", "B/foo", "B/bar", "B/C"];
const FILES: [usize; 4] = [0, 1, 3, 4];
const DIRECTORIES: [usize; 2] = [2, 5];

/// Size of a file that is there before the first operation.
const INITIAL_BYTES: u64 = 12 << 10;
const BLOCK_BYTES: u64 = 4096;

/// Kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Creat,
    Append,
    Overwrite,
    /// Across a block boundary, at no multiple of a sector.
    Unaligned,
    Shrink,
    Grow,
    Allocate,
    Reserve,
    Punch,
    Zero,
    Unlink,
    Link,
    Rename,
    /// Rename over a file.
    Replace,
    Mkdir,
    Rmdir,
    /// Rename of a directory.
    Move,
}

impl Kind {
    const OF_A_FILE: [Self; 11] = [
        Self::Creat,
        Self::Append,
        Self::Overwrite,
        Self::Unaligned,
        Self::Shrink,
        Self::Grow,
        Self::Allocate,
        Self::Reserve,
        Self::Punch,
        Self::Zero,
        Self::Unlink,
    ];
    const OF_TWO_FILES: [Self; 3] = [Self::Link, Self::Rename, Self::Replace];

    /// True if it changes the data or the size of a file.
    fn is_of_data(self) -> bool {
        (Self::Append..=Self::Zero).contains(&self)
    }
}

/// An operation on one or two of [`PATHS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Operation {
    kind: Kind,
    path: usize,
    to: Option<usize>,
}

/// Every operation.
fn operations() -> Vec<Operation> {
    let mut all = Vec::new();
    let mut add = |kinds: &[Kind], path: usize, to: Option<usize>| {
        all.extend(kinds.iter().map(|kind| Operation { kind: *kind, path, to }));
    };
    for path in FILES {
        add(&Kind::OF_A_FILE, path, None);
        let others = FILES.into_iter().filter(|to| *to != path);
        others.for_each(|to| add(&Kind::OF_TWO_FILES, path, Some(to)));
    }
    let [one, other] = DIRECTORIES;
    for (path, to) in [(one, other), (other, one)] {
        add(&[Kind::Mkdir, Kind::Rmdir], path, None);
        add(&[Kind::Move], path, Some(to));
    }
    all
}

impl Operation {
    /// The same operation with the directories exchanged, and the files of each.
    fn image(self, [directories, in_a, in_b]: [bool; 3]) -> Self {
        let map = |path: usize| {
            let (directory, name) = (path / 3, path % 3);
            let is_exchanged = if directory == 0 { in_a } else { in_b } && name < 2;
            let name = if is_exchanged { 1 - name } else { name };
            3 * if directories { 1 - directory } else { directory } + name
        };
        Self { path: map(self.path), to: self.to.map(map), ..self }
    }
}

/// True for the first of all sequences that differ by exchanged names alone.
fn is_first(operations: &[Operation]) -> bool {
    (1..8).all(|bits| {
        let exchanged = [1, 2, 4].map(|bit| bits & bit > 0);
        !operations.iter().map(|one| one.image(exchanged)).lt(operations.iter().copied())
    })
}

/// Names as the operations leave them, and the calls that make what they need before them.
#[derive(Clone, Debug, Default)]
struct Tree {
    /// Files with their sizes; directories have none.
    names: BTreeMap<String, Option<usize>>,
    sizes: Vec<u64>,
    /// Names whose presence before the first operation is settled.
    settled: BTreeSet<String>,
    before: Vec<Call>,
}

impl Tree {
    fn add_file(&mut self, path: &str, bytes: u64) {
        self.names.insert(path.to_owned(), Some(self.sizes.len()));
        self.sizes.push(bytes);
    }

    /// A file that is there, made before the first operation if none has had its name.
    fn file(&mut self, path: &str) -> Option<usize> {
        if self.settled.insert(path.to_owned()) {
            self.before.push(Call::new(CallKind::Creat, path));
            self.before.push(Call::new(CallKind::Write, path).at(0, INITIAL_BYTES));
            self.add_file(path, INITIAL_BYTES);
        }
        *self.names.get(path)?
    }

    fn directory(&mut self, path: &str, with_file: bool) -> Option<()> {
        if self.settled.insert(path.to_owned()) {
            self.before.push(Call::new(CallKind::Mkdir, path));
            self.names.insert(path.to_owned(), None);
            if with_file {
                self.file(&format!("{path}/foo"));
            }
        }
        self.names.contains_key(path).then_some(())
    }

    fn absent(&mut self, path: &str) -> Option<()> {
        self.settled.insert(path.to_owned());
        (!self.names.contains_key(path)).then_some(())
    }

    /// Names below a directory.
    fn below(&self, path: &str) -> Vec<String> {
        let below = format!("{path}/");
        self.names.keys().filter(|name| name.starts_with(&below)).cloned().collect()
    }

    /// Makes an operation; `None` if it is not possible.
    fn apply(&mut self, operation: Operation) -> Option<Call> {
        let path = PATHS[operation.path];
        let call = |kind| Call::new(kind, path);
        if let Some(to) = operation.to.map(|to| PATHS[to]) {
            return self.name(operation.kind, path, to);
        }
        match operation.kind {
            Kind::Creat => {
                self.absent(path)?;
                self.add_file(path, 0);
                Some(call(CallKind::Creat))
            }
            Kind::Unlink => {
                self.file(path)?;
                self.names.remove(path);
                Some(call(CallKind::Unlink))
            }
            Kind::Mkdir => {
                self.absent(path)?;
                self.names.insert(path.to_owned(), None);
                Some(call(CallKind::Mkdir))
            }
            Kind::Rmdir => {
                self.directory(path, false)?;
                self.names.remove(path);
                self.below(path).is_empty().then(|| call(CallKind::Rmdir))
            }
            kind => self.change(kind, path),
        }
    }

    fn name(&mut self, kind: Kind, path: &str, to: &str) -> Option<Call> {
        if kind == Kind::Move {
            self.directory(path, true)?
        } else {
            self.file(path).map(drop)?
        }
        if kind == Kind::Replace {
            self.file(to).map(drop)?
        } else {
            self.absent(to)?
        }
        if kind == Kind::Link {
            self.names.insert(to.to_owned(), self.names[path]);
            return Some(Call::new(CallKind::Link, path).to(to));
        }
        // Both names of one file: rename does nothing then.
        if self.names.get(to).is_some_and(|there| *there == self.names[path]) {
            return None;
        }
        for old in self.below(path).into_iter().chain([path.to_owned()]) {
            let new = format!("{to}{}", &old[path.len()..]);
            let moved = self.names.remove(&old)?;
            self.settled.insert(new.clone());
            self.names.insert(new, moved);
        }
        Some(Call::new(CallKind::Rename, path).to(to))
    }

    /// Changes data or size; `None` if the file is too short to be changed this way.
    fn change(&mut self, kind: Kind, path: &str) -> Option<Call> {
        let file = self.file(path)?;
        let size = self.sizes[file];
        let (kind, least, at, bytes, new_size) = match kind {
            Kind::Append => (CallKind::Write, 0, size, BLOCK_BYTES, size + BLOCK_BYTES),
            Kind::Overwrite => (CallKind::Write, BLOCK_BYTES, 0, BLOCK_BYTES, size),
            Kind::Unaligned => (CallKind::Write, 6000, 1000, 5000, size),
            Kind::Shrink => (CallKind::Truncate, 5001, 5000, 0, 5000),
            Kind::Grow => (CallKind::Truncate, 0, size + 6000, 0, size + 6000),
            Kind::Allocate => (CallKind::Allocate, 0, size, 8192, size + 8192),
            Kind::Reserve => (CallKind::Reserve, 0, size, 8192, size),
            Kind::Punch => (CallKind::Punch, 8192, BLOCK_BYTES, BLOCK_BYTES, size),
            _ => (CallKind::Zero, 8192, BLOCK_BYTES, BLOCK_BYTES, size),
        };
        self.sizes[file] = new_size;
        (size >= least).then(|| Call::new(kind, path).at(at, bytes))
    }

    fn has(&self, path: &str) -> bool {
        ["", "A", "B"].contains(&path) || self.names.contains_key(path)
    }
}

/// Syncs that may follow the last of these operations: after others of them at most one of its file or directory, and of
/// everything.
fn syncs(tree: &Tree, operations: &[Operation], is_last: bool) -> Vec<Option<Call>> {
    let from = if is_last { 0 } else { operations.len() - 1 };
    let named = operations[from..].iter().flat_map(|one| one.to.into_iter().chain([one.path]));
    let named: BTreeSet<&str> = named.map(|path| PATHS[path]).collect();
    let below = named.iter().flat_map(|path| tree.below(path));
    let mut paths: Vec<String> = below.collect();
    paths.extend(named.iter().filter(|path| tree.has(path)).map(|path| (*path).to_owned()));
    let files = paths.clone().into_iter().filter(|path| tree.names[path].is_some());
    let files: Vec<String> = files.collect();
    let parents: BTreeSet<&str> = named.iter().map(|path| &path[..1]).collect();
    paths.extend(parents.into_iter().map(str::to_owned));
    if !is_last {
        paths.truncate(1);
    }
    let fsync = |path: &String| Call::new(CallKind::Fsync, path);
    let mut all: Vec<Option<Call>> = paths.iter().map(fsync).map(Some).collect();
    if is_last && operations.iter().any(|one| one.kind.is_of_data()) {
        all.extend(files.iter().map(|path| Some(Call::new(CallKind::Fdatasync, path))));
    }
    all.push(Some(Call::new(CallKind::Sync, "")));
    all.extend((!is_last).then_some(None));
    all
}

/// Operations, and the sync behind each; the last has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    steps: Vec<(Operation, Option<Call>)>,
}

impl Sequence {
    /// The calls: first those that make what the operations need, and a `sync`. `None` if it is not possible.
    #[must_use]
    pub fn calls(&self) -> Option<Vec<Call>> {
        let mut tree = Tree::default();
        let mut calls = Vec::new();
        for (operation, sync) in &self.steps {
            calls.push(tree.apply(*operation)?);
            if sync.as_ref().is_some_and(|sync| !tree.has(&sync.path)) {
                return None;
            }
            calls.extend(sync.clone());
        }
        let mut all = ["A", "B"].map(|path| Call::new(CallKind::Mkdir, path)).to_vec();
        all.extend(tree.before);
        all.push(Call::new(CallKind::Sync, ""));
        all.extend(calls);
        Some(all)
    }

    /// The same with one operation, or one sync but the last, less.
    fn shorter(&self) -> Vec<Self> {
        let last = self.steps.len() - 1;
        let mut all = Vec::new();
        for nth in (0..=last).filter(|_| last > 0) {
            let mut steps = self.steps.clone();
            let (_, sync) = steps.remove(nth);
            if let Some((_, end)) = steps.last_mut().filter(|_| nth == last) {
                *end = sync;
            }
            all.push(Self { steps });
        }
        for nth in (0..last).filter(|nth| self.steps[*nth].1.is_some()) {
            let mut steps = self.steps.clone();
            steps[nth].1 = None;
            all.push(Self { steps });
        }
        all.retain(|one| one.calls().is_some());
        all
    }

    /// The shortest of which `is_lost` still says so, dropping one part at a time.
    ///
    /// # Errors
    ///
    /// Those of `is_lost`.
    pub fn minimise<E>(
        self,
        is_lost: &mut impl FnMut(&[Self]) -> Result<Vec<bool>, E>,
    ) -> Result<Self, E> {
        let mut least = self;
        loop {
            let shorter = least.shorter();
            let lost = if shorter.is_empty() { Vec::new() } else { is_lost(&shorter)? };
            match shorter.into_iter().zip(lost).find(|(_, is_lost)| *is_lost) {
                Some((one, _)) => least = one,
                None => return Ok(least),
            }
        }
    }
}

/// All sequences of up to a number of operations, each under its index.
#[derive(Clone, Debug)]
pub struct Space {
    /// Operations, and the number of sequences up to the last of theirs.
    parts: Vec<(Vec<Operation>, u64)>,
}

impl Space {
    /// All sequences of 1 to `longest` operations.
    #[must_use]
    pub fn new(longest: u32) -> Self {
        let all = operations();
        let mut parts: Vec<(Vec<Operation>, u64)> = Vec::new();
        let mut now = vec![(Vec::new(), Tree::default())];
        for _ in 0..longest {
            let mut next = Vec::new();
            for (before, tree) in &now {
                for operation in &all {
                    let mut tree = tree.clone();
                    if tree.apply(*operation).is_some() {
                        next.push(([&before[..], &[*operation]].concat(), tree));
                    }
                }
            }
            let mut end = parts.last().map_or(0, |(_, end)| *end);
            for (operations, _) in next.iter().filter(|(operations, _)| is_first(operations)) {
                end += choices(operations).iter().map(|one| one.len() as u64).product::<u64>();
                parts.push((operations.clone(), end));
            }
            now = next;
        }
        Self { parts }
    }

    /// Number of sequences.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.parts.last().map_or(0, |(_, end)| *end)
    }

    /// The sequence with this number, counted from 0; `None` beyond the last.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<Sequence> {
        let part = self.parts.partition_point(|(_, end)| *end <= number);
        let before = part.checked_sub(1).map_or(0, |before| self.parts[before].1);
        let (operations, _) = self.parts.get(part)?;
        let mut rest = number - before;
        let choices = choices(operations).into_iter().map(|mut of_one| {
            let count = of_one.len() as u64;
            let chosen = of_one.swap_remove((rest % count) as usize);
            rest /= count;
            chosen
        });
        Some(Sequence { steps: operations.iter().copied().zip(choices).collect() })
    }

    /// All sequences if they are not more than `most`, else as many that `seed` draws, in order.
    #[must_use]
    pub fn draw(&self, most: u64, seed: u64) -> Vec<Sequence> {
        let count = self.count();
        if count <= most {
            return (0..count).filter_map(|number| self.get(number)).collect();
        }
        let (mut rng, mut drawn) = (seeded(seed), BTreeSet::new());
        while (drawn.len() as u64) < most {
            drawn.insert(rng.below(count));
        }
        drawn.into_iter().filter_map(|number| self.get(number)).collect()
    }
}

/// Syncs that may follow each of these operations.
fn choices(operations: &[Operation]) -> Vec<Vec<Option<Call>>> {
    let mut tree = Tree::default();
    let each = operations.iter().enumerate().map(|(nth, operation)| {
        tree.apply(*operation);
        syncs(&tree, &operations[..=nth], nth + 1 == operations.len())
    });
    each.collect()
}
