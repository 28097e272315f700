//! PostgreSQL: scripts that make a cluster and measure it, and reading what pgbench prints.

use super::number_after;
use crate::outcome::{StepOutcome, TRANSACTION};
use seekwell_model::units::Nanos;
use seekwell_model::workloads::PgbenchParams;
use seekwell_stats::Histogram;
use std::fmt::Write as _;

/// PostgreSQL refuses to run as root, and its user may not pass through root's directories: the
/// filesystem is shown to it as /mnt, in a mount namespace that ends with the script.
const BEGIN: &str = r#"exec sh -e <<'DONE'
PATH="$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1):/usr/local/bin:$PATH"
export LC_ALL=C
user=$(id -u postgres 2>/dev/null || id -u nobody)
as() { setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; }
sql() { as psql -h /mnt/data -U bench -qAt -c "$1" postgres; }
bench() { as pgbench -h /mnt/data -U bench "$@" postgres; }
"#;

/// The log of transactions, in memory: the `/dev` of the script's own namespace is a tmpfs.
const LOG: &str = "/dev/transactions";

fn server(params: &PgbenchParams) -> String {
    let mut options =
        "-c listen_addresses= -c unix_socket_directories=/mnt/data -c autovacuum=on".to_owned();
    for (name, value) in params.settings() {
        // Writing to a string cannot fail.
        let _ = write!(options, " -c {name}={value}");
    }
    let kib = params.shared_buffers.0 / 1024;
    let connections = params.clients + 10;
    let _ = write!(options, " -c shared_buffers={kib}kB -c max_connections={connections}");
    format!(
        "trap 'as pg_ctl -D pg -m immediate stop >/dev/null 2>&1' EXIT\n\
         as pg_ctl -D pg -w -l log -o \"{options}\" start >/dev/null || {{ cat log; exit 1; }}\n"
    )
}

const STOP: &str = "as pg_ctl -D pg -m fast -w stop >/dev/null\ntrap - EXIT\nDONE\n";

/// Makes and fills the cluster.
pub(super) fn prepare(params: &PgbenchParams) -> String {
    format!(
        "{BEGIN}mkdir -m 700 /mnt/data && chown \"$user:$user\" /mnt/data && cd /mnt/data\n\
         as initdb -D pg -A trust -U bench >initdb.log 2>&1 || {{ cat initdb.log; exit 1; }}\n\
         {}bench -i -q -s {} >fill.log 2>&1 || {{ cat fill.log; exit 1; }}\n{STOP}",
        server(params),
        params.scale
    )
}

/// Measures, and prints the settings in force, pgbench's summary and its log of transactions as
/// `latency_us VALUE COUNT` lines with four digits.
pub(super) fn run(params: &PgbenchParams) -> String {
    let seconds = |time: Nanos| time.0 / 1_000_000_000;
    let jobs = params.clients.min(2);
    let script = format!("-b {} -c {} -j {jobs}", params.script, params.clients);
    let mut names: Vec<String> =
        params.settings().iter().map(|(name, _)| format!("'{name}'")).collect();
    names.push("'server_version'".to_owned());
    let checks: String = params
        .settings()
        .iter()
        .map(|(name, value)| format!("echo 'wanted: {name}={value}'\n"))
        .collect();
    let warm_up = match seconds(params.warm_up) {
        0 => String::new(),
        time => format!("bench {script} -T {time} >/dev/null 2>&1\n"),
    };
    format!(
        "{BEGIN}cd /mnt/data\n{}{checks}\
         sql \"SELECT 'setting: ' || name || '=' || setting FROM pg_settings WHERE name IN ({})\"\n\
         {warm_up}sql CHECKPOINT\n\
         mkdir -m 777 {LOG}\n\
         bench {script} -T {} -l --log-prefix={LOG}/t 2>&1\n\
         cat {LOG}/t* | awk '$3 ~ /^[0-9]+$/ {{ v = $3; s = 1; while (v / s >= 10000) s *= 10\n\
             n[int(v / s + 0.5) * s]++ }} END {{ for (v in n) print \"latency_us\", v, n[v] }}'\n\
         {STOP}",
        server(params),
        names.join(", "),
        seconds(params.time),
    )
}

/// Reads what [`run`] printed.
pub(super) fn read(output: &str) -> Result<StepOutcome, String> {
    let lines = |prefix: &'static str| output.lines().filter_map(move |l| l.strip_prefix(prefix));
    for wanted in lines("wanted: ") {
        if !lines("setting: ").any(|setting| setting == wanted) {
            return Err(format!("did not run with {wanted}"));
        }
    }
    let settings = super::settings(output);
    if settings.is_empty() {
        return Err("said none of its settings".to_owned());
    }
    let mut transactions = Histogram::new();
    for line in lines("latency_us ") {
        let mut words = line.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
        if let (Some(us), Some(count)) = (words.next(), words.next()) {
            transactions.record_n(us.saturating_mul(1_000), count);
        }
    }
    if transactions.is_empty() {
        return Err("logged no transaction".to_owned());
    }
    let tps = number_after(output, "\ntps =")?;
    let ops = number_after(output, "transactions actually processed:")?;
    let mut outcome = StepOutcome { ops: ops as u64, settings, ..StepOutcome::default() };
    if tps > 0.0 {
        outcome.elapsed_ns = (ops / tps * 1e9) as u64;
    }
    outcome.metrics.insert("transactions_per_s".to_owned(), tps);
    outcome.keep(TRANSACTION, transactions);
    Ok(outcome)
}
