//! The bytes that a client writes.

#[cfg(test)]
mod tests;

/// Unit in which storage finds equal data: no two of them are equal.
const SECTOR: usize = 512;

/// Bytes after which the same ones may come again but for their stamps: more than compression looks back.
const POOL: usize = 8 << 20;

/// Bytes that storage neither compresses nor finds twice, in any request of any client.
pub(super) struct Data {
    pool: Vec<u8>,
    /// Begin of the next request.
    begin: usize,
    /// Number of the next sector, the client's own.
    sector: u64,
}

impl Data {
    /// The data of a client whose requests have at most `longest` bytes.
    pub(super) fn new(rank: u32, longest: usize) -> Self {
        // No client comes to the sectors of the next one: they are 32 TiB apart.
        let sector = u64::from(rank) << 36;
        let length = (POOL + longest).next_multiple_of(SECTOR);
        let words = (0..length as u64 / 8).map(|word| mixed(!(sector + word)));
        Self { pool: words.flat_map(u64::to_le_bytes).collect(), begin: 0, sector }
    }

    /// The bytes of the next request. Each sector begins with a number of its own.
    pub(super) fn next(&mut self, length: usize) -> &[u8] {
        let begin = self.begin;
        self.begin = (begin + length).next_multiple_of(SECTOR) % POOL;
        let request = &mut self.pool[begin..begin + length];
        for sector in request.chunks_mut(SECTOR) {
            let stamp = mixed(self.sector).to_le_bytes();
            self.sector += 1;
            let shown = sector.len().min(stamp.len());
            sector[..shown].copy_from_slice(&stamp[..shown]);
        }
        request
    }
}

/// Mixes a number; different ones stay different.
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
