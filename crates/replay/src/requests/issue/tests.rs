use super::{Device, Issue, MOST_IN_FLIGHT, Placed, RequestsReplayed};
use crate::engine::Speed;
use crate::requests::fixture::{request, trace_of};
use crate::requests::place::Place;
use crate::requests::plan::{RequestChoice, plan_requests};
use seekwell_trace::{Operation, Request};
use std::collections::VecDeque;
use std::io;

/// A device that takes as long for each request as its script says; time passes in `wait` alone.
struct Scripted {
    now_ns: u64,
    service_ns: Vec<u64>,
    queued: Vec<(u32, Placed)>,
    issued: Vec<(u64, Placed)>,
    in_flight: Vec<(u64, u32, i32)>,
    over: VecDeque<(u32, i32)>,
    result: Option<i32>,
    /// Time that it takes to return from a wait for a time.
    returns_ns: u64,
}

impl Scripted {
    fn new(service_ns: &[u64]) -> Self {
        Self {
            now_ns: 7_000,
            service_ns: service_ns.to_vec(),
            queued: Vec::new(),
            issued: Vec::new(),
            in_flight: Vec::new(),
            over: VecDeque::new(),
            result: None,
            returns_ns: 0,
        }
    }
}

impl Device for Scripted {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }

    fn queue(&mut self, number: u32, request: &Placed) {
        self.queued.push((number, *request));
    }

    fn submit(&mut self) -> io::Result<()> {
        for (number, request) in std::mem::take(&mut self.queued) {
            let service_ns = self.service_ns[self.issued.len() % self.service_ns.len()];
            self.issued.push((self.now_ns - 7_000, request));
            let result = self.result.unwrap_or(i32::try_from(request.bytes).unwrap());
            self.in_flight.push((self.now_ns + service_ns, number, result));
        }
        Ok(())
    }

    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        let first = self.in_flight.iter().map(|(end_ns, _, _)| *end_ns).min();
        let until_ns = until_ns.map(|until_ns| until_ns + self.returns_ns);
        self.now_ns = first.into_iter().chain(until_ns).min().expect("nothing to wait for");
        let now_ns = self.now_ns;
        self.over
            .extend(self.in_flight.extract_if(.., |one| one.0 <= now_ns).map(|one| (one.1, one.2)));
        Ok(())
    }

    fn completion(&mut self) -> Option<(u32, i32)> {
        self.over.pop_front()
    }
}

fn replayed(requests: &[Request], speed: Speed, device: &mut Scripted) -> RequestsReplayed {
    let (_folder, trace) = trace_of(requests);
    let plan = plan_requests(&trace, &RequestChoice::default()).unwrap();
    let place = Place::new(0, 4096, 1 << 30, 512, false).unwrap();
    Issue::new(&plan, &place, speed, device).run(|| false).unwrap()
}

fn times(device: &Scripted) -> Vec<u64> {
    device.issued.iter().map(|(at_ns, _)| *at_ns).collect()
}

/// Recorded on a device that takes 100 ns: one, then two more together, each 40 ns after the last.
fn recorded() -> Vec<Request> {
    [0, 140, 150, 290].map(|start_ns| request(start_ns, Some(100))).to_vec()
}

#[test]
fn absolute_deadlines_do_not_drift_on_a_device_that_keeps_up() {
    let mut device = Scripted::new(&[100]);
    let result = replayed(&recorded(), Speed::Open(1.0), &mut device);
    assert_eq!(times(&device), [0, 140, 150, 290]);
    assert_eq!((result.span_ns, result.elapsed_ns), (290, 390));
    assert_eq!(result.lateness.max_ns(), Some(0));
    assert_eq!((result.inside_ns, result.issued, result.bytes_read), (400, 4, 4 * 4096));
}

#[test]
fn deadlines_are_kept_whatever_the_device_takes() {
    let mut device = Scripted::new(&[5_000]);
    let result = replayed(&recorded(), Speed::Open(2.0), &mut device);
    assert_eq!(times(&device), [0, 280, 300, 580]);
    assert_eq!((result.span_ns, result.elapsed_ns), (580, 5_580));
}

#[test]
fn dependencies_let_a_faster_device_show_itself() {
    let mut device = Scripted::new(&[10]);
    let result = replayed(&recorded(), Speed::Recorded(1.0), &mut device);
    // 40 and 50 ns after the first end; 40 after that of the second and the third.
    assert_eq!(times(&device), [0, 50, 60, 110]);
    assert_eq!(result.elapsed_ns, 120);
    let mut slow = Scripted::new(&[1_000]);
    replayed(&recorded(), Speed::Recorded(1.0), &mut slow);
    assert_eq!(times(&slow), [0, 1_040, 1_050, 2_090]);
}

#[test]
fn a_later_completion_that_is_over_first_does_not_count_before_the_earlier_one() {
    // The second one is over long before the first; the third waited for both.
    let all = [request(0, Some(100)), request(10, Some(200)), request(220, Some(1))];
    let mut device = Scripted::new(&[500, 20, 1]);
    replayed(&all, Speed::Recorded(1.0), &mut device);
    assert_eq!(times(&device), [0, 10, 510]);
}

#[test]
fn without_pauses_only_completions_are_waited_for() {
    let mut device = Scripted::new(&[10]);
    let result = replayed(&recorded(), Speed::AsFastAsPossible, &mut device);
    assert_eq!(times(&device), [0, 10, 10, 20]);
    assert!(result.lateness.is_empty());
}

#[test]
fn a_full_queue_makes_requests_late_and_loses_none() {
    let all: Vec<Request> = (0..MOST_IN_FLIGHT as u64 + 2).map(|at| request(at, Some(1))).collect();
    let mut device = Scripted::new(&[1_000_000]);
    let result = replayed(&all, Speed::Open(1.0), &mut device);
    let count = MOST_IN_FLIGHT as u64;
    assert_eq!((result.issued, device.issued.len() as u64), (count + 2, count + 2));
    assert_eq!(times(&device)[MOST_IN_FLIGHT..], [1_000_000, 1_000_001]);
    assert_eq!(result.lateness.count(), count + 2);
    assert_eq!(result.lateness.percentile_ns(0.5), Some(0));
    // A histogram keeps the largest value within one part in a hundred.
    assert!(result.lateness.max_ns().unwrap().abs_diff(1_000_000 - count) < 10_000);
}

#[test]
fn failures_are_counted_by_operation_and_error() {
    let write = Request { operation: Operation::Write, ..request(10, Some(1)) };
    let mut device = Scripted::new(&[1]);
    device.result = Some(-libc::EIO);
    let result = replayed(&[request(0, Some(1)), write], Speed::Open(1.0), &mut device);
    let failures: Vec<_> =
        result.failures.iter().map(|(one, n)| (one.operation, one.errno, *n)).collect();
    assert_eq!(failures, [(Operation::Read, libc::EIO, 1), (Operation::Write, libc::EIO, 1)]);
    assert_eq!((result.failed(), result.bytes_read), (2, 0));
    let mut short = Scripted::new(&[1]);
    short.result = Some(512);
    assert_eq!(replayed(&[request(0, Some(1))], Speed::Open(1.0), &mut short).failed(), 1);
}

#[test]
fn waits_end_early_by_the_time_that_it_takes_to_return_from_them() {
    let requests: Vec<Request> = (0..4).map(|nth| request(nth * 10_000, Some(100))).collect();
    let mut device = Scripted { returns_ns: 2000, ..Scripted::new(&[100]) };
    let done = replayed(&requests, Speed::Open(1.0), &mut device);
    // The first wait is late, and the others are exact.
    assert_eq!(times(&device), [0, 12_000, 20_000, 30_000]);
    assert_eq!(done.lateness.max_ns(), Some(2000));
}
