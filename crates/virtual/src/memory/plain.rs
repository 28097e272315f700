//! For tests: a guest's memory that is a vector, beginning at a chosen address.

use super::{GuestMemory, OutOfRange};

/// Bytes from `base` on.
#[derive(Clone, Debug)]
pub(crate) struct PlainMemory {
    pub base: u64,
    pub bytes: Vec<u8>,
}

impl PlainMemory {
    pub fn new(base: u64, length: usize) -> Self {
        Self { base, bytes: vec![0; length] }
    }

    fn range(&self, address: u64, length: usize) -> Result<std::ops::Range<usize>, OutOfRange> {
        let fault = OutOfRange::new(address, length);
        let start = address.checked_sub(self.base).and_then(|at| usize::try_from(at).ok());
        let start = start.ok_or(fault)?;
        let end = start.checked_add(length).filter(|end| *end <= self.bytes.len()).ok_or(fault)?;
        Ok(start..end)
    }

    pub fn put_u16(&mut self, address: u64, value: u16) {
        self.write(address, &value.to_le_bytes()).unwrap();
    }

    pub fn get_u16(&self, address: u64) -> u16 {
        self.read_u16(address).unwrap()
    }

    pub fn get<const N: usize>(&self, address: u64) -> [u8; N] {
        let mut bytes = [0; N];
        self.read(address, &mut bytes).unwrap();
        bytes
    }
}

impl GuestMemory for PlainMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        into.copy_from_slice(&self.bytes[self.range(address, into.len())?]);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfRange> {
        let range = self.range(address, from.len())?;
        self.bytes[range].copy_from_slice(from);
        Ok(())
    }
}
