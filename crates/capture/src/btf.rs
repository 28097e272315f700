//! Types of the running kernel, from its BTF: where the members of its structures are.

use crate::error::CaptureError;
use std::collections::HashMap;

/// File with the kernel's types.
pub(crate) const VMLINUX: &str = "/sys/kernel/btf/vmlinux";

const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_TYPEDEF: u32 = 8;

/// The kernel's types, looked up by name.
pub(crate) struct Btf<'a> {
    types: &'a [u8],
    strings: &'a [u8],
    /// Byte offset of each type; type numbers begin at 1.
    places: Vec<usize>,
    structs: HashMap<&'a [u8], usize>,
    typedefs: HashMap<&'a [u8], u32>,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

/// Bytes that follow the head of a type, by its kind; from `Documentation/bpf/btf.rst`.
fn tail(kind: u32, members: usize) -> Option<usize> {
    Some(match kind {
        1 | 14 | 17 => 4,
        3 => 12,
        KIND_STRUCT | KIND_UNION | 15 | 19 => 12 * members,
        6 | 13 => 8 * members,
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

impl<'a> Btf<'a> {
    /// Reads the index of the types.
    ///
    /// # Errors
    /// When the bytes are not BTF, or hold a kind of type that is newer than this program.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, CaptureError> {
        Self::index(bytes).ok_or(CaptureError::Btf("it is damaged or newer than known"))
    }

    fn index(bytes: &'a [u8]) -> Option<Self> {
        if word(bytes, 0)? & 0xffff != 0xeb9f {
            return None;
        }
        let head = word(bytes, 4)? as usize;
        let part = |at: usize| {
            let start = head.checked_add(word(bytes, at)? as usize)?;
            bytes.get(start..start.checked_add(word(bytes, at + 4)? as usize)?)
        };
        let (types, strings) = (part(8)?, part(16)?);
        let mut all = Self {
            types,
            strings,
            places: vec![0],
            structs: HashMap::new(),
            typedefs: HashMap::new(),
        };
        let mut at = 0;
        while at < types.len() {
            let info = word(types, at + 4)?;
            let (kind, members) = ((info >> 24) & 31, (info & 0xffff) as usize);
            let id = u32::try_from(all.places.len()).ok()?;
            all.places.push(at);
            let name = all.string(word(types, at)?)?;
            match kind {
                KIND_STRUCT => drop(all.structs.entry(name).or_insert(at)),
                KIND_TYPEDEF => drop(all.typedefs.entry(name).or_insert(id)),
                _ => {}
            }
            at += 12 + tail(kind, members)?;
        }
        Some(all)
    }

    fn string(&self, offset: u32) -> Option<&'a [u8]> {
        let rest = self.strings.get(offset as usize..)?;
        rest.split(|byte| *byte == 0).next()
    }

    /// Number of a type definition, such as that of a tracepoint.
    pub(crate) fn typedef(&self, name: &str) -> Option<u32> {
        self.typedefs.get(name.as_bytes()).copied()
    }

    /// Number of parameters of a pointer to a function that a type definition names.
    pub(crate) fn parameters(&self, typedef: &str) -> Option<u32> {
        let at = self.prototype(typedef)?;
        word(self.types, at + 4).map(|info| info & 0xffff)
    }

    /// True when the first parameter of such a function, after that of the tracepoint itself, is a
    /// pointer to this structure.
    pub(crate) fn takes(&self, typedef: &str, structure: &str) -> bool {
        let named = || {
            let at = self.prototype(typedef)?;
            if word(self.types, at + 4)? & 0xffff < 2 {
                return None;
            }
            // Name and type of each parameter.
            let pointer = *self.places.get(word(self.types, at + 12 + 8 + 4)? as usize)?;
            let to = *self.places.get(word(self.types, pointer + 8)? as usize)?;
            self.string(word(self.types, to)?)
        };
        named() == Some(structure.as_bytes())
    }

    /// Place of the function's type.
    fn prototype(&self, typedef: &str) -> Option<usize> {
        const KIND_POINTER: u32 = 2;
        const KIND_PROTOTYPE: u32 = 13;
        let mut at = *self.places.get(self.typedef(typedef)? as usize)?;
        for _ in 0..4 {
            match (word(self.types, at + 4)? >> 24) & 31 {
                KIND_PROTOTYPE => return Some(at),
                KIND_TYPEDEF | KIND_POINTER => {
                    at = *self.places.get(word(self.types, at + 8)? as usize)?;
                }
                _ => return None,
            }
        }
        None
    }

    /// Offset of a member in its structure, bytes. Unnamed structures and unions inside are searched.
    pub(crate) fn offset(&self, structure: &str, member: &str) -> Option<u32> {
        let at = *self.structs.get(structure.as_bytes())?;
        self.find(at, member.as_bytes(), 8).map(|bits| bits / 8)
    }

    fn find(&self, at: usize, member: &[u8], depth: u32) -> Option<u32> {
        let info = word(self.types, at + 4)?;
        let kind = (info >> 24) & 31;
        if depth == 0 || (kind != KIND_STRUCT && kind != KIND_UNION) {
            return None;
        }
        // With bit fields the upper eight bits of an offset are a size.
        let mask = if info >> 31 == 1 { 0x00ff_ffff } else { u32::MAX };
        (0..(info & 0xffff) as usize).find_map(|index| {
            let place = at + 12 + 12 * index;
            let name = self.string(word(self.types, place)?)?;
            let bits = word(self.types, place + 8)? & mask;
            if name == member {
                return Some(bits);
            }
            if !name.is_empty() {
                return None;
            }
            let inner = *self.places.get(word(self.types, place + 4)? as usize)?;
            self.find(inner, member, depth - 1).map(|inside| bits + inside)
        })
    }
}

#[cfg(test)]
mod tests;
