//! Room that the calls of a replay need beyond that of the initial tree.

/// Bytes of data that calls have added and freed so far. What is freed counts in full, with holes and
/// further names of the file: the sum is never more than a filesystem needs.
#[derive(Debug, Default)]
pub(super) struct Room {
    now: i128,
    /// The most that was needed at any time.
    pub(super) most: u64,
}

impl Room {
    pub(super) fn add(&mut self, bytes: u64) {
        self.now += i128::from(bytes);
        self.most = self.most.max(u64::try_from(self.now).unwrap_or(0));
    }

    pub(super) fn free(&mut self, bytes: u64) {
        self.now -= i128::from(bytes);
    }
}
