//! Records of the rings, as the programs in `bpf/capture.bpf.c` write them.

/// A record.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    Call(CallRecord),
    Path(PathRecord),
    Life(LifeRecord),
    Block(BlockRecord),
    Operation(OperationRecord),
    Wake(WakeRecord),
    /// The same of a process that polled until its child, the waker, had ended.
    Reaped(u32, WakeRecord),
    Fault(FaultRecord),
    Slept(SleptRecord),
    /// A descriptor, or the working directory, that a process has when a program begins in it.
    Held(PathRecord),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRecord {
    pub(crate) number: u32,
    pub(crate) end_ns: u64,
    pub(crate) start_ns: u64,
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) result: i64,
    pub(crate) position: Option<u64>,
    pub(crate) args: [u64; 6],
    /// On-CPU time of the thread since its last call; `None` for its first.
    pub(crate) cpu_ns: Option<u64>,
    /// Time asleep since then.
    pub(crate) waited_ns: Option<u64>,
}

/// Origin of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Opened,
    First,
    Second,
    Directory,
}

#[derive(Clone, Debug)]
pub(crate) struct PathRecord {
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) slot: Slot,
    /// Descriptor, of what was opened.
    pub(crate) fd: Option<i32>,
    /// The other end of a pipe.
    pub(crate) other_fd: Option<i32>,
    pub(crate) inode: u64,
    pub(crate) bytes: u64,
    pub(crate) device: u32,
    pub(crate) mode: u32,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Fork,
    Exec,
    Exit,
}

#[derive(Clone, Debug)]
pub(crate) struct LifeRecord {
    pub(crate) life: Life,
    pub(crate) end_ns: u64,
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) other_process: u32,
    pub(crate) other_thread: u32,
    /// True at the end of the last thread of a process.
    pub(crate) is_last: bool,
    pub(crate) name: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockRecord {
    pub(crate) flags: u32,
    pub(crate) end_ns: u64,
    pub(crate) start_ns: u64,
    pub(crate) process: u32,
    pub(crate) device: u32,
    pub(crate) sector: u64,
    pub(crate) bytes: u32,
    pub(crate) depth: u32,
    /// Name of the process, or of the kernel's thread; zeros after it.
    pub(crate) name: [u8; 16],
}

/// A single operation of asynchronous I/O.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperationRecord {
    /// Operation of `io_uring`, or of libaio from [`LIBAIO`] on.
    pub(crate) code: u32,
    pub(crate) end_ns: u64,
    pub(crate) start_ns: u64,
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) result: i64,
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Descriptor; `None` for the index of a registered file.
    pub(crate) fd: Option<i32>,
    pub(crate) inode: u64,
    pub(crate) device: u32,
    /// `RWF_` flags of reads and writes; 1 for a sync of the data alone.
    pub(crate) flags: u32,
}

/// A thread that slept between its calls until another one woke it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WakeRecord {
    pub(crate) waker: u32,
    /// Time of the wake-up.
    pub(crate) end_ns: u64,
    pub(crate) slept_ns: u64,
    pub(crate) thread: u32,
}

/// A page fault in a mapping of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultRecord {
    /// Bits of the processor's code.
    pub(crate) code: u32,
    pub(crate) start_ns: u64,
    pub(crate) process: u32,
    pub(crate) thread: u32,
    pub(crate) address: u64,
    /// As of a call.
    pub(crate) cpu_ns: Option<u64>,
    pub(crate) waited_ns: Option<u64>,
}

/// Time that a thread slept in its last page fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SleptRecord {
    /// Time of the fault.
    pub(crate) start_ns: u64,
    pub(crate) thread: u32,
    pub(crate) slept_ns: u64,
}

impl FaultRecord {
    /// True for a fault in a call: the time asleep in it is the call's.
    pub(crate) fn is_in_call(&self) -> bool {
        self.code & 8 != 0
    }

    /// True when the page was there and its protection was in the way.
    pub(crate) fn is_protection(&self) -> bool {
        self.code & 1 != 0
    }

    pub(crate) fn is_write(&self) -> bool {
        self.code & 2 != 0
    }
}

/// Type of [`Record::Held`], which the kernels of guests alone write.
const HELD: u32 = 32;

/// Codes of libaio begin here.
pub(crate) const LIBAIO: u32 = 1000;

/// End of what the record in these bytes says, `CLOCK_MONOTONIC`; `None` for bytes that are no record.
pub(crate) fn end_ns(bytes: &[u8]) -> Option<u64> {
    bytes.get(8..16)?.try_into().ok().map(u64::from_ne_bytes)
}

/// Fields of a record at fixed places, all of them inside.
struct Fields<'a, const SIZE: usize>(&'a [u8; SIZE]);

impl<'a, const SIZE: usize> Fields<'a, SIZE> {
    #[inline]
    fn of(bytes: &'a [u8]) -> Option<Self> {
        bytes.first_chunk().map(Self)
    }

    #[inline]
    fn word(&self, at: usize) -> u32 {
        u32::from_ne_bytes(*self.0[at..].first_chunk().unwrap_or(&[0; 4]))
    }

    #[inline]
    fn long(&self, at: usize) -> u64 {
        u64::from_ne_bytes(*self.0[at..].first_chunk().unwrap_or(&[0; 8]))
    }
}

impl Record {
    /// The record in these bytes; `None` for bytes that are not a record.
    #[inline]
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        Some(match Fields::<4>::of(bytes)?.word(0) {
            1 => Self::Call(call(&Fields::of(bytes)?)),
            2 => Self::Path(path(bytes)?),
            HELD => Self::Held(path(bytes)?),
            kind @ 3..=5 => Self::Life(life(kind, &Fields::of(bytes)?)),
            6 => {
                let fields = Fields::<72>::of(bytes)?;
                Self::Block(BlockRecord {
                    flags: fields.word(4),
                    end_ns: fields.long(8),
                    start_ns: fields.long(16),
                    process: fields.word(24),
                    device: fields.word(28),
                    sector: fields.long(32),
                    bytes: fields.word(40),
                    depth: fields.word(44),
                    name: *fields.0.last_chunk()?,
                })
            }
            7 => Self::Operation(operation(&Fields::of(bytes)?)),
            kind @ (8 | 11) => {
                let fields = Fields::<32>::of(bytes)?;
                let wake = WakeRecord {
                    waker: fields.word(4),
                    end_ns: fields.long(8),
                    slept_ns: fields.long(16),
                    thread: fields.word(28),
                };
                if kind == 8 { Self::Wake(wake) } else { Self::Reaped(fields.word(24), wake) }
            }
            9 => {
                let fields = Fields::<56>::of(bytes)?;
                Self::Fault(FaultRecord {
                    code: fields.word(4),
                    start_ns: fields.long(16),
                    process: fields.word(24),
                    thread: fields.word(28),
                    address: fields.long(32),
                    cpu_ns: known(fields.long(40)),
                    waited_ns: known(fields.long(48)),
                })
            }
            10 => {
                let fields = Fields::<40>::of(bytes)?;
                Self::Slept(SleptRecord {
                    start_ns: fields.long(16),
                    thread: fields.word(28),
                    slept_ns: fields.long(32),
                })
            }
            _ => return None,
        })
    }
}

fn operation(fields: &Fields<'_, 80>) -> OperationRecord {
    let is_registered = fields.word(68) & 1 == 1;
    OperationRecord {
        code: fields.word(4),
        end_ns: fields.long(8),
        start_ns: fields.long(16),
        process: fields.word(24),
        thread: fields.word(28),
        result: fields.long(32).cast_signed(),
        offset: fields.long(40),
        length: fields.word(48),
        fd: Some(fields.word(52).cast_signed()).filter(|_| !is_registered),
        inode: fields.long(56),
        device: fields.word(64),
        flags: fields.word(72),
    }
}

#[inline]
fn call(fields: &Fields<'_, 112>) -> CallRecord {
    CallRecord {
        number: fields.word(4),
        end_ns: fields.long(8),
        start_ns: fields.long(16),
        process: fields.word(24),
        thread: fields.word(28),
        result: fields.long(32).cast_signed(),
        position: known(fields.long(40)),
        // One by one: a map of an array is a call for each.
        args: [
            fields.long(48),
            fields.long(56),
            fields.long(64),
            fields.long(72),
            fields.long(80),
            fields.long(88),
        ],
        cpu_ns: known(fields.long(96)),
        waited_ns: known(fields.long(104)),
    }
}

/// The programs write all ones for an unknown number.
fn known(number: u64) -> Option<u64> {
    Some(number).filter(|number| *number != u64::MAX)
}

/// Name of a process; `None` for an empty one.
pub(crate) fn name(bytes: &[u8]) -> Option<String> {
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(name).into_owned()).filter(|name| !name.is_empty())
}

fn life(kind: u32, fields: &Fields<'_, 48>) -> LifeRecord {
    LifeRecord {
        life: [Life::Fork, Life::Exec, Life::Exit][(kind as usize - 3) % 3],
        other_process: fields.word(4),
        end_ns: fields.long(8),
        process: fields.word(16),
        thread: fields.word(20),
        other_thread: fields.word(24),
        is_last: fields.word(28) == 1,
        name: name(&fields.0[32..]),
    }
}

const S_IFMT: u32 = 0o170_000;
const S_IFIFO: u32 = 0o010_000;
const S_IFSOCK: u32 = 0o140_000;

fn path(bytes: &[u8]) -> Option<PathRecord> {
    const HEAD: usize = 64;
    let fields = Fields::<HEAD>::of(bytes)?;
    let size = fields.word(4) as usize;
    let text = bytes.get(HEAD..HEAD.checked_add(size)?)?;
    let slot = match fields.word(48) {
        0 => Slot::Opened,
        1 => Slot::First,
        2 => Slot::Second,
        _ => Slot::Directory,
    };
    let complete = fields.word(52) == 1;
    let (inode, mode) = (fields.long(24), fields.word(44));
    // What has a place in no directory. A pipe has no name there, a socket that of its protocol.
    let is = |kind: u32| {
        let is_nameless = kind == S_IFSOCK || text.iter().all(|byte| *byte == 0);
        slot == Slot::Opened && mode & S_IFMT == kind && !complete && is_nameless
    };
    let text = match slot {
        // As the kernel shows them in /proc.
        _ if is(S_IFIFO) => format!("pipe:[{inode}]"),
        _ if is(S_IFSOCK) => format!("socket:[{inode}]"),
        Slot::Opened | Slot::Directory => walked(text, complete),
        Slot::First | Slot::Second => {
            String::from_utf8_lossy(text.split(|byte| *byte == 0).next()?).into_owned()
        }
    };
    let descriptor = |at: usize| Some(fields.word(at).cast_signed()).filter(|fd| *fd >= 0);
    Some(PathRecord {
        process: fields.word(16),
        thread: fields.word(20),
        slot,
        fd: descriptor(56),
        other_fd: descriptor(60),
        inode,
        bytes: fields.long(32),
        device: fields.word(40),
        mode,
        text,
    })
}

/// The path of names in the order from the file to the root. A path that has no root, or is too deep
/// to be walked, begins with `…/`.
fn walked(names: &[u8], complete: bool) -> String {
    let names = names.strip_suffix(&[0]).unwrap_or(names);
    let mut path = Vec::with_capacity(names.len() + 4);
    path.extend_from_slice(if complete { "" } else { "…" }.as_bytes());
    for name in names.split(|byte| *byte == 0).rev().filter(|name| !name.is_empty()) {
        path.push(b'/');
        path.extend_from_slice(name);
    }
    if path.is_empty() {
        path.push(b'/');
    }
    // Most names are UTF-8, so that the path is looked through once and not copied.
    String::from_utf8(path)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests;
