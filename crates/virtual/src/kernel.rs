//! Builds the lab kernel and keeps every one that was built, by a hash of all it was made from.

mod compile;
mod recipe;
mod source;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

pub use recipe::KernelSet;
pub use source::{DEBIAN_TARBALL, KernelSource};

#[cfg(test)]
mod tests;

/// A lab kernel, built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Hash of source, configuration, patches and compiler: 16 hexadecimal digits.
    pub id: String,
    /// As the kernel calls itself.
    pub version: String,
    /// Filesystems in the kernel.
    pub set: KernelSet,
    /// Description of the source, for people.
    pub source: String,
    /// Hash of configuration and patches: 16 hexadecimal digits.
    pub recipe: String,
    /// The program.
    #[serde(skip)]
    pub path: PathBuf,
}

impl Kernel {
    /// Returns true if configuration and patches are those of this version of the program.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.recipe == recipe::hash(self.set)
    }
}

/// The kernel of a run that names none: of this version, from the distribution's source, of a set that
/// has what the run needs if there is one, then with the most filesystems. A kernel of the user's own
/// source is used by name only.
#[must_use]
pub fn usual(kernels: Vec<Kernel>, needed: &dyn Fn(KernelSet) -> bool) -> Option<Kernel> {
    let suits = |kernel: &Kernel| kernel.is_current() && kernel.source == DEBIAN_TARBALL;
    kernels.into_iter().filter(suits).min_by_key(|kernel| (!needed(kernel.set), kernel.set))
}

/// Progress of a build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The source is read to tell whether it was built before.
    Hashing,
    /// Another build has locked the cache.
    Waiting,
    /// The source is unpacked or copied.
    Unpacking,
    /// Own patches are applied.
    Patching,
    /// The configuration is made.
    Configuring,
    /// Files are compiled.
    Compiling {
        /// Number of compiled files so far.
        done: u32,
        /// Total number, as counted with the Debian source.
        expected: u32,
    },
}

/// A kernel to build.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPlan {
    /// From what.
    pub source: KernelSource,
    /// With which filesystems.
    pub set: KernelSet,
    /// Compilers at once.
    pub jobs: usize,
}

/// Errors of finding or building a kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// Source or programs of a build are missing, the source lacks an option that a lab kernel cannot do without, a patch
    /// does not fit it, or a step failed: in words.
    #[error("{0}")]
    Build(String),
    /// Something of this machine failed.
    #[error("cannot {what}: {source}")]
    System {
        /// The action that failed.
        what: String,
        /// Error of the system.
        source: io::Error,
    },
}

fn failed<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> KernelError {
    move |error| KernelError::System { what: what.into(), source: error.into() }
}

/// Name of a kernel's facts in its directory.
const FACTS: &str = "kernel.json";

/// Name of a kernel's program in its directory.
const PROGRAM: &str = "linux";

/// The kernel of a plan: from `cache`, or built and put there. Only one build runs at a time.
///
/// # Errors
///
/// [`KernelError`].
pub fn build(
    plan: &KernelPlan,
    cache: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Kernel, KernelError> {
    plan.source.check()?;
    compile::check_programs()?;
    progress(Progress::Hashing);
    let id = recipe::id(plan)?;
    fs::create_dir_all(cache).map_err(failed(format!("make {}", cache.display())))?;
    if let Some(kernel) = find(cache, &id)? {
        return Ok(kernel);
    }
    let lock = lock(cache, progress)?;
    if let Some(kernel) = find(cache, &id)? {
        return Ok(kernel);
    }
    remove_abandoned(cache).map_err(failed("remove what an interrupted build left"))?;
    let site = tempfile::Builder::new().prefix(BUILDING).tempdir_in(cache);
    let site = site.map_err(failed("make a directory to build in"))?;
    let log = cache.join(format!("{id}.log"));
    let tree = site.path().join("tree");
    progress(Progress::Unpacking);
    plan.source.unpack(&tree)?;
    let version = compile::compile(plan, &tree, &log, progress)?;
    let kernel = Kernel {
        id: id.clone(),
        version,
        set: plan.set,
        source: plan.source.to_string(),
        recipe: recipe::hash(plan.set),
        path: cache.join(&id).join(PROGRAM),
    };
    keep(&kernel, &tree, &log, cache, site.path()).map_err(failed("keep the kernel"))?;
    drop(lock);
    Ok(kernel)
}

/// Begin of the name of a directory in which a build runs.
const BUILDING: &str = "building-";

/// Called with the lock held, so no build is running.
fn remove_abandoned(cache: &Path) -> io::Result<()> {
    for entry in fs::read_dir(cache)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(BUILDING) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

/// Puts a built kernel into the cache, whole or not at all.
fn keep(kernel: &Kernel, tree: &Path, log: &Path, cache: &Path, site: &Path) -> io::Result<()> {
    let directory = site.join("kept");
    fs::create_dir(&directory)?;
    fs::copy(tree.join(PROGRAM), directory.join(PROGRAM))?;
    fs::copy(tree.join(".config"), directory.join("config"))?;
    fs::rename(log, directory.join("build.log"))?;
    let facts = File::create(directory.join(FACTS))?;
    serde_json::to_writer_pretty(&facts, kernel)?;
    facts.sync_all()?;
    fs::rename(&directory, cache.join(&kernel.id))
}

/// Held while a build runs.
fn lock(cache: &Path, progress: &mut dyn FnMut(Progress)) -> Result<File, KernelError> {
    let path = cache.join("lock");
    let file = File::create(&path).map_err(failed(format!("make {}", path.display())))?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        progress(Progress::Waiting);
        flock(&file, FlockOperation::LockExclusive).map_err(failed("wait for another build"))?;
    }
    Ok(file)
}

/// The kernel with an id, if it was built.
///
/// # Errors
///
/// [`KernelError::System`] when it is there and cannot be read.
pub fn find(cache: &Path, id: &str) -> Result<Option<Kernel>, KernelError> {
    let directory = cache.join(id);
    let facts = directory.join(FACTS);
    let text = match fs::read(&facts) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(format!("read {}", facts.display()))(error)),
    };
    let kernel: Kernel =
        serde_json::from_slice(&text).map_err(failed(format!("understand {}", facts.display())))?;
    Ok(Some(Kernel { path: directory.join(PROGRAM), ..kernel }))
}

/// Every kernel in the cache, by id.
///
/// # Errors
///
/// [`KernelError::System`].
pub fn list(cache: &Path) -> Result<Vec<Kernel>, KernelError> {
    let entries = match fs::read_dir(cache) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(format!("list {}", cache.display()))(error)),
    };
    let mut kernels = Vec::new();
    for entry in entries {
        let entry = entry.map_err(failed(format!("list {}", cache.display())))?;
        let name = entry.file_name();
        if let Some(id) = name.to_str().filter(|name| recipe::is_id(name)) {
            kernels.extend(find(cache, id)?);
        }
    }
    kernels.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(kernels)
}
