//! Unions of time spans in bounded room. Spans that arrive in the order of their ends cost least.

use std::borrow::Cow;

/// Spans out of order that are kept until they are sorted in.
const LATE: usize = 64 << 10;

/// Spans that do not overlap, earliest first.
#[derive(Clone, Debug)]
pub(crate) struct Spans {
    spans: Vec<(u64, u64)>,
    /// Spans that came out of order.
    late: Vec<(u64, u64)>,
    limit: usize,
    /// Gaps up to this length count as covered. It grows when the room is full, so that the union
    /// gets longer, never shorter.
    gap_ns: u64,
}

impl Spans {
    /// A union of at most `limit` spans.
    pub(crate) fn new(limit: usize) -> Self {
        Self { spans: Vec::new(), late: Vec::new(), limit: limit.max(2), gap_ns: 0 }
    }

    /// Adds the span from `start` to `end`.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start.min(end), end);
        if self.spans.last().is_some_and(|(first, _)| *first > end.saturating_add(self.gap_ns)) {
            self.late.push((start, end));
            if self.late.len() >= LATE {
                self.spans = self.settled().into_owned();
                self.late.clear();
                self.widen_if_full();
            }
            return;
        }
        while let Some((first, last)) = self.spans.pop() {
            if last.saturating_add(self.gap_ns) < start {
                self.spans.push((first, last));
                break;
            }
            start = start.min(first);
            end = end.max(last);
        }
        self.spans.push((start, end));
        self.widen_if_full();
    }

    /// True if the latest span ends after this time.
    pub(crate) fn ends_after(&self, ns: u64) -> bool {
        self.spans.last().is_some_and(|(_, end)| *end > ns)
    }

    /// All spans, also those that came out of order.
    fn settled(&self) -> Cow<'_, [(u64, u64)]> {
        if self.late.is_empty() {
            return Cow::Borrowed(&self.spans);
        }
        let mut all = [self.spans.as_slice(), &self.late].concat();
        all.sort_unstable();
        join(&mut all, self.gap_ns);
        Cow::Owned(all)
    }

    fn widen_if_full(&mut self) {
        if self.spans.len() > self.limit {
            self.widen();
        }
    }

    fn widen(&mut self) {
        while self.spans.len() > self.limit / 2 {
            self.gap_ns = (self.gap_ns * 2).max(1_000);
            join(&mut self.spans, self.gap_ns);
        }
    }

    /// Length of the union.
    pub(crate) fn length(&self) -> u64 {
        self.settled().iter().map(|(start, end)| end - start).sum()
    }

    /// Both together.
    pub(crate) fn joined(&self, other: &Self) -> Self {
        let gap_ns = self.gap_ns.max(other.gap_ns);
        let mut spans = [self.settled(), other.settled()].concat();
        spans.sort_unstable();
        join(&mut spans, gap_ns);
        Self { spans, late: Vec::new(), limit: self.limit, gap_ns }
    }

    /// Length of the part that both cover.
    pub(crate) fn shared(&self, other: &Self) -> u64 {
        let (one, two) = (self.settled(), other.settled());
        let (mut left, mut right) = (one.iter().peekable(), two.iter().peekable());
        let mut length = 0;
        while let (Some(one), Some(two)) = (left.peek(), right.peek()) {
            length += one.1.min(two.1).saturating_sub(one.0.max(two.0));
            if one.1 <= two.1 {
                left.next();
            } else {
                right.next();
            }
        }
        length
    }
}

/// Joins neighbours of sorted spans that are at most `gap_ns` apart.
fn join(spans: &mut Vec<(u64, u64)>, gap_ns: u64) {
    spans.dedup_by(|next, before| {
        let joins = next.0 <= before.1.saturating_add(gap_ns);
        if joins {
            before.1 = before.1.max(next.1);
        }
        joins
    });
}

#[cfg(test)]
mod tests;
