//! Blocks as pieces of blocks that were there before, which is how workloads make them: cut from a pool
//! of random data, with a stamp here and there, so that no filesystem can compress them or find two alike.
//!
//! A block that has little in common with those before it is learnt: kept whole, and pieces of later blocks
//! are looked for in it. Any other is a record of a few words. What is looked at is the window of the
//! blocks learnt last; what is kept is only what a record still needs.

use std::io;
use std::ops::Range;

use super::slots::Slots;
use super::{BLOCK_BYTES, Keeping};

/// Words of 8 bytes in a block.
const WORDS: usize = BLOCK_BYTES / 8;

/// Blocks learnt last in which pieces are looked for: 8 MiB.
const WINDOW_BLOCKS: usize = 2048;

/// Places in the table that finds a piece by its anchor, a power of two.
const ANCHORS: usize = 1 << 17;

/// One word of so many begins a piece that can be found, as a power of two.
const ANCHOR_BITS: u32 = 3;

/// The longest record, in words. A longer one says that the window is out of date.
const LONGEST_RECORD: usize = 32;

/// The shortest piece worth recording, in words.
const SHORTEST_PIECE: usize = 3;

/// In place of a block's number: words of the record itself follow.
const LITERAL: u64 = 0xffff_ffff;

type Block = [u64; WORDS];

/// A block that was learnt.
#[derive(Clone, Copy, Debug)]
struct Learnt {
    /// Slot that holds the block, if anything refers to it.
    slot: u64,
    /// Pieces of it in records.
    pieces: u32,
}

/// Blocks by number.
#[derive(Debug)]
pub(super) struct Packed {
    records: Vec<Option<Box<[u64]>>>,
    free: Vec<u64>,
    record_words: u64,
    learnt: Vec<Learnt>,
    /// The words of the window, as a ring.
    recent: Vec<u64>,
    /// By hash of a word: its position in the learnt text, counted from 1.
    anchors: Vec<u64>,
    /// Learnt blocks.
    pub(super) slots: Slots,
}

impl Packed {
    pub(super) fn new(keeping: Keeping) -> Self {
        Self {
            records: Vec::new(),
            free: Vec::new(),
            record_words: 0,
            learnt: Vec::new(),
            recent: Vec::new(),
            anchors: Vec::new(),
            slots: Slots::new(keeping),
        }
    }

    /// Bytes of all that is kept.
    pub(super) fn bytes(&self) -> u64 {
        self.slots.used() * BLOCK_BYTES as u64 + self.record_words * 8
    }

    /// Bytes in memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        let tables = std::mem::size_of_val(&self.records[..])
            + std::mem::size_of_val(&self.learnt[..])
            + std::mem::size_of_val(&self.recent[..])
            + std::mem::size_of_val(&self.anchors[..]);
        self.slots.memory_bytes() + self.record_words * 8 + tables as u64
    }

    /// Forgets what is needed to add blocks alone. Nothing may be added afterwards.
    pub(super) fn settle(&mut self) {
        self.recent = Vec::new();
        self.anchors = Vec::new();
        self.free = Vec::new();
    }

    /// Keeps a block; its number. Blocks kept one after the other have numbers that follow one another
    /// unless others were given back.
    pub(super) fn add(&mut self, data: &[u8]) -> io::Result<u64> {
        let record = self.record(data)?;
        let number = self.free.pop().unwrap_or(self.records.len() as u64);
        self.record_words += record.len() as u64;
        match self.records.get_mut(number as usize) {
            Some(place) => *place = Some(record),
            None => self.records.push(Some(record)),
        }
        Ok(number)
    }

    /// Keeps another block under a number.
    pub(super) fn replace(&mut self, number: u64, data: &[u8]) -> io::Result<()> {
        let record = self.record(data)?;
        self.record_words += record.len() as u64;
        if let Some(old) = self.records[number as usize].replace(record) {
            self.forget(&old);
        }
        Ok(())
    }

    /// Forgets blocks.
    pub(super) fn give_back(&mut self, numbers: Range<u64>) {
        for number in numbers.rev() {
            if let Some(old) = self.records[number as usize].take() {
                self.forget(&old);
                self.free.push(number);
            }
        }
    }

    /// Fills `into` with a block.
    pub(super) fn read(&self, number: u64, into: &mut [u8; BLOCK_BYTES]) -> io::Result<()> {
        let Some(record) = &self.records[number as usize] else {
            into.fill(0);
            return Ok(());
        };
        let mut at = 0;
        for piece in pieces(record) {
            let to = at..at + piece.words().len() * 8;
            at = to.end;
            match piece {
                Piece::Of { block, words } => {
                    let slot = self.learnt[block].slot;
                    self.slots.read(slot, words.start * 8, &mut into[to])?;
                }
                Piece::Literal(words) => {
                    for (bytes, word) in into[to].as_chunks_mut::<8>().0.iter_mut().zip(words) {
                        *bytes = word.to_le_bytes();
                    }
                }
            }
        }
        Ok(())
    }

    /// A record of a block, with what it refers to kept.
    fn record(&mut self, data: &[u8]) -> io::Result<Box<[u64]>> {
        let mut block = [0; WORDS];
        for (word, bytes) in block.iter_mut().zip(data.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let record = match self.describe(&block) {
            Some(record) => record,
            None => {
                let number = self.learn(&block);
                vec![piece_of(number, 0, WORDS)]
            }
        };
        for piece in pieces(&record) {
            if let Piece::Of { block, .. } = piece {
                self.refer_to(block)?;
            }
        }
        Ok(record.into_boxed_slice())
    }

    /// The block as pieces of the window; `None` when it takes too many.
    fn describe(&self, block: &Block) -> Option<Vec<u64>> {
        let mut record = Vec::new();
        let (mut said, mut at) = (0, 0);
        while at < WORDS {
            let Some((number, start)) = self.find(block[at], at == 0) else {
                at += 1;
                if at - said > LONGEST_RECORD {
                    return None;
                }
                continue;
            };
            let source = self.recent(number);
            let before = |by: &usize| block[at - by] == source[start - by];
            let back = (1..=start.min(at - said)).take_while(before).count();
            let alike = block[at..].iter().zip(&source[start..]);
            let forth = alike.take_while(|(one, other)| one == other).count();
            if back + forth >= SHORTEST_PIECE {
                push_literal(&mut record, &block[said..at - back]);
                record.push(piece_of(number, start - back, back + forth));
                said = at + forth;
            }
            at += forth.max(1);
            if record.len() > LONGEST_RECORD {
                return None;
            }
        }
        push_literal(&mut record, &block[said..]);
        (record.len() <= LONGEST_RECORD).then_some(record)
    }

    /// Returns a position of `word` in the window, if it may begin a piece.
    fn find(&self, word: u64, at_start: bool) -> Option<(usize, usize)> {
        let slot = anchor(word, at_start)?;
        let place = usize::try_from(self.anchors.get(slot)?.checked_sub(1)?).ok()?;
        let (number, start) = (place / WORDS, place % WORDS);
        let in_window = number + WINDOW_BLOCKS >= self.learnt.len();
        (in_window && self.recent(number)[start] == word).then_some((number, start))
    }

    fn recent(&self, number: usize) -> &[u64] {
        let at = number % WINDOW_BLOCKS * WORDS;
        &self.recent[at..at + WORDS]
    }

    fn learn(&mut self, block: &Block) -> usize {
        let number = self.learnt.len();
        self.learnt.push(Learnt { slot: 0, pieces: 0 });
        let at = number % WINDOW_BLOCKS * WORDS;
        if self.recent.len() <= at {
            self.recent.extend_from_slice(block);
        } else {
            self.recent[at..at + WORDS].copy_from_slice(block);
        }
        if self.anchors.is_empty() {
            self.anchors = vec![0; ANCHORS];
        }
        for (start, word) in block.iter().enumerate() {
            if let Some(slot) = anchor(*word, start == 0) {
                self.anchors[slot] = (number * WORDS + start) as u64 + 1;
            }
        }
        number
    }

    /// One more piece of a block of the window, which is kept from the first piece on.
    fn refer_to(&mut self, number: usize) -> io::Result<()> {
        if self.learnt[number].pieces == 0 {
            let mut bytes = [0; BLOCK_BYTES];
            for (bytes, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(self.recent(number)) {
                *bytes = word.to_le_bytes();
            }
            let slot = self.slots.take();
            self.learnt[number].slot = slot;
            self.slots.write(slot, 0, &bytes)?;
        }
        self.learnt[number].pieces += 1;
        Ok(())
    }

    fn forget(&mut self, record: &[u64]) {
        self.record_words -= record.len() as u64;
        for piece in pieces(record) {
            let Piece::Of { block, .. } = piece else { continue };
            let learnt = &mut self.learnt[block];
            learnt.pieces -= 1;
            if learnt.pieces == 0 {
                self.slots.give_back(learnt.slot);
            }
        }
    }
}

/// Returns the index of a word in the table; `None` for a word that starts no piece.
fn anchor(word: u64, at_start: bool) -> Option<usize> {
    let hash = word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let slot = (hash >> (64 - ANCHOR_BITS - ANCHORS.ilog2())) as usize;
    (at_start || slot >> ANCHORS.ilog2() == 0).then_some(slot & (ANCHORS - 1))
}

/// A part of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece<'a> {
    /// Words of a learnt block.
    Of { block: usize, words: Range<usize> },
    /// The words themselves.
    Literal(&'a [u64]),
}

impl Piece<'_> {
    fn words(&self) -> Range<usize> {
        match self {
            Self::Of { words, .. } => words.clone(),
            Self::Literal(words) => 0..words.len(),
        }
    }
}

fn piece_of(block: usize, start: usize, words: usize) -> u64 {
    (block as u64) << 32 | (start as u64) << 16 | words as u64
}

fn push_literal(record: &mut Vec<u64>, words: &[u64]) {
    if !words.is_empty() {
        record.push(LITERAL << 32 | words.len() as u64);
        record.extend_from_slice(words);
    }
}

fn pieces(record: &[u64]) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = record;
    std::iter::from_fn(move || {
        let (head, tail) = rest.split_first()?;
        let words = (head & 0xffff) as usize;
        if head >> 32 == LITERAL {
            let (literal, tail) = tail.split_at(words);
            rest = tail;
            return Some(Piece::Literal(literal));
        }
        rest = tail;
        let start = (head >> 16 & 0xffff) as usize;
        Some(Piece::Of { block: (head >> 32) as usize, words: start..start + words })
    })
}
