//! Models broken on purpose: each fault must be noticed by the checks that the real models pass.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use seekwell_device::evidence::Evidence;
use seekwell_device::{
    Completion, Geometry, LostWrites, Model, Operation, Refused, Request, SectorRange, build, load,
};

use crate::harness::{Run, Violation};
use crate::promises::step;
use crate::small;

/// What is wrong with the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// None: the wrapper itself changes nothing.
    Nothing,
    /// Every 20th completion never comes.
    LosesCompletions,
    /// Every 20th completion comes twice.
    RepeatsCompletions,
    /// Every 20th completion names a request that was never made.
    InventsCompletions,
    /// Completions carry a time before the announced event.
    CompletesEarly,
    /// Completions carry a time from the future.
    CompletesLate,
    /// An announced event lies in the past.
    AnnouncesThePast,
    /// A flush completes at once.
    IgnoresFlushes,
    /// A forced write completes once the buffer has it.
    IgnoresFua,
    /// A device without a volatile cache has one.
    HidesItsCache,
    /// A cut loses a write that nobody made.
    LosesOthersData,
    /// A cut damages what nobody wrote.
    DamagesOthersData,
    /// Overlapping requests complete in any order.
    ReordersOverlaps,
}

#[derive(Debug)]
struct Broken {
    inner: Box<dyn Model>,
    fault: Fault,
    count: u64,
    swapped: Vec<Completion>,
    at_once: Vec<Completion>,
    flushes: Vec<u64>,
}

impl Broken {
    fn new(inner: Box<dyn Model>, fault: Fault) -> Self {
        Self {
            inner,
            fault,
            count: 0,
            swapped: Vec::new(),
            at_once: Vec::new(),
            flushes: Vec::new(),
        }
    }

    fn spoil(&mut self, completion: Completion, now_ns: u64, into: &mut Vec<Completion>) {
        self.count += 1;
        let is_chosen = self.count.is_multiple_of(20);
        match self.fault {
            Fault::LosesCompletions if is_chosen => {}
            Fault::RepeatsCompletions if is_chosen => into.extend([completion, completion]),
            Fault::InventsCompletions if is_chosen => {
                into.push(Completion { id: completion.id + 1_000_000, ..completion });
            }
            Fault::CompletesEarly if is_chosen => {
                into.push(Completion { at_ns: completion.at_ns.saturating_sub(1), ..completion });
            }
            Fault::CompletesLate if is_chosen => {
                into.push(Completion { at_ns: now_ns + 1, ..completion })
            }
            Fault::ReordersOverlaps if self.swapped.is_empty() => self.swapped.push(completion),
            Fault::ReordersOverlaps => {
                into.push(Completion { at_ns: now_ns, ..completion });
                into.extend(
                    self.swapped.drain(..).map(|held| Completion { at_ns: now_ns, ..held }),
                );
            }
            _ => into.push(completion),
        }
    }
}

impl Model for Broken {
    fn duplicate(&self) -> Box<dyn Model> {
        Box::new(Self {
            inner: self.inner.duplicate(),
            fault: self.fault,
            count: self.count,
            swapped: self.swapped.clone(),
            at_once: self.at_once.clone(),
            flushes: self.flushes.clone(),
        })
    }

    fn geometry(&self) -> Geometry {
        let geometry = self.inner.geometry();
        let write_cache = geometry.write_cache && self.fault != Fault::HidesItsCache;
        Geometry { write_cache, ..geometry }
    }

    fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), Refused> {
        let mut passed = request;
        if self.fault == Fault::IgnoresFua {
            passed.fua = false;
        }
        self.inner.submit(now_ns, passed)?;
        if self.fault == Fault::IgnoresFlushes && request.operation == Operation::Flush {
            self.at_once.push(Completion { id: request.id, at_ns: now_ns });
            self.flushes.push(request.id);
        }
        Ok(())
    }

    fn next_event_ns(&self) -> Option<u64> {
        let event = self.inner.next_event_ns();
        let event = self.at_once.first().map(|completion| completion.at_ns).or(event);
        match self.fault {
            Fault::AnnouncesThePast => event.map(|at_ns| at_ns.saturating_sub(1_000_000_000)),
            _ => event,
        }
    }

    fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        completions.append(&mut self.at_once);
        let mut done = Vec::new();
        self.inner.advance(now_ns, &mut done);
        done.retain(|completion| !self.flushes.contains(&completion.id));
        for completion in done {
            self.spoil(completion, now_ns, completions);
        }
    }

    fn power_cut(&mut self, now_ns: u64) -> LostWrites {
        let mut lost = self.inner.power_cut(now_ns);
        let first = SectorRange { lba: seekwell_device::Lba(0), sectors: 1 };
        match self.fault {
            Fault::LosesOthersData => {
                let id = lost.lost.first().map_or(1_000_000, |lost| lost.id);
                let range = SectorRange { sectors: 4096, ..first };
                lost.lost.push(seekwell_device::LostRange { id, range });
            }
            Fault::DamagesOthersData => {
                lost.damaged.push(SectorRange { sectors: 1 << 20, ..first })
            }
            _ => {}
        }
        lost
    }

    fn evidence(&self) -> Evidence {
        self.inner.evidence()
    }
}

/// The violations that random scripts find in `rounds` runs on a device with this fault.
fn found(fault: Fault, rounds: u32) -> Vec<Violation> {
    let file = load(&small::disk(true, 8, 512)).unwrap();
    let mut runner = TestRunner::deterministic();
    let mut violations = Vec::new();
    for round in 0..rounds {
        let steps = proptest::collection::vec(step(), 20..60);
        let steps = steps.new_tree(&mut runner).unwrap().current();
        let mut model = Broken::new(build(&file, round.into()), fault);
        let mut run = Run::new(&mut model);
        let outcome = run.play(&steps, &[]).and_then(|()| match round % 2 {
            0 => run.finish(),
            _ => {
                let at_ns = run.now_ns + 100_000;
                run.cut(at_ns).map(|_| ())
            }
        });
        violations.extend(outcome.err());
    }
    violations
}

#[test]
fn the_wrapper_alone_breaks_nothing() {
    assert_eq!(found(Fault::Nothing, 100), []);
}

#[test]
fn every_planted_fault_is_found_for_what_it_is() {
    let faults = [
        (Fault::LosesCompletions, Violation::NeverCompleted),
        (Fault::RepeatsCompletions, Violation::CompletedTwice),
        (Fault::InventsCompletions, Violation::CompletedUnknown),
        (Fault::CompletesEarly, Violation::CompletedBeforeAnnounced),
        (Fault::CompletesLate, Violation::TimeWentBack),
        (Fault::AnnouncesThePast, Violation::TimeWentBack),
        (Fault::IgnoresFlushes, Violation::FlushIgnored),
        (Fault::IgnoresFua, Violation::FuaLost),
        (Fault::HidesItsCache, Violation::WriteThroughLost),
        (Fault::LosesOthersData, Violation::LostOutsideWrites),
        (Fault::DamagesOthersData, Violation::DamagedOutsideWrites),
        (Fault::ReordersOverlaps, Violation::OverlapReordered),
    ];
    for (fault, expected) in faults {
        let violations = found(fault, 100);
        assert!(violations.contains(&expected), "{fault:?}: found only {violations:?}");
    }
}
