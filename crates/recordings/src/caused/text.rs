//! Calls with their block requests as text for the terminal.

use super::{Caused, CausedBy, CausedRequest, Total};
use crate::info::text::{bytes, count, time};
use std::fmt::Write as _;

/// The calls, each with its requests. Lines are not wrapped.
#[must_use]
pub fn text(caused: &Caused) -> String {
    let shown = caused.longest.len() as u64;
    let mut out = format!("{} calls took {}", count(caused.calls), time(caused.time_ns));
    if shown > 0 && shown < caused.calls {
        out.push_str(&format!("; the {} that took longest:", count(shown)));
    }
    out.push('\n');
    for (number, what) in [
        (caused.untimed, "calls have no duration: no request can be joined to them"),
        (caused.lost, "events were lost: calls and requests may be missing"),
    ] {
        if number > 0 {
            let _ = writeln!(out, "{} {what}", count(number));
        }
    }
    if !caused.has_requests {
        out.push_str("the trace has no block requests\n");
    }
    caused.longest.iter().for_each(|call| one(&mut out, call));
    out
}

fn one(out: &mut String, call: &CausedBy) {
    let path = call.path.as_deref().unwrap_or("?");
    let CausedBy { call: name, start_ns, duration_ns, process, .. } = call;
    let (duration, start) = (time(*duration_ns), time(*start_ns));
    let _ = writeln!(out, "\n{name} {path}: {duration}, from {start} on, process {process}");
    let sum = |of: Total| match of.count {
        1 => format!("1 request ({})", bytes(of.bytes)),
        many => format!("{} requests ({})", count(many), bytes(of.bytes)),
    };
    let (own, others) = (sum(call.own), sum(call.others));
    let _ = writeln!(out, "  its own: {own}; of the kernel's threads meanwhile: {others}");
    if call.unrelated.count > 0 {
        let _ = writeln!(out, "  of other programs, not its own: {}", sum(call.unrelated));
    }
    if call.requests.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "{:>12}{:>11}  {:<9}{:<6}{:>10}{:>9}{:>13}  issued by",
        "after", "time", "request", "flags", "size", "device", "sector"
    );
    call.requests.iter().for_each(|request| row(out, request));
    let left = call.own.count + call.others.count - call.requests.len() as u64;
    if left > 0 {
        let _ = writeln!(out, "{:>12} more", count(left));
    }
}

fn row(out: &mut String, request: &CausedRequest) {
    let by = match (request.own, request.process, &request.program) {
        (true, ..) => "the process".to_owned(),
        (false, Some(process), Some(name)) => format!("{process} {name}"),
        (false, Some(process), None) => process.to_string(),
        (false, None, _) => "?".to_owned(),
    };
    let sector = match request.bytes {
        0 => "-".to_owned(),
        _ => request.sector.to_string(),
    };
    let device = format!("{}:{}", request.device >> 20, request.device & 0xf_ffff);
    let _ = writeln!(
        out,
        "{:>12}{:>11}  {:<9}{:<6}{:>10}{device:>9}{sector:>13}  {by}",
        time(request.after_ns),
        request.duration_ns.map_or_else(|| "?".to_owned(), time),
        request.operation,
        request.flags,
        bytes(request.bytes),
    );
}
