//! The file that a step appends to.

use super::Setting;
use crate::error::WorkloadError;
use crate::step::StepContext;
use crate::target::{self, Access, OpenTarget};
use rustix::fs::FallocateFlags;
use seekwell_engine::Span;
use seekwell_model::workloads::Preallocation;
use std::fs::File;

/// Creates the file empty, allocates what `preallocate` asks for, and makes both durable, so that
/// the first append pays for itself alone. The span is the room for appends.
pub(super) fn create(
    setting: &Setting,
    context: &StepContext<'_>,
    access: Access,
) -> Result<OpenTarget, WorkloadError> {
    let directory = setting.directory(context)?;
    let path = setting.path(directory);
    let file = target::create(&path, Access { write: true, ..access })?;
    let size = setting.params.size.0.max(1);
    let length = setting.params.file_size.unwrap_or_default().0 / size * size;
    allocate(setting, &file, length)?;
    file.sync_all().map_err(WorkloadError::file("sync", &path))?;
    let parent = File::open(directory).map_err(WorkloadError::file("open", directory))?;
    parent.sync_all().map_err(WorkloadError::file("sync", directory))?;
    Ok(OpenTarget { file, path, span: Span { offset: 0, length } })
}

fn allocate(setting: &Setting, file: &File, length: u64) -> Result<(), WorkloadError> {
    let flags = match setting.params.durability.preallocate {
        Preallocation::None => return Ok(()),
        Preallocation::KeepSize => FallocateFlags::KEEP_SIZE,
        Preallocation::Size => FallocateFlags::empty(),
    };
    rustix::fs::fallocate(file, flags, 0, length).map_err(|errno| {
        let problem = format!("cannot allocate {length} bytes before it appends: {errno}");
        let remedy = match errno {
            rustix::io::Errno::OPNOTSUPP => "write preallocate = \"none\" for this filesystem",
            _ => "make file_size smaller or the device larger",
        };
        setting.unfit(problem, remedy)
    })
}
