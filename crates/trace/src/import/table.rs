//! Import of published block traces that are tables of text: one request per line, devices, offsets,
//! sizes and times in units of their own.

use super::{Imported, lines};
use crate::error::TraceError;
use crate::event::{Operation, Request, RequestFlags};
use crate::meta::Meta;
use crate::write::{Limits, TraceWriter};
use std::collections::HashMap;
use std::io::BufReader;
use std::path::Path;

#[cfg(test)]
mod tests;

const SECTOR_BYTES: u64 = 512;
/// From 1601-01-01, the epoch of Windows, to 1970-01-01, in units of 100 ns.
const WINDOWS_EPOCH: u64 = 116_444_736_000_000_000;
/// Most devices that the description of the trace names.
const NAMED_DEVICES: usize = 16;

/// A family of block traces with one form of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// MSR Cambridge: `filetime,host,disk,Read|Write,offset,bytes,response time`, times in 100 ns.
    Msr,
    /// Alibaba 2020: `device,R|W,offset,bytes,time in µs`.
    Alibaba,
    /// Tencent CBS: `time in s,offset,size,0|1,volume`, offset and size in sectors; 1 is a write.
    Tencent,
    /// SPC, as in the traces of UMass: `unit,sector,bytes,r|w,time in s`.
    Spc,
    /// MQSim: `time in ns, device, sector, sectors, 0|1` between spaces; 0 is a write.
    Mqsim,
    /// SNIA Systor '17: `time in s,response in s,R|W,LUN,offset,bytes`.
    Systor,
    /// FIU: `time in ns, process, its name, sector, sectors, R|W, major, minor, hash` between spaces.
    Fiu,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row<'a> {
    /// Names of the device: host and disk, or a number.
    device: (&'a str, &'a str),
    /// From the epoch of the table.
    time_ns: u64,
    duration_ns: Option<u64>,
    process: Option<u32>,
    operation: Operation,
    sector: u64,
    bytes: u64,
}

impl Table {
    const fn name(self) -> &'static str {
        match self {
            Self::Msr => "msr",
            Self::Alibaba => "alibaba",
            Self::Tencent => "tencent",
            Self::Spc => "spc",
            Self::Mqsim => "mqsim",
            Self::Systor => "systor",
            Self::Fiu => "fiu",
        }
    }

    const fn columns(self) -> &'static str {
        match self {
            Self::Msr => "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
            Self::Alibaba => "device_id,opcode,offset,length,timestamp",
            Self::Tencent => "Timestamp,Offset,Size,IOType,VolumeID",
            Self::Spc => "ASU,LBA,Size,Opcode,Timestamp",
            Self::Mqsim => "time device sector sectors type",
            Self::Systor => "Timestamp,Response,IOType,LUN,Offset,Size",
            Self::Fiu => "time process name sector sectors R|W major minor hash",
        }
    }

    /// True when times count from 1970.
    const fn is_dated(self) -> bool {
        matches!(self, Self::Msr | Self::Alibaba | Self::Tencent | Self::Systor)
    }

    /// Everything that rows of this family do not tell.
    fn gaps(self) -> Vec<String> {
        let processes = if self == Self::Fiu { "" } else { " processes," };
        let mut gaps =
            vec![format!("requests alone: no calls, files,{processes} flushes, syncs or discards")];
        if !matches!(self, Self::Msr | Self::Systor) {
            gaps.push("the table has no response times".to_owned());
        }
        if self == Self::Tencent {
            gaps.push(
                "times are whole seconds: order and bursts within a second are lost".to_owned(),
            );
        }
        gaps
    }

    fn row(self, line: &str) -> Option<Row<'_>> {
        match self {
            Self::Msr => msr(fields(line)?),
            Self::Alibaba => alibaba(fields(line)?),
            Self::Tencent => tencent(fields(line)?),
            Self::Spc => spc(line),
            Self::Mqsim => mqsim(line),
            Self::Systor => systor(fields(line)?),
            Self::Fiu => fiu(line),
        }
    }
}

/// Exactly `N` fields between commas.
fn fields<const N: usize>(line: &str) -> Option<[&str; N]> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    fields.try_into().ok()
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

/// `read` or `r` and `write` or `w`, in capitals or not.
fn operation(text: &str) -> Option<Operation> {
    match text.to_ascii_lowercase().as_str() {
        "r" | "read" => Some(Operation::Read),
        "w" | "write" => Some(Operation::Write),
        _ => None,
    }
}

fn msr([time, host, disk, kind, offset, bytes, response]: [&str; 7]) -> Option<Row<'_>> {
    Some(Row {
        device: (host, disk),
        time_ns: number(time)?.checked_sub(WINDOWS_EPOCH)?.checked_mul(100)?,
        duration_ns: Some(number(response)?.checked_mul(100)?),
        process: None,
        operation: operation(kind)?,
        sector: number(offset)? / SECTOR_BYTES,
        bytes: number(bytes)?,
    })
}

fn alibaba([device, kind, offset, bytes, time]: [&str; 5]) -> Option<Row<'_>> {
    Some(Row {
        device: ("", device),
        time_ns: number(time)?.checked_mul(1_000)?,
        duration_ns: None,
        process: None,
        operation: operation(kind)?,
        sector: number(offset)? / SECTOR_BYTES,
        bytes: number(bytes)?,
    })
}

fn tencent([time, sector, sectors, kind, device]: [&str; 5]) -> Option<Row<'_>> {
    let operation = match kind {
        "0" => Operation::Read,
        "1" => Operation::Write,
        _ => return None,
    };
    Some(Row {
        device: ("", device),
        time_ns: number(time)?.checked_mul(1_000_000_000)?,
        duration_ns: None,
        process: None,
        operation,
        sector: number(sector)?,
        bytes: number(sectors)?.checked_mul(SECTOR_BYTES)?,
    })
}

/// Rows of SPC may have further fields of their own behind the five.
fn spc(line: &str) -> Option<Row<'_>> {
    let mut parts = line.split(',').map(str::trim);
    let mut next = || parts.next();
    let (device, sector, bytes, kind, time) = (next()?, next()?, next()?, next()?, next()?);
    number(device)?;
    Some(Row {
        device: ("", device),
        time_ns: seconds(time)?,
        duration_ns: None,
        process: None,
        operation: operation(kind)?,
        sector: number(sector)?,
        bytes: number(bytes)?,
    })
}

fn mqsim(line: &str) -> Option<Row<'_>> {
    let parts: Vec<&str> = line.split_whitespace().collect();
    let [time, device, sector, sectors, kind] = parts.try_into().ok()?;
    let operation = match kind {
        "0" => Operation::Write,
        "1" => Operation::Read,
        _ => return None,
    };
    number(device)?;
    Some(Row {
        device: ("", device),
        time_ns: number(time)?,
        duration_ns: None,
        process: None,
        operation,
        sector: number(sector)?,
        bytes: number(sectors)?.checked_mul(SECTOR_BYTES)?,
    })
}

/// Rows without a response time are those of requests that were not answered in the recording.
fn systor([time, response, kind, device, offset, bytes]: [&str; 6]) -> Option<Row<'_>> {
    let duration_ns = if response.is_empty() { None } else { Some(seconds(response)?) };
    Some(Row {
        device: ("", device),
        time_ns: seconds(time)?,
        duration_ns,
        process: None,
        operation: operation(kind)?,
        sector: number(offset)? / SECTOR_BYTES,
        bytes: number(bytes)?,
    })
}

/// The name of a process may have spaces; the fields behind it have none.
fn fiu(line: &str) -> Option<Row<'_>> {
    let parts: Vec<&str> = line.split_whitespace().collect();
    let (head, rest) = parts.split_first_chunk::<2>()?;
    let (name, &[sector, sectors, kind, major, minor, _hash]) = rest.split_last_chunk::<6>()?;
    if name.is_empty() {
        return None;
    }
    number(major)?;
    Some(Row {
        device: (major, minor),
        time_ns: number(head[0])?,
        duration_ns: None,
        process: Some(head[1].parse().ok()?),
        operation: operation(kind)?,
        sector: number(sector)?,
        bytes: number(sectors)?.checked_mul(SECTOR_BYTES)?,
    })
}

/// Decimal seconds in nanoseconds; digits beyond the ninth are cut off.
fn seconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    if !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: String = part.chars().chain("000000000".chars()).take(9).collect();
    number(whole)?.checked_mul(1_000_000_000)?.checked_add(number(&digits)?)
}

/// Writes the trace `output` from the table `input`, which is read twice: rows need not be in the
/// order of time, and the trace counts from the earliest.
///
/// # Errors
/// When a file cannot be read or written, or no line is a row of `table`.
pub fn table(table: Table, input: &Path, output: &Path) -> Result<Imported, TraceError> {
    let mut span: Option<(u64, u64)> = None;
    let counts = each_row(table, input, |row| {
        let (first, last) = span.unwrap_or((row.time_ns, row.time_ns));
        let end = row.time_ns.saturating_add(row.duration_ns.unwrap_or(0));
        span = Some((first.min(row.time_ns), last.max(end)));
        Ok(())
    })?;
    let Some((first, last)) = span else {
        let problem = format!("no row of {}; expected {}", table.name(), table.columns());
        return Err(TraceError::Import { path: input.to_owned(), line: 1, problem });
    };
    let mut meta = Meta { requests: true, gaps: table.gaps(), ..Meta::new(table.name()) };
    meta.started_unix_ns = table.is_dated().then_some(first);
    meta.duration_ns = Some(last - first);
    let mut writer = TraceWriter::create(output, &meta, Limits::default())?;
    let mut devices = Devices::default();
    each_row(table, input, |row| writer.request(request(&row, first, devices.number(row.device))))?;
    meta.gaps.push(devices.said());
    let imported = Imported { events: writer.events(), ..counts };
    writer.finish(&meta)?;
    Ok(imported)
}

fn request(row: &Row<'_>, first_ns: u64, device: u32) -> Request {
    Request {
        // A file that grows between the two readings has later rows alone.
        start_ns: row.time_ns.saturating_sub(first_ns),
        duration_ns: row.duration_ns,
        process: row.process,
        device,
        operation: row.operation,
        flags: RequestFlags::default(),
        sector: row.sector,
        bytes: row.bytes,
        depth: None,
    }
}

/// Calls `take` with every row, and counts the lines that are none. A heading is no damage.
fn each_row(
    table: Table,
    input: &Path,
    mut take: impl FnMut(Row<'_>) -> Result<(), TraceError>,
) -> Result<Imported, TraceError> {
    let mut reader = BufReader::new(lines::open(input)?);
    let (mut counts, mut line, mut is_first) = (Imported::default(), Vec::new(), true);
    while let Some(is_whole) =
        lines::next(&mut reader, &mut line).map_err(TraceError::io("read", input))?
    {
        let text = std::str::from_utf8(&line).unwrap_or_default().trim();
        match table.row(text).filter(|_| is_whole) {
            Some(row) => take(row)?,
            None if text.is_empty() && is_whole && line.is_empty() || is_first => counts.other += 1,
            None => counts.damaged += 1,
        }
        is_first = false;
    }
    Ok(counts)
}

/// Numbers of devices in the order in which they appear, from 0:1.
#[derive(Default)]
struct Devices {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Devices {
    fn number(&mut self, (host, disk): (&str, &str)) -> u32 {
        let name = if host.is_empty() { disk.to_owned() } else { format!("{host}.{disk}") };
        let next = u32::try_from(self.numbers.len() + 1).unwrap_or(u32::MAX);
        if let Some(known) = self.numbers.get(&name) {
            return *known;
        }
        if self.names.len() < NAMED_DEVICES {
            self.names.push(name.clone());
        }
        self.numbers.insert(name, next);
        next
    }

    /// The devices by name.
    fn said(&self) -> String {
        let names: Vec<String> = self
            .names
            .iter()
            .zip(1..)
            .map(|(name, number)| format!("0:{number} = {name}"))
            .collect();
        let more = self.numbers.len() - self.names.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("devices are numbered in their order: {}{more}", names.join(", "))
    }
}
