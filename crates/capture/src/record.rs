//! Records of the rings, as the programs in `bpf/capture.bpf.c` write them.

/// A record.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    Call(CallRecord),
    Path(Box<PathRecord>),
    Life(LifeRecord),
    Block(BlockRecord),
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
    pub(crate) end_ns: u64,
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
    pub(crate) name: String,
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
}

impl Record {
    /// End of what it records, `CLOCK_MONOTONIC`.
    pub(crate) fn end_ns(&self) -> u64 {
        match self {
            Self::Call(record) => record.end_ns,
            Self::Path(record) => record.end_ns,
            Self::Life(record) => record.end_ns,
            Self::Block(record) => record.end_ns,
        }
    }

    /// The record in these bytes; `None` for bytes that are not a record.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        Some(match word(0)? {
            1 => {
                let mut args = [0; 6];
                for (nth, arg) in args.iter_mut().enumerate() {
                    *arg = long(48 + 8 * nth)?;
                }
                Self::Call(CallRecord {
                    number: word(4)?,
                    end_ns: long(8)?,
                    start_ns: long(16)?,
                    process: word(24)?,
                    thread: word(28)?,
                    result: long(32)?.cast_signed(),
                    position: Some(long(40)?).filter(|position| *position != u64::MAX),
                    args,
                })
            }
            2 => Self::Path(Box::new(path(bytes)?)),
            kind @ 3..=5 => {
                let name = bytes.get(32..48)?.split(|byte| *byte == 0).next()?;
                Self::Life(LifeRecord {
                    life: [Life::Fork, Life::Exec, Life::Exit][kind as usize - 3],
                    other_process: word(4)?,
                    end_ns: long(8)?,
                    process: word(16)?,
                    thread: word(20)?,
                    name: String::from_utf8_lossy(name).into_owned(),
                })
            }
            6 => Self::Block(BlockRecord {
                flags: word(4)?,
                end_ns: long(8)?,
                start_ns: long(16)?,
                process: word(24)?,
                device: word(28)?,
                sector: long(32)?,
                bytes: word(40)?,
                depth: word(44)?,
            }),
            _ => return None,
        })
    }
}

const S_IFMT: u32 = 0o170_000;
const S_IFIFO: u32 = 0o010_000;
const S_IFSOCK: u32 = 0o140_000;

fn path(bytes: &[u8]) -> Option<PathRecord> {
    const HEAD: usize = 64;
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let long = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
    let size = word(4)? as usize;
    let text = bytes.get(HEAD..HEAD.checked_add(size)?)?;
    let slot = match word(48)? {
        0 => Slot::Opened,
        1 => Slot::First,
        2 => Slot::Second,
        _ => Slot::Directory,
    };
    let complete = word(52)? == 1;
    let (inode, mode) = (long(24)?, word(44)?);
    let nameless = !complete && text.iter().all(|byte| *byte == 0);
    let text = match slot {
        // As the kernel shows them in /proc.
        Slot::Opened if nameless && mode & S_IFMT == S_IFIFO => format!("pipe:[{inode}]"),
        Slot::Opened if nameless && mode & S_IFMT == S_IFSOCK => format!("socket:[{inode}]"),
        Slot::Opened | Slot::Directory => walked(text, complete),
        Slot::First | Slot::Second => {
            String::from_utf8_lossy(text.split(|byte| *byte == 0).next()?).into_owned()
        }
    };
    Some(PathRecord {
        end_ns: long(8)?,
        thread: word(20)?,
        slot,
        fd: Some(word(56)?.cast_signed()).filter(|fd| *fd >= 0),
        other_fd: Some(word(60)?.cast_signed()).filter(|fd| *fd >= 0),
        inode,
        bytes: long(32)?,
        device: word(40)?,
        mode,
        text,
    })
}

/// The path of names in the order from the file to the root. A path that has no root, or is too deep
/// to be walked, begins with `…/`.
fn walked(names: &[u8], complete: bool) -> String {
    let names = names.strip_suffix(&[0]).unwrap_or(names);
    let mut path = String::from(if complete { "" } else { "…" });
    for name in names.split(|byte| *byte == 0).rev().filter(|name| !name.is_empty()) {
        path.push('/');
        path.push_str(&String::from_utf8_lossy(name));
    }
    if path.is_empty() { "/".to_owned() } else { path }
}

#[cfg(test)]
mod tests;
