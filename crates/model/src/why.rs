//! The cause of a difference between two stacks, found by repeating a trial with laws switched off.

use crate::origin::OriginKind;
use serde::{Deserialize, Serialize};

/// Version of the method. It rises with every change that may change a share.
pub const METHOD: u32 = 1;

/// The difference between two stacks, attributed to laws of their modelled machines.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Why {
    /// Version of the method.
    pub method: u32,
    /// Label of the better stack.
    pub better: String,
    /// Label of the worse stack.
    pub worse: String,
    /// `STEP.METRIC` that was judged.
    pub metric: String,
    /// Name of the workload.
    pub workload: String,
    /// Round whose trials were repeated.
    pub round: u32,
    /// Cost of the better stack with every law on: the metric, or its inverse where higher is better.
    pub at_better: f64,
    /// Cost of the worse stack.
    pub at_worse: f64,
    /// False if this version or kernel measures other values than the run file has.
    pub repeats: bool,
    /// Trials that were run.
    pub trials: u32,
    /// Causes, the largest first. Their amounts and [`Why::rest`] add up to the difference.
    pub causes: Vec<Cause>,
    /// The difference that is left with every law off, in the unit of the cost.
    pub rest: f64,
    /// Pairs of causes of which more than a tenth of the difference is due to both together, the strongest first.
    pub interactions: Vec<Interaction>,
    /// The part of the difference that the rest, each cause alone and each pair of causes make, in the unit of the cost;
    /// the remainder takes three or more at once. `None` where causes were not combined.
    pub within_pairs: Option<f64>,
    /// Both stacks with one law off, in the order of the laws: what an improvement of that one would bring.
    pub improvements: Vec<Improvement>,
    /// Block requests of the better and the worse stack; empty where the kernel does not record origins.
    pub traffic: Vec<Traffic>,
    /// Single improvements of the better stack, the best first; empty unless they were asked for.
    pub what_if: Vec<WhatIf>,
    /// Experiments on the machine that made the run; `None` on modelled machines, whose trials repeat exactly.
    pub on_host: Option<OnHost>,
}

/// A single improvement of a stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WhatIf {
    /// Changed part: [`LAW`], [`WRITE_CACHE`], [`MODEL`], or an axis such as `filesystem`.
    pub part: String,
    /// Name of the law that is off, or the new value.
    pub to: String,
    /// Cost of the stack with it; `None` if its trial measured nothing.
    pub cost: Option<f64>,
    /// Price of the device, where the lab gives one.
    pub price: Option<u32>,
    /// True if it may lose data in a power cut that the stack keeps.
    pub is_weaker: bool,
}

/// [`WhatIf::part`] of a law that is off.
pub const LAW: &str = "law";
/// [`WhatIf::part`] of a larger write cache.
pub const WRITE_CACHE: &str = "write cache";
/// [`WhatIf::part`] of another modelled device.
pub const MODEL: &str = "model";

/// The precision and the limits of experiments on a real machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OnHost {
    /// Rounds of every experiment.
    pub rounds: u32,
    /// Half of the 95 % interval of the difference, of each cause in their order, and of the rest.
    pub errors: Vec<f64>,
    /// Causes that were not tested, each with the reason.
    pub not_tested: Vec<String>,
    /// The same stacks on a modelled device; `None` unless it was asked for.
    pub twin: Option<Twin>,
}

/// The stacks of a run on a real machine once more, in guests on a modelled device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Twin {
    /// Name of the model; empty if none is like the run's device.
    pub model: String,
    /// The disk that the model is nearest to; empty if the user named the model.
    pub nearest_to: String,
    /// The reason why its guests measured nothing; `None` if they did.
    pub impossible: Option<String>,
    /// Pairs of stacks that the run separates and the twin measured.
    pub pairs: u32,
    /// Those of them that the twin does not rank as the run does, the better stack of the run first.
    pub disagree: Vec<[String; 2]>,
    /// The causes on the twin; `None` unless the run separates the pair, and the twin ranks every pair as the run does.
    pub why: Option<Box<Why>>,
}

/// Name of the cause on a real machine that replacing the device by memory removes, flushes apart.
pub const DEVICE: &str = "device";

/// Costs with one law off and all others on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Improvement {
    /// Name of the law.
    pub law: String,
    /// Cost of the better stack.
    pub at_better: f64,
    /// Cost of the worse stack.
    pub at_worse: f64,
}

/// A law, or several small ones, and its part of the difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cause {
    /// Names of the laws.
    pub laws: Vec<String>,
    /// Shapley value, in the unit of the cost; negative where the law is in favour of the worse stack.
    pub amount: f64,
    /// Counter that the law acts on, in the judged step of both stacks.
    pub counted: Option<Counted>,
}

/// A counter of the judged step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counted {
    /// Its unit: `flushes`, `MB`.
    pub what: String,
    /// Value of the worse stack.
    pub at_worse: f64,
    /// Value of the better stack.
    pub at_better: f64,
}

/// Two laws that act together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interaction {
    /// Names of the two.
    pub laws: [String; 2],
    /// Shapley interaction index, in the unit of the cost: above 0, both together cost more than the sum of
    /// each alone; below, one hides the other.
    pub amount: f64,
}

/// Block requests of the judged step of a stack, by their origin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Length of the step, until its data is durable.
    pub elapsed_ns: u64,
    /// Bytes of all devices.
    pub device_bytes: u64,
    /// Requests by origin, in the order of [`OriginKind::ALL`], larger ones first.
    pub groups: Vec<Group>,
    /// Ways between places of two origins that were gone most often, the most frequent first.
    pub ways: Vec<Way>,
    /// One in how many requests is drawn.
    pub drawn_every: u32,
    /// Five numbers for each request that is drawn ([`Self::drawn`]).
    pub packed: Vec<u32>,
}

/// Requests of one origin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Group {
    /// The kind.
    pub kind: OriginKind,
    /// The file or directory of data, what flushes follow; empty for the others.
    pub name: String,
    /// Requests.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Sum of the times from submission to completion.
    pub waited_ns: u64,
    /// Place on the devices that half of the requests are below, in bytes.
    pub place: u64,
}

/// A way between requests that follow each other on a device, in either direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Way {
    /// Indices into [`Traffic::groups`].
    pub ends: [usize; 2],
    /// Times that it was gone.
    pub count: u64,
    /// Its mean length in bytes.
    pub mean_bytes: u64,
}

/// One request of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Submission, microseconds since the step began.
    pub at_us: u64,
    /// Time until the device was done.
    pub took_us: u32,
    /// Place, in parts of [`Traffic::PLACES`] of the devices.
    pub place: u32,
    /// Length in KiB.
    pub kib: u32,
    /// Index into [`Traffic::groups`].
    pub group: usize,
}

impl Traffic {
    /// Places of a picture.
    pub const PLACES: u32 = 10_000;

    /// The share of requests whose origin is known.
    #[must_use]
    pub fn known(&self) -> f64 {
        let is_known = |group: &&Group| group.kind != OriginKind::Unknown;
        let count = |groups: &mut dyn Iterator<Item = &Group>| -> u64 {
            groups.map(|group| group.requests).sum()
        };
        let all = count(&mut self.groups.iter()).max(1);
        count(&mut self.groups.iter().filter(is_known)) as f64 / all as f64
    }

    /// Adds a request to the picture. They are added in the order of submission.
    pub fn draw(&mut self, one: Drawn, before_us: u64) {
        let after_us = u32::try_from(one.at_us - before_us).unwrap_or(u32::MAX);
        self.packed.extend([after_us, one.took_us, one.place, one.kib, one.group as u32]);
    }

    /// The requests of the picture.
    pub fn drawn(&self) -> impl Iterator<Item = Drawn> {
        let mut at_us = 0;
        let (rows, _) = self.packed.as_chunks::<5>();
        rows.iter().map(move |&[after_us, took_us, place, kib, group]| {
            at_us += u64::from(after_us);
            Drawn { at_us, took_us, place, kib, group: group as usize }
        })
    }
}

impl Why {
    /// The difference of the two stacks, in the unit of the cost.
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.at_worse - self.at_better
    }

    /// Part of the difference, as a fraction.
    #[must_use]
    pub fn share(&self, amount: f64) -> f64 {
        amount / self.difference()
    }
}
