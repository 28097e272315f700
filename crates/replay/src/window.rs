//! A mapping of a part of a file, whose pages a replay touches.

use rustix::fd::BorrowedFd;
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

const PAGE: u64 = 4096;

/// Pages that are read at a touch of one of a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Pages around it too.
    #[default]
    Around,
    /// That page alone (`MADV_RANDOM`).
    Single,
    /// Those that follow (`MADV_SEQUENTIAL`).
    Ahead,
}

impl Reading {
    /// The reading that advice of madvise asks for; `None` for advice that does not change it.
    pub(crate) fn advised(advice: u64) -> Option<Self> {
        Some(match advice {
            0 => Self::Around,
            1 => Self::Single,
            2 => Self::Ahead,
            _ => return None,
        })
    }

    /// Flags of an operation that touches a page.
    pub(crate) fn touch(self, writes: bool) -> u64 {
        u64::from(writes) | (self as u64) << 1
    }

    /// Reads the flags of an operation that touches a page; true for a write.
    pub(crate) fn of_touch(flags: u64) -> (Self, bool) {
        (Self::advised(flags >> 1).unwrap_or_default(), flags & 1 != 0)
    }

    fn advice(self) -> Advice {
        match self {
            Self::Around => Advice::Normal,
            Self::Single => Advice::Random,
            Self::Ahead => Advice::Sequential,
        }
    }
}

/// Slot of a descriptor, and which of those that it held so far.
pub(crate) type Place = (u64, u32);

/// A shared mapping, which ends with this value.
#[derive(Debug)]
pub(crate) struct Window {
    /// The descriptor that was mapped: a slot may hold another one by the next touch.
    place: Place,
    from: u64,
    bytes: u64,
    writes: bool,
    reading: Reading,
    at: *mut libc::c_void,
}

impl Window {
    /// Maps this many bytes of a file, which need not have so many.
    ///
    /// # Errors
    ///
    /// The error of the kernel.
    pub(crate) fn new(
        file: BorrowedFd<'_>,
        place: Place,
        from: u64,
        bytes: u64,
        (reading, writes): (Reading, bool),
    ) -> Result<Self, Errno> {
        let rights = if writes { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        let length = usize::try_from(bytes).map_err(|_| Errno::NOMEM)?;
        // SAFETY: a new mapping at an address of the kernel's choice, which no code dereferences.
        let at =
            unsafe { mmap(std::ptr::null_mut(), length, rights, MapFlags::SHARED, file, from)? };
        let bytes = bytes.next_multiple_of(PAGE);
        let mut window = Self { place, from, bytes, writes, reading: Reading::default(), at };
        window.advise(reading);
        Ok(window)
    }

    /// The slot of its descriptor.
    pub(crate) fn slot(&self) -> u64 {
        self.place.0
    }

    /// Reads pages this way from now on.
    pub(crate) fn advise(&mut self, reading: Reading) {
        if self.reading == reading {
            return;
        }
        self.reading = reading;
        // SAFETY: the range is this value's own mapping; advice changes nothing in it.
        let _ = unsafe { madvise(self.at, self.bytes as usize, reading.advice()) };
    }

    /// True if the page of this descriptor's file at this offset can be touched here.
    pub(crate) fn serves(&self, place: Place, offset: u64, writes: bool) -> bool {
        let end = self.from.saturating_add(self.bytes);
        self.place == place && (self.from..end).contains(&offset) && (self.writes || !writes)
    }

    /// Brings the page at this offset, which the window [serves](Self::serves), into memory.
    ///
    /// # Errors
    ///
    /// The error of the kernel: the page lies behind the end of the file, or could not be read.
    pub(crate) fn touch(&self, offset: u64, writes: bool) -> Result<i64, Errno> {
        let advice = if writes { Advice::LinuxPopulateWrite } else { Advice::LinuxPopulateRead };
        let into = usize::try_from((offset - self.from) / PAGE * PAGE).map_err(|_| Errno::INVAL)?;
        // SAFETY: the page is inside of this value's own mapping; nothing in it changes.
        unsafe { madvise(self.at.byte_add(into), PAGE as usize, advice) }.map(|()| 0)
    }

    /// Brings all pages into memory but those behind the end of the file, which cannot be read.
    pub(crate) fn read(&self) {
        // SAFETY: the range is this value's own mapping; nothing in it changes.
        let _ = unsafe { madvise(self.at, self.bytes as usize, Advice::LinuxPopulateRead) };
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        // SAFETY: the mapping was made in `new`, and ends here.
        let _ = unsafe { munmap(self.at, self.bytes as usize) };
    }
}

#[cfg(test)]
mod tests;
