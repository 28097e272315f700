//! Clients in step on shared storage, in the terms of mdtest and IOR.

use crate::text::{Palette, Table, harmless};
use seekwell_model::clients::{ClientsPhase, ClientsPlan, ClientsRate, PhaseFound};
use seekwell_model::units::Nanos;
use seekwell_stats::histogram::Histogram;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[cfg(test)]
mod tests;

/// The figures for a terminal of `width` columns.
#[must_use]
pub fn clients_text(plan: &ClientsPlan, phases: &[PhaseFound], width: usize) -> String {
    let nodes: BTreeSet<&str> =
        phases.iter().flat_map(|found| &found.clients).map(|client| client.node.as_str()).collect();
    let one_cache = nodes.len() == 1;
    let nodes = nodes.into_iter().map(harmless).collect::<Vec<_>>().join(", ");
    let mut out = format!("{} clients on {nodes}\n", plan.clients);
    let (files, data): (Vec<&PhaseFound>, Vec<&PhaseFound>) =
        phases.iter().partition(|found| !found.phase.is_data());
    for (phases, title, unit) in [(files, of_files(plan), "ops/s"), (data, of_data(plan), "MiB/s")]
    {
        if !phases.is_empty() {
            out.push_str(&format!("\n{title}\n{}", table(&phases, unit, width)));
        }
    }
    out.push_str(
        "\nRates are those of all clients together: up to the end of the last client, as mdtest and IOR print them, and \
         up to the end of the first one, while all were at work.\n",
    );
    if one_cache && plan.files > 0 {
        out.push_str(
            "All clients share the cache of one machine, which may have answered File stat and File read.\n",
        );
    }
    out
}

/// The options with which mdtest does the same.
fn of_files(plan: &ClientsPlan) -> String {
    let unique = if plan.shared_directory { "" } else { " -u" };
    let stonewall = plan.stonewall_ns.map_or_else(String::new, |ns| format!(" -W {}", seconds(ns)));
    let (files, bytes, shift) = (plan.files, plan.file_bytes.0, plan.per_node);
    format!("As mdtest -F -n {files} -w {bytes} -e {bytes} -N {shift}{unique}{stonewall}:")
}

/// The options with which IOR does the same.
fn of_data(plan: &ClientsPlan) -> String {
    let stonewall = plan.stonewall_ns.map_or_else(String::new, |ns| format!(" -D {}", seconds(ns)));
    let (block, transfer, shift) = (plan.block.0, plan.transfer.0, plan.per_node);
    format!("As ior -a POSIX -F -e -C -Q {shift} -b {block} -t {transfer}{stonewall}:")
}

fn seconds(ns: u64) -> u64 {
    ns.div_ceil(1_000_000_000)
}

fn table(phases: &[&PhaseFound], unit: &str, width: usize) -> String {
    let mut table = Table::default();
    // Titles in two lines, and the least needed column last: 80 columns are enough for the latencies.
    let titles = [
        (unit, "in all"),
        ("last", "done"),
        (unit, "at first"),
        ("p50", ""),
        ("p99", ""),
        ("max", ""),
        ("first", "done"),
    ];
    table.column("phase", "", false);
    titles.into_iter().for_each(|(title, below)| table.column(title, below, true));
    let or_none = |cell: Option<String>| cell.unwrap_or_else(|| "–".to_owned());
    for found in phases {
        let figure =
            |rate: Option<ClientsRate>| or_none(rate.map(|rate| number(value(found.phase, rate))));
        let time = |ns: Option<u64>| or_none(ns.map(|ns| Nanos(ns).to_string()));
        let (last, first) = (found.at_last(), found.at_first());
        let all = merged(found);
        let percentile = |q| time(all.as_ref().and_then(|all| all.percentile_ns(q)));
        let cells = [
            name(found.phase).to_owned(),
            figure(last),
            time(last.map(|rate| rate.ns)),
            figure(first),
            percentile(0.5),
            percentile(0.99),
            time(all.as_ref().and_then(Histogram::max_ns)),
            time(first.map(|rate| rate.ns)),
        ];
        table.row(None, cells.to_vec());
    }
    let is_needed = titles.len();
    table.render(width.max(60), is_needed, Palette { colour: false }).0
}

/// Names as mdtest and IOR print them.
fn name(phase: ClientsPhase) -> &'static str {
    match phase {
        ClientsPhase::Create => "File creation",
        ClientsPhase::Stat => "File stat",
        ClientsPhase::ReadFiles => "File read",
        ClientsPhase::Remove => "File removal",
        ClientsPhase::Write => "write",
        ClientsPhase::Read => "read",
    }
}

/// Operations per second of files, MiB/s of data.
fn value(phase: ClientsPhase, rate: ClientsRate) -> f64 {
    if phase.is_data() { rate.bytes_per_s / f64::from(1 << 20) } else { rate.operations_per_s }
}

fn number(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

/// The latencies of all clients; `None` if one of them cannot be read.
fn merged(found: &PhaseFound) -> Option<Histogram> {
    let mut all = Histogram::new();
    for client in &found.clients {
        all.merge(&Histogram::from_bytes(&client.histogram).ok()?);
    }
    Some(all)
}

/// The figures with those of each client, for programs.
#[must_use]
pub fn clients_json(plan: &ClientsPlan, phases: &[PhaseFound]) -> Value {
    let rate = |rate: Option<ClientsRate>| {
        rate.map(|rate| {
            json!({
                "operations_per_s": rate.operations_per_s,
                "bytes_per_s": rate.bytes_per_s,
                "ns": rate.ns,
            })
        })
    };
    let latency = |all: &Histogram| {
        json!({
            "count": all.count(),
            "mean": all.mean_ns(),
            "min": all.min_ns(),
            "p50": all.percentile_ns(0.5),
            "p99": all.percentile_ns(0.99),
            "max": all.max_ns(),
        })
    };
    let one = |found: &PhaseFound| {
        let clients: Vec<Value> = found
            .clients
            .iter()
            .map(|client| {
                let own = Histogram::from_bytes(&client.histogram).ok();
                json!({
                    "rank": client.rank,
                    "node": client.node,
                    "done_ns": client.done_ns,
                    "operations": client.operations,
                    "bytes": client.bytes,
                    "operations_at_first": client.operations_at_first,
                    "bytes_at_first": client.bytes_at_first,
                    "latency_ns": own.as_ref().map(latency),
                })
            })
            .collect();
        json!({
            "phase": found.phase,
            "last": rate(found.at_last()),
            "first": rate(found.at_first()),
            "latency_ns": merged(found).as_ref().map(latency),
            "clients": clients,
        })
    };
    json!({ "plan": plan, "phases": phases.iter().map(one).collect::<Vec<_>>() })
}
