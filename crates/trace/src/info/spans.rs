//! Unions of time spans that arrive in the order of their ends, in bounded room.

/// Spans that do not overlap, earliest first.
#[derive(Clone, Debug)]
pub(crate) struct Spans {
    spans: Vec<(u64, u64)>,
    limit: usize,
    /// Gaps up to this length count as covered. It grows when the room is full, so that the union
    /// gets longer, never shorter.
    gap_ns: u64,
}

impl Spans {
    /// A union of at most `limit` spans.
    pub(crate) fn new(limit: usize) -> Self {
        Self { spans: Vec::new(), limit: limit.max(2), gap_ns: 0 }
    }

    /// Adds the span from `start` to `end`.
    pub(crate) fn add(&mut self, start: u64, end: u64) {
        let (mut start, mut end) = (start.min(end), end);
        let mut later = Vec::new();
        while let Some((first, last)) = self.spans.pop() {
            if first > end.saturating_add(self.gap_ns) {
                // An end out of order: a few records may be.
                later.push((first, last));
            } else if last.saturating_add(self.gap_ns) >= start {
                start = start.min(first);
                end = end.max(last);
            } else {
                self.spans.push((first, last));
                break;
            }
        }
        self.spans.push((start, end));
        self.spans.extend(later.into_iter().rev());
        if self.spans.len() > self.limit {
            self.widen();
        }
    }

    fn widen(&mut self) {
        while self.spans.len() > self.limit / 2 {
            self.gap_ns = (self.gap_ns * 2).max(1_000);
            let gap_ns = self.gap_ns;
            self.spans.dedup_by(|next, before| {
                let joins = next.0 <= before.1.saturating_add(gap_ns);
                if joins {
                    before.1 = before.1.max(next.1);
                }
                joins
            });
        }
    }

    /// Length of the union.
    pub(crate) fn length(&self) -> u64 {
        self.spans.iter().map(|(start, end)| end - start).sum()
    }

    /// Length of the part that both cover.
    pub(crate) fn shared(&self, other: &Self) -> u64 {
        let (mut left, mut right) = (self.spans.iter().peekable(), other.spans.iter().peekable());
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

#[cfg(test)]
mod tests;
