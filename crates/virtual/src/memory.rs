//! A guest's memory as a device sees it: addresses that the guest chose, checked at every access.

#[cfg(test)]
pub(crate) mod plain;

/// Memory addressed by a guest.
///
/// Nothing a guest writes is trusted: every access names address and length and may be refused.
pub trait GuestMemory {
    /// Copies from the guest.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`] when any byte is outside the guest's memory; `into` is then unspecified.
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfRange>;

    /// Copies to the guest.
    ///
    /// # Errors
    ///
    /// [`OutOfRange`] when any byte is outside the guest's memory; nothing is then written.
    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfRange>;

    /// A little-endian number of 16 bits.
    ///
    /// # Errors
    ///
    /// As [`read`](GuestMemory::read).
    fn read_u16(&self, address: u64) -> Result<u16, OutOfRange> {
        let mut bytes = [0; 2];
        self.read(address, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }
}

/// An address of the guest that is not its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{length} bytes at {address:#x} are not in the guest's memory")]
pub struct OutOfRange {
    /// Guest-physical address.
    pub address: u64,
    /// Length in bytes.
    pub length: u64,
}

impl OutOfRange {
    /// For an access of `length` bytes.
    #[must_use]
    pub const fn new(address: u64, length: usize) -> Self {
        Self { address, length: length as u64 }
    }
}
