//! Traces as records of other programs.

use crate::calls::Class;
use crate::error::TraceError;
use crate::event::{Event, FileEntry, FileId};
use crate::meta::private_file;
use crate::read::Trace;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Numbers of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Calls or requests in the output.
    pub events: u64,
    /// Those that the output cannot say.
    pub left_out: u64,
}

/// Table of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Calls.
    Calls,
    /// Block requests.
    Requests,
}

/// Writes reads, writes and syncs of files as an I/O log of fio, version 3 (fio 3.31 and later).
/// Left out are calls whose offset is not known, that failed, or that are on what is no file, and
/// files with white space in their paths.
///
/// # Errors
/// When a segment is damaged or the output exists or cannot be written.
pub fn iolog(trace: &Trace, output: &Path) -> Result<Exported, TraceError> {
    let files = trace.files()?;
    let mut out = create(output)?;
    let failed = TraceError::io;
    writeln!(out, "fio version 3 iolog").map_err(failed("write", output))?;
    let (mut exported, mut open) = (Exported::default(), HashSet::new());
    trace.events(|event| {
        let Some((action, file)) = action(&event) else {
            // Opening and closing are in the log as its own lines.
            let is_said = matches!(event.call.call().class, Class::Open | Class::Close);
            exported.left_out += u64::from(event.file.is_some() && !is_said);
            return Ok(());
        };
        let path = path(&files, file).filter(|path| is_loggable(path));
        let place = event.offset.zip(event.moved_bytes());
        let has_place = matches!(action, "read" | "write");
        let (Some(path), false, true) = (path, event.failed(), place.is_some() || !has_place)
        else {
            exported.left_out += 1;
            return Ok(());
        };
        if place.is_some_and(|(_, bytes)| has_place && bytes == 0) {
            exported.left_out += 1;
            return Ok(());
        }
        let us = event.start_ns / 1000;
        let mut text = String::new();
        if open.insert(file) {
            let _ = writeln!(text, "{us} {path} add\n{us} {path} open");
        }
        let _ = match place.filter(|_| has_place) {
            Some((offset, bytes)) => writeln!(text, "{us} {path} {action} {offset} {bytes}"),
            None => writeln!(text, "{us} {path} {action} 0 0"),
        };
        exported.events += 1;
        out.write_all(text.as_bytes()).map_err(failed("write", output))
    })?;
    out.flush().map_err(failed("write", output))?;
    Ok(exported)
}

/// Action of an I/O log for a call, and its file.
fn action(event: &Event) -> Option<(&'static str, FileId)> {
    let action = match event.call.call().name {
        "read" | "pread64" | "readv" | "preadv" | "preadv2" => "read",
        "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" => "write",
        "fsync" => "sync",
        "fdatasync" => "datasync",
        _ => return None,
    };
    event.file.map(|file| (action, file))
}

fn path(files: &[FileEntry], file: FileId) -> Option<&str> {
    let at = files.binary_search_by_key(&file, |entry| entry.id).ok()?;
    let is_file = files[at].is_regular().unwrap_or(true);
    files[at].path.as_deref().filter(|_| is_file)
}

fn is_loggable(path: &str) -> bool {
    path.starts_with('/') && !path.contains(char::is_whitespace)
}

/// Writes a table as CSV; what is not known is empty.
///
/// # Errors
/// When a segment is damaged or the output exists or cannot be written.
pub fn csv(trace: &Trace, table: Table, output: &Path) -> Result<Exported, TraceError> {
    let mut out = create(output)?;
    let mut exported = Exported::default();
    let failed = |error| TraceError::io("write", output)(error);
    match table {
        Table::Calls => {
            let files = trace.files()?;
            let named = |file: Option<FileId>| {
                let at = files.binary_search_by_key(&file?, |entry| entry.id).ok()?;
                files[at].path.as_deref().map(quoted)
            };
            out.write_all(b"start_ns,duration_ns,process,thread,call,fd,path,to_path,offset,length,result,flags,cpu_ns,waited_ns,waker,woken_ns,awaited_ns\n")
                .map_err(failed)?;
            exported.left_out = trace.events(|event| {
                exported.events += 1;
                writeln!(
                    out,
                    "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                    event.start_ns,
                    cell(event.duration_ns),
                    event.process,
                    event.thread,
                    event.call.call().name,
                    cell(event.fd),
                    cell(named(event.file)),
                    cell(named(event.to_file)),
                    cell(event.offset),
                    cell(event.length),
                    cell(event.result),
                    cell(event.flags),
                    cell(event.cpu_ns),
                    cell(event.waited_ns),
                    cell(event.waker),
                    cell(event.woken_ns),
                    cell(event.awaited_ns),
                )
                .map_err(failed)
            })?;
        }
        Table::Requests => {
            out.write_all(
                b"start_ns,duration_ns,process,device,operation,flags,sector,bytes,depth\n",
            )
            .map_err(failed)?;
            trace.requests(|request| {
                exported.events += 1;
                writeln!(
                    out,
                    "{},{},{},{}:{},{},{},{},{},{}",
                    request.start_ns,
                    cell(request.duration_ns),
                    cell(request.process),
                    request.device >> 20,
                    request.device & 0xf_ffff,
                    request.operation.name(),
                    request.flags.letters(),
                    request.sector,
                    request.bytes,
                    cell(request.depth),
                )
                .map_err(failed)
            })?;
        }
    }
    out.flush().map_err(failed)?;
    Ok(exported)
}

/// A new file for its owner alone; one that exists is not written over.
fn create(output: &Path) -> Result<BufWriter<std::fs::File>, TraceError> {
    let file = private_file(output).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => TraceError::Exists { path: output.to_owned() },
        _ => TraceError::io("create", output)(error),
    })?;
    Ok(BufWriter::with_capacity(1 << 18, file))
}

fn cell<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A path in quotes where commas, quotes or line breaks need them.
fn quoted(path: &str) -> String {
    if path.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", path.replace('"', "\"\""))
    } else {
        path.to_owned()
    }
}

#[cfg(test)]
mod tests;
