//! Simulates a run on many nodes: workers that take trials from a shared folder, and the session that keeps
//! their records.
//!
//! `cargo run -p seekwell-bench --example cluster_scaling -- TIMES [NAME=MICROSECONDS…]`
//!
//! TIMES has the host time of a measured trial in seconds on each line. The costs by name, assumed if not given: `keep`
//! (the session reads and stores a record), `commit` (it makes those of a share durable), `op` (the server of the folder
//! makes, renames, opens or removes a file), `sync` (it makes one durable), `entry` (it lists one name of a folder).
//! `work` is the time of trials that a worker takes together. The server does one thing at a time. The
//! same input gives the same output.
//!
//! Prints a line per number of nodes and stacks: efficiency (time of the trials over time of the nodes), and how busy
//! session and server are.

#![allow(clippy::print_stdout, reason = "a measuring program prints its figures")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::error::Error;

/// Trials that the session offers at once, of rounds that are certain to run.
const AHEAD: usize = 32_768;

/// Time between the first looks of an idle worker; it doubles three times, each after four looks.
const LOOK_US: u64 = 100_000;

/// Time between two heartbeats for each worker, and its least and most.
const BEAT_US: (u64, u64, u64) = (10_000, 2_000_000, 15_000_000);

/// Shares that are offered for each worker, and at least.
const OFFERS: (usize, usize) = (4, 64);

/// Parts into which the trials that are left are cut for each worker.
const PARTS: usize = 2;

/// Most trials of a share.
const MOST: u64 = 64;

/// Time between two looks of the session at the number of offers.
const REFILL_US: u64 = 200_000;

/// Operations of a heartbeat: make, rename, read.
const BEAT_OPS: u64 = 3;

/// Time between two looks of a session that waits for a record.
const SESSION_LOOK_US: u64 = 50_000;

/// Most doublings of the offers among which a worker chooses.
const MOST_DOUBLINGS: u32 = 12;

/// Trials for each node in a simulated run.
const TRIALS_PER_NODE: usize = 60;

/// Costs of the parts, in µs.
#[derive(Clone, Copy)]
struct Costs {
    keep: u64,
    commit: u64,
    work: u64,
    op: u64,
    sync: u64,
    entry: f64,
}

/// Things that happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A worker looks for a trial.
    Look { worker: usize },
    /// The server has done the listing and the renames of a look.
    Asked { worker: usize },
    /// A worker has run a trial of its share, which ends before another one.
    Ran { worker: usize, trial: usize, end: usize },
    /// The result of the last trial is in the folder.
    Delivered { worker: usize },
    /// The session looks for the record that it wants next.
    Session,
    /// All workers and the session show that they live.
    Beats,
    /// The session offers more.
    Refill,
}

/// One run.
struct Run<'a> {
    times_us: &'a [u64],
    costs: Costs,
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
}

impl Run<'_> {
    fn at(&mut self, time_us: u64, event: Event) {
        self.number += 1;
        self.queue.push(Reverse((time_us, self.number, event)));
    }

    /// End of work that the server begins when it is free.
    fn serve(&mut self, now_us: u64, cost_us: u64) -> u64 {
        self.server_free_us = self.server_free_us.max(now_us) + cost_us;
        self.server_busy_us += cost_us;
        self.server_free_us
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

    /// Trials of the next share.
    fn size(&self) -> usize {
        let (sum, number) = self.known_us;
        let Some(mean) = sum.checked_div(number) else { return 1 };
        let enough = self.costs.work.div_ceil(mean.max(1)).clamp(1, MOST) as usize;
        let fair = (self.announced - self.offered_until) / (PARTS * self.nodes);
        enough.min(fair).max(1)
    }

    /// Offers shares until there are enough for all workers; returns the end of it.
    fn offer(&mut self, now_us: u64) -> u64 {
        // Before the time of a trial is known, one for each worker.
        let each = if self.known_us.1 == 0 { 1 } else { OFFERS.0 };
        let enough = (each * self.nodes).max(OFFERS.1);
        let listed = (self.costs.entry * self.offered.len() as f64) as u64 + self.costs.op;
        let mut new = 0;
        while self.offered.len() < enough && self.offered_until < self.announced {
            let end = (self.offered_until + self.size()).min(self.announced);
            self.offered.insert(self.offered_until, end);
            self.offered_until = end;
            new += 1;
        }
        // Each offer is made and renamed.
        self.serve(now_us, listed + new * 2 * self.costs.op)
    }

    fn handle(&mut self, now_us: u64, event: Event) {
        match event {
            Event::Look { worker } => {
                let listing = (self.costs.entry * self.offered.len() as f64) as u64 + self.costs.op;
                let tries = if self.offered.is_empty() { 0 } else { 2 * self.costs.op };
                let then = self.serve(now_us, listing + tries);
                self.lost.insert(worker, 0);
                self.at(then, Event::Asked { worker });
            }
            Event::Asked { worker } => self.asked(now_us, worker),
            Event::Ran { worker, trial, end } => {
                // Open, write and sync; the last one is renamed.
                let is_last = trial + 1 == end;
                let ops = if is_last { 3 } else { 2 };
                let then = self.serve(now_us, ops * self.costs.op + self.costs.sync);
                self.delivered.insert(trial);
                if is_last {
                    self.ends.insert(trial);
                    self.at(then, Event::Delivered { worker });
                } else {
                    let next = Event::Ran { worker, trial: trial + 1, end };
                    self.at(then + self.time_us(trial + 1), next);
                }
            }
            Event::Delivered { worker } => self.at(now_us, Event::Look { worker }),
            Event::Refill => {
                self.offer(now_us);
                if self.kept < self.trials {
                    self.at(now_us + REFILL_US, Event::Refill);
                }
            }
            Event::Session => self.session(now_us),
            Event::Beats => {
                // Those of all workers, and the session reads them all.
                let ops = (self.nodes as u64 + 1) * BEAT_OPS + self.nodes as u64;
                self.serve(now_us, ops * self.costs.op);
                if self.kept < self.trials {
                    let (each, least, most) = BEAT_US;
                    let pause_us = (each * self.nodes as u64).clamp(least, most);
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
                let pause_us = LOOK_US << (*in_vain / 4).min(3);
                *in_vain += 1;
                self.lost.remove(&worker);
                self.at(now_us + pause_us, Event::Look { worker });
            }
            return;
        }
        // Looks overlap: others that ask meanwhile want the same trial.
        let rivals = self.lost.len().saturating_sub(1);
        let among = 1_usize << lost.min(MOST_DOUBLINGS);
        if rivals > among && !worker.is_multiple_of(rivals / among + 1) {
            self.lost.insert(worker, lost + 1);
            let then = self.serve(now_us, 2 * self.costs.op);
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

    /// The session keeps the records of the next share, or looks again.
    fn session(&mut self, now_us: u64) {
        let end = self.ends.range(self.kept..).next().copied();
        let end = end.filter(|end| (self.kept..=*end).all(|trial| self.delivered.contains(&trial)));
        let Some(end) = end else {
            let then = self.serve(now_us, 3 * self.costs.op);
            self.at(then + SESSION_LOOK_US, Event::Session);
            return;
        };
        let records = (end + 1 - self.kept) as u64;
        let stored = self.serve(now_us, 2 * self.costs.op) + self.costs.keep * records;
        let stored = stored + self.costs.commit;
        self.session_busy_us += stored - now_us;
        for trial in self.kept..=end {
            self.known_us = (self.known_us.0 + self.time_us(trial), self.known_us.1 + 1);
        }
        self.kept = end + 1;
        if self.kept < self.trials {
            self.announce();
            self.at(stored, Event::Session);
        }
    }

    fn run(mut self) -> Outcome {
        self.announce();
        let begun = self.offer(0);
        self.at(begun + REFILL_US, Event::Refill);
        (0..self.nodes).for_each(|worker| self.at(begun, Event::Look { worker }));
        self.at(begun, Event::Session);
        self.at(begun, Event::Beats);
        let mut end_us = 1;
        while let Some(Reverse((now_us, _, event))) = self.queue.pop() {
            self.handle(now_us, event);
            if self.kept == self.trials {
                end_us = now_us.max(1);
                break;
            }
        }
        let work: u64 = (0..self.trials).map(|trial| self.time_us(trial)).sum();
        Outcome {
            efficiency: work as f64 / (end_us as f64 * self.nodes as f64),
            session: self.session_busy_us as f64 / end_us as f64,
            server: self.server_busy_us as f64 / end_us as f64,
            seconds: end_us as f64 / 1e6,
        }
    }
}

fn simulated(
    times_us: &[u64],
    costs: Costs,
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
        server_free_us: 0,
        server_busy_us: 0,
        session_busy_us: 0,
        lost: BTreeMap::new(),
        in_vain: BTreeMap::new(),
    };
    run.run()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let path = words.next().ok_or("name the file with the times of trials")?;
    let text = std::fs::read_to_string(path)?;
    let seconds: Vec<f64> = text.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    let times_us: Vec<u64> = seconds.iter().map(|time| (time * 1e6) as u64).collect();
    let _ = times_us.first().ok_or("the file has no times")?;
    let mut costs =
        Costs { keep: 1100, commit: 6500, work: 10_000_000, op: 200, sync: 2000, entry: 0.5 };
    for word in words {
        let (name, value) = word.split_once('=').ok_or("give costs as NAME=MICROSECONDS")?;
        match name {
            "keep" => costs.keep = value.parse()?,
            "commit" => costs.commit = value.parse()?,
            "work" => costs.work = value.parse()?,
            "op" => costs.op = value.parse()?,
            "sync" => costs.sync = value.parse()?,
            "entry" => costs.entry = value.parse()?,
            other => return Err(format!("unknown cost {other}").into()),
        }
    }
    println!("nodes,stacks,rounds,trials/s,efficiency_percent,session_percent,server_percent");
    for nodes in [2, 10, 100, 300, 1000] {
        for (stacks, is_race) in [(2, false), (1000, true)] {
            let outcome = simulated(&times_us, costs, nodes, stacks, is_race);
            let rate = (nodes * TRIALS_PER_NODE) as f64 / outcome.seconds;
            let rounds = if is_race { "one by one" } else { "fixed" };
            let [efficiency, session, server] =
                [outcome.efficiency, outcome.session, outcome.server].map(|share| 100.0 * share);
            println!(
                "{nodes},{stacks},{rounds},{rate:.1},{efficiency:.1},{session:.1},{server:.1}"
            );
        }
    }
    Ok(())
}
