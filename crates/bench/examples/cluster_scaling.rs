//! Simulates a run on many nodes: workers that take trials from a shared folder, and the session that keeps
//! their records.
//!
//! `cargo run --release -p seekwell-bench --example cluster_scaling -- TIMES COSTS [NAME=VALUE…]`
//!
//! TIMES has the host time of a measured trial in seconds on each line; `seconds=30` multiplies all so that this is their
//! mean. COSTS is what `cluster_costs` prints, and `trip`, the time of a message to the server of the folder and back;
//! each of them can be given as an argument too. The numbers of the protocol are those of the program (`cluster::pace`).
//! The server does one thing at a time. The same input gives the same output.
//!
//! Prints a line per number of nodes and stacks: efficiency (time of the trials over time of the nodes), and how busy
//! session and server are.

#![allow(clippy::print_stdout, reason = "a measuring program prints its figures")]

use seekwell_cluster::pace;
use seekwell_runner::execute::AHEAD;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::error::Error;
use std::time::Duration;

/// Trials for each node in a simulated run.
const TRIALS_PER_NODE: usize = 60;

/// Looks for a file by its name in one look of a session that waits.
const PROBES: usize = 5;

/// Parts of the time between two heartbeats, in each of which as many workers beat.
const BEATS: u64 = 10;

/// Costs of the parts by name, in µs.
struct Costs(BTreeMap<String, f64>);

impl Costs {
    fn us(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    /// A cost that occurs so many times.
    fn times(&self, name: &str, count: usize) -> u64 {
        (self.us(name) * count as f64) as u64
    }
}

/// Names of all costs.
const NAMES: [&str; 15] = [
    "keep", "commit", "offer", "entry", "take", "add", "deliver", "fetch", "fetch_record",
    "remove", "beat", "listen", "probe", "trip", "trips",
];

/// Things that happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A worker looks for a trial.
    Look { worker: usize },
    /// The server has done the listing and the renames of a look.
    Asked { worker: usize },
    /// A worker has run a trial of its share, which ends before another one.
    Ran { worker: usize, trial: usize, end: usize },
    /// The session looks for the record that it wants next.
    Session,
    /// Some workers show that they live.
    Beats,
}

/// One run.
struct Run<'a> {
    times_us: &'a [u64],
    costs: &'a Costs,
    nodes: usize,
    trials: usize,
    /// Trials of a round; only the round under way is offered when later ones are not certain.
    round: usize,
    is_race: bool,
    queue: BinaryHeap<Reverse<(u64, u64, Event)>>,
    number: u64,
    /// First trial of each share, and the one behind its last.
    offered: BTreeMap<usize, usize>,
    delivered: BTreeSet<usize>,
    /// Last trials of shares.
    ends: BTreeSet<usize>,
    /// Sum and number of the times that the session knows.
    known_us: (u64, u64),
    /// Trials that the run has announced.
    announced: usize,
    offered_until: usize,
    kept: usize,
    /// Records and shares that are not durable yet.
    held: (usize, usize),
    commits: u64,
    next_refill_us: u64,
    next_listening_us: u64,
    server_free_us: u64,
    server_busy_us: u64,
    session_busy_us: u64,
    /// A worker's lost races for a trial, in its present look.
    lost: BTreeMap<usize, u32>,
    /// A worker's looks in vain since its last trial.
    in_vain: BTreeMap<usize, u32>,
}

/// Result of one run, in shares of its time.
struct Outcome {
    efficiency: f64,
    session: f64,
    server: f64,
    seconds: f64,
    trials_per_commit: f64,
}

fn us(time: Duration) -> u64 {
    time.as_micros() as u64
}

impl Run<'_> {
    fn at(&mut self, time_us: u64, event: Event) {
        self.number += 1;
        self.queue.push(Reverse((time_us, self.number, event)));
    }

    /// End of work that the server begins when it is free, as one who asked for it in so many messages sees it.
    fn serve(&mut self, now_us: u64, cost_us: u64, messages: usize) -> u64 {
        self.server_free_us = self.server_free_us.max(now_us) + cost_us;
        self.server_busy_us += cost_us;
        self.server_free_us + self.costs.times("trip", messages)
    }

    /// Messages of a call of the folder.
    fn messages(&self, calls: usize) -> usize {
        self.costs.times("trips", calls) as usize
    }

    /// Host time of a trial: the measured ones in turn, in an order of their own.
    fn time_us(&self, trial: usize) -> u64 {
        self.times_us[(trial * 7919) % self.times_us.len()]
    }

    /// Trials that the run announces before a round.
    fn announce(&mut self) {
        let ahead = if self.is_race { self.round } else { AHEAD.max(self.round) };
        let is_due = self.kept >= self.announced
            || (!self.is_race && self.kept + ahead / 2 >= self.announced);
        if self.kept.is_multiple_of(self.round) && is_due {
            self.announced = (self.kept + ahead).min(self.trials);
        }
    }

    /// Offers shares until there are enough for all workers; returns the end of it.
    fn offer(&mut self, now_us: u64) -> u64 {
        let (sum, number) = self.known_us;
        let trial_ns = sum.checked_div(number).map(|mean_us| mean_us * 1000);
        let enough = pace::offers(self.nodes, trial_ns.is_some());
        let listed = self.costs.times("entry", self.offered.len());
        let mut new = 0;
        while self.offered.len() < enough && self.offered_until < self.announced {
            let size = pace::share(trial_ns, self.announced - self.offered_until, self.nodes);
            let end = (self.offered_until + size).min(self.announced);
            self.offered.insert(self.offered_until, end);
            self.offered_until = end;
            new += 1;
        }
        let (cost_us, messages) = (self.costs.times("offer", new), self.messages(new + 1));
        self.serve(now_us, listed + cost_us, messages)
    }

    fn handle(&mut self, now_us: u64, event: Event) {
        match event {
            Event::Look { worker } => {
                let listing = self.costs.times("entry", self.offered.len());
                let taken = if self.offered.is_empty() { 0 } else { self.costs.times("take", 1) };
                let messages = self.messages(3);
                let then = self.serve(now_us, listing + taken, messages);
                self.lost.insert(worker, 0);
                self.at(then, Event::Asked { worker });
            }
            Event::Asked { worker } => self.asked(now_us, worker),
            Event::Ran { worker, trial, end } => {
                let is_last = trial + 1 == end;
                let delivery = if is_last { self.costs.times("deliver", 1) } else { 0 };
                let (cost_us, messages) = (self.costs.times("add", 1) + delivery, self.messages(2));
                let then = self.serve(now_us, cost_us, messages);
                self.delivered.insert(trial);
                if is_last {
                    self.ends.insert(trial);
                    self.at(then, Event::Look { worker });
                } else {
                    let next = Event::Ran { worker, trial: trial + 1, end };
                    self.at(then + self.time_us(trial + 1), next);
                }
            }
            Event::Session => self.session(now_us),
            Event::Beats => {
                let some = self.nodes.div_ceil(BEATS as usize);
                // Each also reads the heartbeat and the work of the session.
                let cost_us = self.costs.times("beat", some) + self.costs.times("probe", 2 * some);
                self.serve(now_us, cost_us, 0);
                if self.kept < self.trials {
                    let pause_us = us(pace::beat(self.nodes as u32)) / BEATS;
                    self.at(now_us + pause_us, Event::Beats);
                }
            }
        }
    }

    /// A worker chooses among the first offers that are still there.
    fn asked(&mut self, now_us: u64, worker: usize) {
        let lost = self.lost.get(&worker).copied().unwrap_or(0);
        if self.offered.is_empty() {
            if self.kept < self.trials {
                let in_vain = self.in_vain.entry(worker).or_default();
                let pause_us = us(pace::look(*in_vain));
                *in_vain += 1;
                self.lost.remove(&worker);
                self.at(now_us + pause_us, Event::Look { worker });
            }
            return;
        }
        // Looks overlap: others that ask meanwhile want the same trial.
        let rivals = self.lost.len().saturating_sub(1);
        let among = 1_usize << lost.min(pace::MOST_CHOICES);
        if rivals > among && !worker.is_multiple_of(rivals / among + 1) {
            self.lost.insert(worker, lost + 1);
            let (cost_us, messages) = (self.costs.times("probe", 2), self.messages(1));
            let then = self.serve(now_us, cost_us, messages);
            self.at(then, Event::Asked { worker });
            return;
        }
        self.lost.remove(&worker);
        self.in_vain.remove(&worker);
        let among = among.min(self.offered.len());
        let place = (worker * 31 + lost as usize) % among;
        let chosen = self.offered.iter().nth(place).map(|(first, end)| (*first, *end));
        if let Some((trial, end)) = chosen {
            self.offered.remove(&trial);
            self.at(now_us + self.time_us(trial), Event::Ran { worker, trial, end });
        }
    }

    /// The rest of the session's work: it offers more, and reads the heartbeats.
    fn tend(&mut self, now_us: u64) -> u64 {
        let mut then = now_us;
        if then >= self.next_listening_us {
            let (cost_us, messages) =
                (self.costs.times("listen", self.nodes), self.messages(self.nodes));
            then = self.serve(then, cost_us, messages);
            self.next_listening_us = now_us + us(pace::beat(self.nodes as u32));
        }
        if then >= self.next_refill_us {
            self.next_refill_us = then + us(pace::REFILL);
            then = self.offer(then);
        }
        then
    }

    /// Last trial of the share that the session wants next, if its results are there.
    fn next_end(&self) -> Option<usize> {
        let end = self.ends.range(self.kept..).next().copied()?;
        (self.kept..=end).all(|trial| self.delivered.contains(&trial)).then_some(end)
    }

    /// The session keeps the records of the next share, or looks again.
    fn session(&mut self, now_us: u64) {
        let tended = self.tend(now_us);
        let Some(end) = self.next_end() else {
            self.session_busy_us += tended - now_us;
            // Twice it lists the shares that workers have.
            let listed = self.costs.times("entry", 2 * self.nodes);
            let (cost_us, messages) = (self.costs.times("probe", PROBES), self.messages(PROBES));
            let then = self.serve(tended, listed + cost_us, messages);
            self.at(then + us(pace::SESSION_LOOK), Event::Session);
            return;
        };
        let records = end + 1 - self.kept;
        let cost_us = self.costs.times("fetch", 1) + self.costs.times("fetch_record", records);
        let messages = self.messages(1);
        let mut then = self.serve(tended, cost_us, messages) + self.costs.times("keep", records);
        for trial in self.kept..=end {
            self.known_us = (self.known_us.0 + self.time_us(trial), self.known_us.1 + 1);
        }
        self.kept = end + 1;
        self.held = (self.held.0 + records, self.held.1 + 1);
        let is_announced = self.kept.is_multiple_of(self.round) && self.is_race;
        if self.held.0 >= pace::HELD || self.next_end().is_none() || is_announced {
            then += self.costs.times("commit", 1);
            let (cost_us, messages) =
                (self.costs.times("remove", self.held.1), self.messages(self.held.1));
            then = self.serve(then, cost_us, messages);
            self.held = (0, 0);
            self.commits += 1;
        }
        self.session_busy_us += then - now_us;
        if self.kept < self.trials {
            self.announce();
        }
        self.at(then, Event::Session);
    }

    fn run(mut self) -> Outcome {
        self.announce();
        let begun = self.offer(0);
        (0..self.nodes).for_each(|worker| self.at(begun, Event::Look { worker }));
        self.at(begun, Event::Session);
        self.at(begun, Event::Beats);
        let mut end_us = 1;
        while let Some(Reverse((now_us, _, event))) = self.queue.pop() {
            if event == Event::Session && self.kept == self.trials {
                end_us = now_us.max(1);
                break;
            }
            self.handle(now_us, event);
        }
        let work: u64 = (0..self.trials).map(|trial| self.time_us(trial)).sum();
        Outcome {
            efficiency: work as f64 / (end_us as f64 * self.nodes as f64),
            session: self.session_busy_us as f64 / end_us as f64,
            server: self.server_busy_us as f64 / end_us as f64,
            seconds: end_us as f64 / 1e6,
            trials_per_commit: self.trials as f64 / self.commits.max(1) as f64,
        }
    }
}

fn simulated(
    times_us: &[u64],
    costs: &Costs,
    nodes: usize,
    stacks: usize,
    is_race: bool,
) -> Outcome {
    let trials = (nodes * TRIALS_PER_NODE).div_ceil(stacks) * stacks;
    let run = Run {
        times_us,
        costs,
        nodes,
        trials,
        round: stacks,
        is_race,
        queue: BinaryHeap::new(),
        number: 0,
        offered: BTreeMap::new(),
        delivered: BTreeSet::new(),
        ends: BTreeSet::new(),
        known_us: (0, 0),
        announced: 0,
        offered_until: 0,
        kept: 0,
        held: (0, 0),
        commits: 0,
        next_refill_us: us(pace::REFILL),
        next_listening_us: 0,
        server_free_us: 0,
        server_busy_us: 0,
        session_busy_us: 0,
        lost: BTreeMap::new(),
        in_vain: BTreeMap::new(),
    };
    run.run()
}

/// Values by name, of lines or arguments `NAME=VALUE`; a line that begins with `#` is none.
fn values<'t>(
    lines: impl Iterator<Item = &'t str>,
) -> Result<BTreeMap<String, f64>, Box<dyn Error>> {
    let mut values = BTreeMap::new();
    for line in lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (name, value) = line.split_once('=').ok_or("give values as NAME=VALUE")?;
        values.insert(name.to_owned(), value.parse()?);
    }
    Ok(values)
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [times, costs, given @ ..] = words.as_slice() else {
        return Err("name the file with the times of trials and the one with the costs".into());
    };
    let text = std::fs::read_to_string(times)?;
    let seconds: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    if seconds.is_empty() {
        return Err("the file has no times".into());
    }
    let mut known = values(std::fs::read_to_string(costs)?.lines())?;
    known.extend(values(given.iter().map(String::as_str))?);
    let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
    let wanted = known.remove("seconds").unwrap_or(mean);
    let only = known.remove("nodes");
    if let Some(missing) = NAMES.iter().find(|name| !known.contains_key(**name)) {
        return Err(format!("the cost `{missing}` is missing").into());
    }
    if let Some(other) = known.keys().find(|name| !NAMES.contains(&name.as_str())) {
        return Err(format!("unknown cost `{other}`").into());
    }
    let times_us: Vec<u64> =
        seconds.iter().map(|time| (time * wanted / mean * 1e6) as u64).collect();
    let costs = Costs(known);
    println!(
        "seconds,nodes,stacks,rounds,trials/s,efficiency_percent,session_percent,server_percent,trials/commit"
    );
    for nodes in [10, 100, 300, 1000] {
        if only.is_some_and(|only| only as usize != nodes) {
            continue;
        }
        for (stacks, is_race) in [(2, false), (1000, true)] {
            let outcome = simulated(&times_us, &costs, nodes, stacks, is_race);
            let rate = (nodes * TRIALS_PER_NODE) as f64 / outcome.seconds;
            let rounds = if is_race { "one by one" } else { "fixed" };
            let [efficiency, session, server] =
                [outcome.efficiency, outcome.session, outcome.server].map(|share| 100.0 * share);
            println!(
                "{wanted:.1},{nodes},{stacks},{rounds},{rate:.1},{efficiency:.1},{session:.1},{server:.1},{:.1}",
                outcome.trials_per_commit
            );
        }
    }
    Ok(())
}
