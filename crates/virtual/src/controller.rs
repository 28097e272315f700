//! The controller of virtual time: guest and disks take turns in the order of their events.
//!
//! One thread, no races: either the guest has the token of the clock and the controller waits for its
//! message, or the guest waits and the controller picks the next event. When a disk and the guest want
//! the same instant, the disk goes first.

mod halt;
mod silence;

use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use seekwell_device::SectorRange;
use seekwell_device::evidence::Evidence;

use crate::clock::{FOREVER_NS, Running, SharedClock, TimeMessage, TimeOperation, Transport};
use crate::content::Content;
use crate::end::End;
use crate::fingerprint::{Event, Fingerprint};
use crate::link::{self, LinkFault, TimeLink};
use crate::mailbox::{Kind, Reader, Saying};
use crate::port::{Handled, Port, PortFault};
use crate::process::GuestProcess;
use silence::Silence;

pub use halt::{Halt, Limits};

/// Interval at which a silent guest is checked.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);

/// A guest that runs freely reports after so much virtual time, which tells progress from a hang.
const FREE_RUN_NS: u64 = 1_000_000_000;

/// Turns between two looks at the wall clock.
const TURNS_PER_LOOK: u32 = 4096;

/// Events of the disks without an answer or progress of time after which a model counts as stuck.
const MOST_IDLE_EVENTS: u32 = 1_000_000;

/// The log of the requests to measured disks.
#[derive(Debug, Default)]
pub struct Notes {
    /// The rolling hash.
    pub fingerprint: Fingerprint,
    /// Every event, if they are to be kept.
    pub events: Option<Vec<Event>>,
    /// Parts of the command's output as they arrived.
    pub heard: Vec<OutputPart>,
}

/// A part of the standard output of the guest's command.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputPart {
    /// Arrival, in nanoseconds of virtual time.
    pub at_ns: u64,
    /// Bytes of it.
    pub bytes: usize,
    /// Work done by each measured disk so far.
    pub evidence: Vec<Evidence>,
}

impl Notes {
    fn take(&mut self, event: Event) {
        self.fingerprint.add(&event);
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }
}

/// New contents of the measured disks, in their order, with the sectors that cannot be read.
pub type Replacement = Vec<(Content, Vec<SectorRange>)>;

/// Hears a guest's messages.
pub type Hear<'a> = dyn FnMut(Saying) -> Option<Replacement> + 'a;

/// The disk that is the mailbox.
#[derive(Debug)]
pub struct Mailbox {
    /// Its position among the ports.
    pub port: usize,
    /// Reader, at the position reached so far.
    pub reader: Reader,
}

/// A descriptor that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ready {
    Time,
    TimeConnection,
    Disk(usize),
    DiskConnection(usize),
    Answer(usize),
}

/// The controller of virtual time.
#[derive(Debug)]
pub struct Controller<'a> {
    process: &'a mut GuestProcess,
    scene: Scene,
    time: Option<TimeLink>,
    shared: bool,
    /// A disk has rung for the guest, which must run now.
    rung: bool,
    /// The side that has the token of the clock.
    turn: Running,
    /// Virtual time.
    pub now_ns: u64,
    /// Next event of the guest, from its message.
    requested_ns: Option<u64>,
    /// Limit of the guest's free run, from our last message.
    told_free_until_ns: u64,
    sequence: u32,
    started: Instant,
    /// Host time from the start to the guest's first word.
    pub first_word: Option<Duration>,
    turns: u32,
    idle_events: u32,
}

/// The endpoints that a guest connects to, and its limits.
#[derive(Debug)]
pub struct Scene {
    /// Socket on which the guest connects to its clock.
    pub listener: UnixListener,
    /// The clock.
    pub clock: SharedClock,
    /// Nanoseconds since 1970 at virtual time 0.
    pub epoch_ns: u64,
    /// The disks: those measured first.
    pub ports: Vec<Port>,
    /// Number of measured steps.
    pub measured: usize,
    /// The mailbox among the ports.
    pub mailbox: Mailbox,
    /// Limits of the trial.
    pub limits: Limits,
    /// Ends the trial when it is raised.
    pub stop: Arc<AtomicBool>,
    /// Log of requests and output.
    pub notes: Notes,
}

impl<'a> Controller<'a> {
    /// Before the first word of a guest that was started at `started`.
    #[must_use]
    pub fn new(process: &'a mut GuestProcess, scene: Scene, started: Instant) -> Self {
        Self {
            process,
            scene,
            time: None,
            shared: false,
            rung: false,
            turn: Running::Guest,
            now_ns: 0,
            requested_ns: None,
            told_free_until_ns: 0,
            sequence: 0,
            started,
            first_word: None,
            turns: 0,
            idle_events: 0,
        }
    }

    /// Controls the clock until the trial is over; `hear` gets the guest's messages, and may answer with new
    /// contents of the measured disks.
    pub fn run(&mut self, hear: &mut Hear<'_>) -> Halt {
        loop {
            let outcome = match self.turn {
                Running::Guest => self.listen(),
                Running::Controller => self.decide(hear),
            };
            if let Err(halt) = outcome.and_then(|()| self.look_at_the_clock()) {
                return match halt {
                    Halt::Fault(PortFault::Link(LinkFault::Closed)) => Halt::Gone,
                    other => other,
                };
            }
        }
    }

    /// Returns the transport of the guest.
    #[must_use]
    pub fn transport(&self) -> Transport {
        let rings = self.scene.ports.iter().any(|port| port.rings);
        match (self.shared, rings) {
            (false, _) => Transport::Messages,
            (true, false) => Transport::SharedClock,
            (true, true) => Transport::Bells,
        }
    }

    /// The disks and what was noted of them.
    #[must_use]
    pub fn into_parts(self) -> (Vec<Port>, Notes) {
        (self.scene.ports, self.scene.notes)
    }

    /// Waits for the next message of the guest, which has the token, and handles it.
    fn listen(&mut self) -> Result<(), Halt> {
        let buffered = |port: &Port| port.link.as_ref().is_some_and(|link| link.has_message());
        let ready = match self.scene.ports.iter().position(buffered) {
            Some(index) => Ready::Disk(index),
            None => self.wait(None)?,
        };
        self.shared = self.shared || self.scene.clock.is_taken();
        self.hear_bells()?;
        match ready {
            Ready::Time => {
                let message = self.time()?.receive()?;
                self.heed(message)
            }
            Ready::TimeConnection => {
                let stream = link::accept(&self.scene.listener).map_err(Halt::System)?;
                self.time = Some(TimeLink::new(stream));
                Ok(())
            }
            Ready::DiskConnection(index) => Ok(self.scene.ports[index].accept()?),
            Ready::Disk(index) => match self.scene.ports[index].handle() {
                Ok(Handled::Done) => Ok(()),
                Ok(Handled::Kick { answer }) => self.kicked(index, answer),
                Err(PortFault::Link(LinkFault::Closed)) => {
                    self.scene.ports[index].leave();
                    Ok(())
                }
                Err(fault) => Err(fault.into()),
            },
            Ready::Answer(_) => Ok(()),
        }
    }

    fn kicked(&mut self, index: usize, answer: bool) -> Result<(), Halt> {
        if self.shared {
            self.learn_time(self.scene.clock.now_ns())?;
        }
        self.scene.ports[index].take_requests(self.now_ns)?;
        self.limit_free_run()?;
        if answer {
            self.scene.ports[index].answer_kick()?;
        }
        Ok(())
    }

    /// Takes what drivers have rung for. A guest that rang lets no time pass before it is heard.
    fn hear_bells(&mut self) -> Result<(), Halt> {
        if !self.shared {
            return Ok(());
        }
        let mut kicks = self.scene.clock.take_kicks();
        if kicks == 0 {
            return Ok(());
        }
        self.learn_time(self.scene.clock.now_ns())?;
        while kicks != 0 {
            let index = kicks.trailing_zeros() as usize;
            kicks &= kicks - 1;
            if let Some(port) = self.scene.ports.get_mut(index) {
                port.rings = true;
                port.take_requests(self.now_ns)?;
            }
        }
        self.limit_free_run()
    }

    /// Handles a message of the guest to its clock.
    fn heed(&mut self, message: TimeMessage) -> Result<(), Halt> {
        let mut answer = message.ack(0);
        match message.operation {
            TimeOperation::Start => return self.start(message),
            TimeOperation::Request => self.requested_ns = Some(message.time_ns),
            TimeOperation::Get => answer.time_ns = self.now_ns,
            TimeOperation::TimeOfDay => answer.time_ns = self.scene.epoch_ns,
            TimeOperation::Update => self.learn_time(message.time_ns)?,
            TimeOperation::Broadcast => {}
            TimeOperation::Wait => {
                self.turn = Running::Controller;
                if self.shared {
                    return Ok(());
                }
            }
            operation @ (TimeOperation::Ack | TimeOperation::Run | TimeOperation::FreeUntil) => {
                return Err(Halt::OutOfTurn(operation));
            }
        }
        Ok(self.time()?.send(&answer)?)
    }

    /// The first message: the guest gets the clock's memory, and takes it or not.
    fn start(&mut self, message: TimeMessage) -> Result<(), Halt> {
        let answer = message.ack(u64::from(crate::clock::GUEST));
        let Some(time) = &mut self.time else { return Err(Halt::Gone) };
        // The kernel wants exactly two files; the second is for a log that it never writes.
        let file = self.scene.clock.file().as_fd();
        Ok(time.send_with_files(&answer, &[file, file])?)
    }

    fn learn_time(&mut self, claimed_ns: u64) -> Result<(), Halt> {
        let next = self.next_disk_event();
        if claimed_ns < self.now_ns || next.is_some_and(|next| claimed_ns > next.max(self.now_ns)) {
            return Err(Halt::Time { from_ns: self.now_ns, to_ns: claimed_ns });
        }
        self.now_ns = claimed_ns;
        Ok(())
    }

    fn next_disk_event(&self) -> Option<u64> {
        self.scene.ports.iter().filter_map(|port| port.disk.next_event_ns(self.now_ns)).min()
    }

    /// Until when the guest may run by itself.
    fn free_until(&self) -> u64 {
        let report_ns = self.now_ns.saturating_add(FREE_RUN_NS).min(FOREVER_NS);
        self.next_disk_event().map_or(report_ns, |event_ns| event_ns.min(report_ns))
    }

    /// Makes sure that a running guest stops at the next event of a disk.
    fn limit_free_run(&mut self) -> Result<(), Halt> {
        let until_ns = self.free_until();
        if self.shared {
            self.scene.clock.set_free_until(until_ns);
            return Ok(());
        }
        if until_ns < self.told_free_until_ns {
            self.tell(TimeOperation::FreeUntil, until_ns)?;
            self.told_free_until_ns = until_ns;
        }
        Ok(())
    }

    /// Sends a message and takes the guest's acknowledgement, handling the messages before it.
    fn tell(&mut self, operation: TimeOperation, time_ns: u64) -> Result<(), Halt> {
        self.sequence = self.sequence.wrapping_add(1);
        let sequence = self.sequence;
        self.time()?.send(&TimeMessage { operation, sequence, time_ns })?;
        loop {
            let message = self.time()?.receive()?;
            if message.operation == TimeOperation::Ack {
                let expected = message.sequence == sequence;
                let operation = message.operation;
                return if expected { Ok(()) } else { Err(Halt::OutOfTurn(operation)) };
            }
            self.heed(message)?;
        }
    }

    /// The guest waits: the next event is a disk's, or its own.
    fn decide(&mut self, hear: &mut Hear<'_>) -> Result<(), Halt> {
        let wanted = if self.shared { self.scene.clock.request_ns() } else { self.requested_ns };
        let wanted = wanted.filter(|wanted| *wanted < FOREVER_NS);
        let wanted = if self.rung { Some(self.now_ns) } else { wanted };
        let due = self.next_disk_event();
        match (due, wanted) {
            (_, Some(wanted)) if due.is_none_or(|due| wanted < due) => self.let_guest_run(wanted),
            (Some(due), _) => self.let_disks_answer(due, hear),
            (None, _) => Err(Halt::Ended(End::Deadlock)),
        }
    }

    fn let_disks_answer(&mut self, at_ns: u64, hear: &mut Hear<'_>) -> Result<(), Halt> {
        self.pass_to(at_ns)?;
        if self.shared {
            self.scene.clock.set_now(self.now_ns);
            self.scene.clock.set_running(Running::Controller);
        }
        let mut called = Vec::new();
        let now_ns = self.now_ns;
        for (index, port) in self.scene.ports.iter_mut().enumerate() {
            if port.disk.next_event_ns(now_ns).is_none_or(|due| due > now_ns) {
                continue;
            }
            let measured = index < self.scene.measured;
            let notes = &mut self.scene.notes;
            let mut record = |event| {
                if measured {
                    notes.take(event)
                }
            };
            if port.advance(now_ns, &mut record)? {
                called.push(index);
            }
        }
        if called.contains(&self.scene.mailbox.port) {
            self.empty_mailbox(hear)?;
        }
        self.idle_events = if called.is_empty() { self.idle_events + 1 } else { 0 };
        if self.idle_events > MOST_IDLE_EVENTS {
            return Err(Halt::ModelStuck(now_ns));
        }
        if self.shared {
            self.scene.clock.set_free_until(self.free_until());
        }
        for index in called {
            if self.scene.ports[index].rings {
                self.scene.clock.ring_calls(1 << index);
                self.rung = true;
            } else {
                self.scene.ports[index].call()?;
                self.await_answer(index)?;
            }
        }
        Ok(())
    }

    /// The guest takes a call in a signal handler and may ask its clock while it does.
    fn await_answer(&mut self, index: usize) -> Result<(), Halt> {
        loop {
            match self.wait(Some(index))? {
                Ready::Answer(_) => return Ok(self.scene.ports[index].take_answer()?),
                Ready::Time => {
                    let message = self.time()?.receive()?;
                    self.heed(message)?;
                }
                _ => {}
            }
        }
    }

    fn empty_mailbox(&mut self, hear: &mut Hear<'_>) -> Result<(), Halt> {
        loop {
            let Mailbox { port, reader } = &mut self.scene.mailbox;
            let content = self.scene.ports[*port].disk.content();
            let Some(saying) = reader.next(content).map_err(Halt::System)? else { return Ok(()) };
            self.first_word.get_or_insert_with(|| self.started.elapsed());
            if saying.kind == Kind::Output {
                let measured = self.scene.ports.iter().take(self.scene.measured);
                let evidence = measured.map(|port| port.disk.evidence()).collect();
                let heard = OutputPart { at_ns: self.now_ns, bytes: saying.bytes.len(), evidence };
                self.scene.notes.heard.push(heard);
            }
            let replaced = hear(saying).into_iter().flatten();
            for (port, (content, damaged)) in self.scene.ports.iter_mut().zip(replaced) {
                port.disk.replace(content, damaged);
            }
        }
    }

    fn let_guest_run(&mut self, at_ns: u64) -> Result<(), Halt> {
        self.pass_to(at_ns)?;
        let now_ns = self.now_ns;
        let until_ns = self.free_until();
        self.requested_ns = None;
        self.rung = false;
        self.idle_events = 0;
        self.turn = Running::Guest;
        if self.shared {
            self.scene.clock.set_now(now_ns);
            self.scene.clock.set_free_until(until_ns);
            self.scene.clock.set_running(Running::Guest);
            self.sequence = self.sequence.wrapping_add(1);
            let run = TimeMessage {
                operation: TimeOperation::Run,
                sequence: self.sequence,
                time_ns: now_ns,
            };
            return Ok(self.time()?.send(&run)?);
        }
        self.tell(TimeOperation::FreeUntil, until_ns)?;
        self.told_free_until_ns = until_ns;
        self.tell(TimeOperation::Run, now_ns)
    }

    fn pass_to(&mut self, at_ns: u64) -> Result<(), Halt> {
        if at_ns > self.scene.limits.virtual_ns {
            return Err(Halt::Ended(End::VirtualLimit));
        }
        self.now_ns = self.now_ns.max(at_ns);
        Ok(())
    }

    fn look_at_the_clock(&mut self) -> Result<(), Halt> {
        self.turns = self.turns.wrapping_add(1);
        if !self.turns.is_multiple_of(TURNS_PER_LOOK) {
            return Ok(());
        }
        self.look_at_the_limits()
    }

    fn look_at_the_limits(&self) -> Result<(), Halt> {
        if self.scene.stop.load(Ordering::Relaxed) {
            return Err(Halt::Ended(End::CalledOff));
        }
        if self.started.elapsed() >= self.scene.limits.wall {
            return Err(Halt::Ended(End::WallLimit));
        }
        Ok(())
    }

    fn time(&mut self) -> Result<&mut TimeLink, Halt> {
        self.time.as_mut().ok_or(Halt::Gone)
    }

    /// Waits until something can be read: with `answer`, only what may come while a call is open.
    fn wait(&mut self, answer: Option<usize>) -> Result<Ready, Halt> {
        let mut silent: Option<Silence> = None;
        loop {
            if let Some(ready) = self.poll(answer)? {
                return Ok(ready);
            }
            if self.process.poll_exit().map_err(Halt::System)?.is_some() {
                return Err(Halt::Gone);
            }
            self.look_at_the_limits()?;
            let used = self.process.cpu_ticks();
            silent.get_or_insert_with(|| Silence::new(used)).judge(used, self.scene.limits.spin)?;
        }
    }

    fn poll(&self, answer: Option<usize>) -> Result<Option<Ready>, Halt> {
        let mut sources = Vec::with_capacity(self.scene.ports.len() + 2);
        match &self.time {
            Some(time) => sources.push((Ready::Time, time.as_fd())),
            None => sources.push((Ready::TimeConnection, self.scene.listener.as_fd())),
        }
        if let Some(index) = answer {
            let link = self.scene.ports[index]
                .call
                .as_ref()
                .map(|link| (Ready::Answer(index), link.as_fd()));
            sources.extend(link);
        } else {
            for (index, port) in self.scene.ports.iter().enumerate() {
                let link = port.link.as_ref().map(|link| (Ready::Disk(index), link.as_fd()));
                let connection = || {
                    port.listener().map(|listener| (Ready::DiskConnection(index), listener.as_fd()))
                };
                sources.extend(link.or_else(connection));
            }
        }
        let mut descriptors: Vec<PollFd<'_>> =
            sources.iter().map(|(_, fd)| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let timeout = Timespec::try_from(WATCH_INTERVAL).ok();
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(0) | Err(rustix::io::Errno::INTR) => Ok(None),
            Ok(_) => {
                let readable = |descriptor: &PollFd<'_>| !descriptor.revents().is_empty();
                let position = descriptors.iter().position(readable);
                Ok(position.map(|position| sources[position].0))
            }
            Err(error) => Err(Halt::System(error.into())),
        }
    }
}

#[cfg(test)]
mod tests;
