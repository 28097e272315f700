//! Choice of the arm's next action: a read, data from the buffer, or reading ahead if nothing waits.

use std::ops::Range;

use super::disk::{Disk, Motion, Stream, Waiting, What};
use super::mechanics::Cursor;
use crate::front::settled;
use crate::model::Request;

#[cfg(test)]
mod tests;

/// Something the arm could do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    /// The waiting read at this index.
    Read(usize),
    /// Data of a waiting write, from this sector on.
    Write(u64),
    /// Data in the buffer from this sector on.
    Destage(u64),
}

impl Disk {
    /// Time of the arm's next event; `None` while it is idle.
    pub(super) fn motion_event_ns(&self) -> Option<u64> {
        match &self.motion {
            Motion::Still => {
                let since =
                    self.volatile.oldest_since_ns().filter(|_| self.now.waiting.is_empty())?;
                Some((since + self.times.destage_delay_ns).max(self.front.now_ns()))
            }
            Motion::Reading(stream) => Some(stream.must_ns.unwrap_or(stream.limit_ns)),
            Motion::Writing { end_ns, .. } => Some(*end_ns),
        }
    }

    /// The arm has come to the end of something.
    pub(super) fn motion_event(&mut self, now_ns: u64) {
        match &mut self.motion {
            Motion::Reading(stream) => {
                stream.must_ns = None;
                if stream.limit_ns <= now_ns {
                    self.stop_motion(now_ns);
                }
            }
            Motion::Writing { .. } => {
                self.stop_motion(now_ns);
                self.settle_durabilities(now_ns);
                self.admit_writes(now_ns);
            }
            Motion::Still => {}
        }
        self.choose(now_ns);
    }

    /// Takes note of how far a run of reading has come, so that the buffer knows and the run need not be
    /// followed from its start again. Says which sector is next.
    pub(super) fn note_progress(&mut self, now_ns: u64) -> Option<u64> {
        let Motion::Reading(stream) = &mut self.motion else { return None };
        let passed = self.mechanics.passed(stream.cursor, stream.limit, now_ns, false);
        let track = self.mechanics.walk(stream.cursor, stream.limit, now_ns, false);
        if track.lba < stream.limit {
            stream.cursor = track;
        }
        if let Some(segment) = stream.segment {
            self.segments.extend(segment, passed);
            if let Some((first, _)) = stream.before.take_if(|(_, at_ns)| *at_ns < now_ns) {
                self.segments.extend_front(segment, first);
            }
        }
        Some(passed)
    }

    /// Ends the arm's movement and leaves it where it is.
    pub(super) fn stop_motion(&mut self, now_ns: u64) {
        let passed = self.note_progress(now_ns);
        match &self.motion {
            Motion::Still => {}
            Motion::Reading(stream) => {
                let passed = passed.unwrap_or(stream.limit);
                let last = passed.min(stream.limit - 1);
                self.arm = self.mechanics.arm_at(last.max(stream.cursor.lba));
                self.mechanics.turn_past(now_ns, stream.cursor.lba, passed);
            }
            Motion::Writing { range, .. } => {
                self.arm = self.mechanics.arm_at(range.end - 1);
                self.mechanics.turn_past(now_ns, range.start, range.end);
            }
        }
        self.motion = Motion::Still;
    }

    /// Reads no further than `sector`, unless a request waits for more.
    pub(super) fn stop_reading_at(&mut self, now_ns: u64, sector: u64) {
        let Some(passed) = self.note_progress(now_ns) else { return };
        let Motion::Reading(stream) = &mut self.motion else { return };
        let limit = sector.max(stream.must).max(passed);
        if limit >= stream.limit {
            return;
        }
        stream.limit = limit;
        stream.limit_ns = self.mechanics.end_ns(stream.cursor, limit, false);
        if stream.must_ns.is_none() && stream.limit_ns <= now_ns {
            self.stop_motion(now_ns);
        }
    }

    /// Returns true if the arm may start a new action: not while a request waits for passing sectors.
    fn is_free(&self, now_ns: u64) -> bool {
        match &self.motion {
            Motion::Still => true,
            Motion::Writing { .. } => false,
            Motion::Reading(stream) => stream.must_ns.is_none_or(|must_ns| must_ns <= now_ns),
        }
    }

    /// End of the read-ahead after a read from `start` to `end`.
    fn ahead_limit(&self, start: u64, end: u64) -> u64 {
        if self.now.sequential_reads < self.buffer.read_ahead_after {
            return end;
        }
        let sectors = self.front.geometry().sectors_512;
        let limit = (end + self.times.read_ahead).min(sectors);
        if !self.buffer.read_ahead_by_track || self.times.read_ahead == 0 {
            return limit;
        }
        let last = end - 1;
        let track_end = self.mechanics.layout.track_end(last);
        let began = self.segments.begun(start.min(last));
        let earlier = self.mechanics.arm_at(began) != self.mechanics.arm_at(last);
        let by_track = if earlier && track_end < sectors {
            self.mechanics.layout.track_end(track_end)
        } else {
            track_end
        };
        by_track.clamp(end, sectors.max(end))
    }

    /// The buffer served a read up to `end`: reading ahead continues, or starts again once half of it is used up.
    pub(super) fn read_on(&mut self, now_ns: u64, start: u64, end: u64) {
        let wanted = self.ahead_limit(start, end);
        match &mut self.motion {
            Motion::Reading(stream)
                if (stream.cursor.lba..=stream.limit).contains(&end) && wanted > stream.limit =>
            {
                stream.limit = wanted;
                stream.limit_ns = self.mechanics.end_ns(stream.cursor, wanted, false);
            }
            Motion::Still if self.buffer.resumes_read_ahead && self.now.waiting.is_empty() => {
                let from = self.segments.held_until(end.saturating_sub(1));
                if from >= end && from + self.times.read_ahead.div_ceil(2) <= wanted {
                    self.read_from(now_ns, from, from, wanted);
                    if let Motion::Reading(stream) = &mut self.motion {
                        stream.must_ns = None;
                    }
                }
            }
            _ => {}
        }
    }

    /// Lets a read share the run that passes, if its data is about to come: when its last sector has passed.
    pub(super) fn join_stream(&mut self, now_ns: u64, request: &Request) -> Option<u64> {
        let oldest = self.now.waiting.iter().map(|waiting| waiting.ready_ns).min();
        if oldest.is_some_and(|ready_ns| ready_ns + self.times.passed_over_ns < now_ns) {
            return None;
        }
        let passed = self.note_progress(now_ns)?;
        let wanted = self.ahead_limit(request.lba.0, request.end());
        let Motion::Reading(stream) = &mut self.motion else { return None };
        let to_come = (passed..=stream.limit).contains(&request.lba.0);
        let begun = stream.segment.is_some() && self.segments.held_until(request.lba.0) == passed;
        if !(to_come || (begun && request.lba.0 < passed)) {
            return None;
        }
        let passed_ns = self.mechanics.end_ns(stream.cursor, request.end(), false);
        if request.end() > stream.must {
            stream.must = request.end();
            stream.must_ns = Some(passed_ns);
        }
        stream.limit = stream.limit.max(wanted).max(stream.must);
        stream.limit_ns = self.mechanics.end_ns(stream.cursor, stream.limit, false);
        Some(passed_ns)
    }

    /// Gives the free arm the best of what there is to do.
    pub(super) fn choose(&mut self, now_ns: u64) {
        if !self.is_free(now_ns) {
            return;
        }
        self.note_progress(now_ns);
        self.serve_from_buffer(now_ns);
        let Some(choice) = self.best(now_ns) else { return };
        self.stop_motion(now_ns);
        self.now.destaged_last = false;
        match choice {
            Choice::Read(index) => {
                let waiting = self.now.waiting.remove(index);
                self.seek_and_read(now_ns, &waiting);
            }
            Choice::Write(start) => self.destage(now_ns, start),
            Choice::Destage(start) => {
                self.now.destaged_last = true;
                self.destage(now_ns, start);
            }
        }
    }

    /// Reads that waited for the arm while the buffer came to hold their data.
    fn serve_from_buffer(&mut self, now_ns: u64) {
        let mut index = 0;
        while let Some(waiting) = self.now.waiting.get(index).copied() {
            if waiting.ready_ns <= now_ns && self.is_buffered(&waiting.request) {
                self.now.waiting.remove(index);
                self.now.agenda.add(now_ns, What::Fetch(waiting.request.id));
            } else {
                index += 1;
            }
        }
    }

    /// The errand to send the free arm on. Waiting commands (reads, and writes that must reach the medium) and the
    /// buffer, once a request waits for it or its data is old, take turns; within each the one reached first goes first.
    fn best(&mut self, now_ns: u64) -> Option<Choice> {
        if let Some(index) = self.passed_over(now_ns) {
            return Some(Choice::Read(index));
        }
        let commands = self.commands(now_ns);
        let buffered = self.must_destage(now_ns);
        let choices = match (commands.is_empty(), buffered.is_empty()) {
            (false, false) if self.now.destaged_last => commands,
            (_, false) => buffered,
            (false, true) => commands,
            (true, true) if matches!(self.motion, Motion::Still) => self.idle_destage(now_ns),
            (true, true) => Vec::new(),
        };
        let arm = match &self.motion {
            Motion::Reading(stream) => self.mechanics.arm_at(stream.cursor.lba),
            _ => self.arm,
        };
        let reach = |choice: &Choice| {
            let (lba, write) = match *choice {
                Choice::Read(index) => (self.now.waiting[index].request.lba.0, false),
                Choice::Write(start) | Choice::Destage(start) => (start, true),
            };
            self.mechanics.approach(arm, now_ns, lba, write).at_ns
        };
        choices.into_iter().min_by_key(reach)
    }

    /// The read that waits longest, if it was passed over for too long.
    fn passed_over(&self, now_ns: u64) -> Option<usize> {
        let oldest =
            self.now.waiting.iter().enumerate().min_by_key(|(_, waiting)| waiting.ready_ns);
        let (index, waiting) = oldest?;
        (waiting.ready_ns + self.times.passed_over_ns < now_ns).then_some(index)
    }

    /// Waiting commands that need the arm, oldest first, as many as the drive sorts.
    fn commands(&self, now_ns: u64) -> Vec<Choice> {
        let window = self.times.reorder_window;
        let waiting = self.now.waiting.iter().enumerate();
        let reads = waiting.filter(|(_, waiting)| waiting.ready_ns <= now_ns).take(window);
        let mut commands: Vec<Choice> = reads.map(|(index, _)| Choice::Read(index)).collect();
        for write in self.now.durabilities.iter().take(window) {
            let range = write.range.clone();
            let start = self.volatile.start_within(range, write.seq, self.times.destage_run);
            commands.extend(start.map(Choice::Write));
        }
        commands
    }

    /// Data that takes turns with commands: a flush waits for it, or a write for its room, or it is old.
    fn must_destage(&self, now_ns: u64) -> Vec<Choice> {
        let flushed = self.now.flushes.iter().map(|flush| flush.seq).max();
        let old = self.volatile.oldest_since_ns();
        let is_old = old.is_some_and(|since| since + self.times.age_limit_ns <= now_ns);
        match flushed {
            Some(seq) => self.candidates(seq),
            None if is_old || self.is_short_of_room() => self.candidates(u64::MAX),
            None => Vec::new(),
        }
    }

    fn idle_destage(&self, now_ns: u64) -> Vec<Choice> {
        let since = self.volatile.oldest_since_ns();
        if since.is_none_or(|since| since + self.times.destage_delay_ns > now_ns) {
            return Vec::new();
        }
        self.candidates(u64::MAX)
    }

    /// The runs of data among which the drive chooses: the oldest, as many as it sorts.
    fn candidates(&self, seq: u64) -> Vec<Choice> {
        let runs = self.volatile.oldest_runs(self.times.destage_window, seq);
        runs.into_iter().map(Choice::Destage).collect()
    }

    fn seek_and_read(&mut self, now_ns: u64, waiting: &Waiting) {
        let request = waiting.request;
        let start = self.segments.held_until(request.lba.0);
        let must = request.end();
        let (first_ns, end_ns) =
            self.read_from(now_ns, start, must, self.ahead_limit(request.lba.0, must));
        // The bus starts as late as it can without making the data wait, and not before the first sector is there.
        let spare = self.link.transfer_ns(u64::from(request.sectors).saturating_sub(1));
        self.now.agenda.add(first_ns.max(end_ns.saturating_sub(spare)), What::Fetch(request.id));
    }

    /// Sends the arm to `start` to read up to `must`, and up to `limit` if there is a buffer for it. Says when the
    /// first sector and when all up to `must` have passed.
    fn read_from(&mut self, now_ns: u64, start: u64, must: u64, limit: u64) -> (u64, u64) {
        let cursor = self.travel(now_ns, start, false);
        let before = self.passing_before(now_ns, cursor);
        let segment = self.segments.open(start);
        let limit = if segment.is_some() { limit } else { must };
        let must_ns = self.mechanics.end_ns(cursor, must, false);
        let limit_ns = self.mechanics.end_ns(cursor, limit, false);
        let until = Some(must_ns);
        let stream = Stream { segment, cursor, must, must_ns: until, limit, limit_ns, before };
        self.motion = Motion::Reading(stream);
        self.seen.transfer_ns += must_ns - cursor.at_ns;
        (self.mechanics.end_ns(cursor, start + 1, false), must_ns)
    }

    /// The first of the sectors that pass on the track of the cursor while its first is waited for, where the drive
    /// keeps them, and when the last of them has passed.
    fn passing_before(&self, now_ns: u64, cursor: Cursor) -> Option<(u64, u64)> {
        if !self.buffer.reads_before || cursor.lba == 0 {
            return None;
        }
        let place = self.mechanics.layout.place(cursor.lba);
        let waited_ns = self.mechanics.approach(self.arm, now_ns, cursor.lba, false).wait_ns;
        let per_track = u64::from(place.sectors_per_track);
        let passed = waited_ns * per_track / self.mechanics.layout.turn_ns;
        let before = passed.min(place.sector.into()).min(cursor.lba);
        // Bad sectors among them have no address; counting them as read moves the start by their number at most.
        (before > 0).then_some((cursor.lba - before, cursor.at_ns))
    }

    /// Moves the arm to `lba` and counts what that took.
    fn travel(&mut self, now_ns: u64, lba: u64, write: bool) -> Cursor {
        let approach = self.mechanics.approach(self.arm, now_ns, lba, write);
        self.seen.seeks += u64::from(approach.cylinders > 0);
        self.seen.seek_cylinders += u64::from(approach.cylinders);
        self.seen.seek_ns += approach.move_ns;
        self.seen.rotation_ns += approach.wait_ns;
        Cursor { lba, at_ns: approach.at_ns }
    }

    fn destage(&mut self, now_ns: u64, start: u64) {
        let range = self.volatile.run_from(start, self.times.destage_run);
        if range.is_empty() {
            return;
        }
        let pieces = self.volatile.take(range.clone());
        let mut cursor = self.travel(now_ns, range.start, true);
        let turns = self.missing_edges(&range);
        if turns > 0 {
            self.seen.read_modify_writes += 1;
            cursor.at_ns += turns * self.mechanics.lost_turn_ns();
        }
        let end_ns = self.mechanics.end_ns(cursor, range.end, true);
        self.seen.transfer_ns += end_ns - cursor.at_ns;
        self.seen.destages += 1;
        self.motion = Motion::Writing { range, pieces, cursor, end_ns };
    }

    /// Turns lost to reading physical blocks that the run covers only in part, unless the buffer has them.
    fn missing_edges(&self, range: &Range<u64>) -> u64 {
        let block = self.physical_sectors;
        let (head, tail) = (range.start - range.start % block, range.end.next_multiple_of(block));
        let is_missing = |edge: Range<u64>| !edge.is_empty() && !self.segments.covers(&edge);
        let first = is_missing(head..range.start);
        let last = is_missing(range.end..tail);
        let per_track = u64::from(self.mechanics.layout.place(range.start).sectors_per_track);
        if first && last && tail - head > per_track { 2 } else { u64::from(first || last) }
    }

    pub(super) fn writing_sectors(&self) -> u64 {
        match &self.motion {
            Motion::Writing { range, .. } => range.end - range.start,
            _ => 0,
        }
    }

    /// Completes what waited for data to be durable, as far as it is.
    pub(super) fn settle_durabilities(&mut self, now_ns: u64) {
        let writing: Vec<_> = match &self.motion {
            Motion::Writing { pieces, .. } => pieces.iter().collect(),
            _ => Vec::new(),
        };
        let written = settled(&mut self.now.durabilities, &self.volatile, &writing);
        let flushed = settled(&mut self.now.flushes, &self.volatile, &writing);
        for id in written {
            self.now.agenda.add(now_ns, What::Complete(id));
        }
        for id in flushed {
            self.now.agenda.add(now_ns + self.times.flush_ns, What::Complete(id));
        }
    }
}
