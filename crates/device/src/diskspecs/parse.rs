//! DiskSim's parameter format: blocks of `name = value`, values being numbers, words, lists and blocks.

use super::ImportError;

/// Blocks within blocks that are followed.
const DEEPEST: usize = 16;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Word(String),
    /// Another file that holds the value.
    Source(String),
    List(Vec<Value>),
    Block(Block),
}

/// `kind name { … }`; the name is empty where the block is a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Block {
    pub(super) kind: String,
    pub(super) name: String,
    entries: Vec<(String, Value)>,
}

impl Block {
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    pub(super) fn number(&self, key: &str) -> Option<f64> {
        match self.get(key)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }
}

/// The first block of a text.
pub(super) fn parse(file: &str, text: &str) -> Result<Block, ImportError> {
    let text = uncommented(text);
    let mut reader = Reader { file, rest: &text, line: 1 };
    let head = reader.until(&['{'], "a block, written TYPE NAME { … }")?;
    let mut words = head.split_whitespace();
    let kind = words.next().unwrap_or_default().to_owned();
    let name = words.collect::<Vec<_>>().join(" ");
    reader.block(kind, name, 0)
}

/// A text without its comments, which go from `#` to the end of a line and may hold anything.
fn uncommented(text: &str) -> String {
    let lines = text.split_inclusive('\n');
    lines.fold(String::with_capacity(text.len()), |mut all, line| {
        match line.split_once('#') {
            Some((value, comment)) => {
                all.push_str(value);
                all.extend(comment.ends_with('\n').then_some('\n'));
            }
            None => all.push_str(line),
        }
        all
    })
}

struct Reader<'t> {
    file: &'t str,
    rest: &'t str,
    line: usize,
}

impl Reader<'_> {
    fn error(&self, reason: impl Into<String>) -> ImportError {
        ImportError::Syntax { file: self.file.to_owned(), line: self.line, reason: reason.into() }
    }

    fn skip(&mut self, bytes: usize) {
        let (skipped, rest) = self.rest.split_at(bytes);
        self.line += skipped.bytes().filter(|byte| *byte == b'\n').count();
        self.rest = rest;
    }

    /// Passes over white space; the character that follows.
    fn next(&mut self) -> Option<char> {
        let blank = self.rest.len() - self.rest.trim_start().len();
        self.skip(blank);
        self.rest.chars().next()
    }

    /// The text up to one of `ends`, which is left where it is.
    fn until(&mut self, ends: &[char], wanted: &str) -> Result<String, ImportError> {
        self.next();
        let Some(end) = self.rest.find(ends) else {
            return Err(self.error(format!("the file ends where {wanted} is expected")));
        };
        let found = self.rest.get(..end).unwrap_or_default().trim().to_owned();
        self.skip(end);
        Ok(found)
    }

    /// A block from its opening brace on.
    fn block(&mut self, kind: String, name: String, depth: usize) -> Result<Block, ImportError> {
        if depth >= DEEPEST {
            return Err(self.error(format!("blocks within blocks more than {DEEPEST} deep")));
        }
        self.skip(1);
        let mut block = Block { kind, name, entries: Vec::new() };
        loop {
            match self.next() {
                Some('}') => {
                    self.skip(1);
                    return Ok(block);
                }
                Some(',') => self.skip(1),
                Some(_) => {
                    let key = self.until(&['=', '}', ']'], "'}'")?;
                    if self.next() != Some('=') {
                        return Err(self.error(format!("'{key}' has no value; write NAME = VALUE")));
                    }
                    if key.contains(['\n', ',']) {
                        return Err(
                            self.error(format!("'{key}' is not a name; write NAME = VALUE"))
                        );
                    }
                    self.skip(1);
                    let value = self.value(depth + 1)?;
                    block.entries.push((key, value));
                }
                None => return Err(self.error("the file ends inside a block; is it cut off?")),
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, ImportError> {
        if depth >= DEEPEST {
            return Err(self.error(format!("values within values more than {DEEPEST} deep")));
        }
        if self.next() == Some('[') {
            self.skip(1);
            return self.list(depth).map(Value::List);
        }
        let text = self.until(&[',', ']', '}', '{', '\n'], "a value")?;
        if self.rest.starts_with('{') {
            return self.block(text, String::new(), depth).map(Value::Block);
        }
        if text.is_empty() {
            return Err(self.error("a value is missing"));
        }
        if let Some(file) = text.strip_prefix("source ") {
            return Ok(Value::Source(file.trim().to_owned()));
        }
        let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite());
        if let Some(number) = number(&text) {
            return Ok(Value::Number(number));
        }
        // A number that is taken for a word would be missing, and its default would count.
        if text.split_whitespace().next().and_then(number).is_some() {
            return Err(self.error(format!("'{text}' is not a number; write it without a unit")));
        }
        Ok(Value::Word(text))
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Value>, ImportError> {
        let mut values = Vec::new();
        loop {
            match self.next() {
                Some(']') => {
                    self.skip(1);
                    return Ok(values);
                }
                Some(',') => self.skip(1),
                Some(_) => values.push(self.value(depth + 1)?),
                None => return Err(self.error("the file ends inside a list; is it cut off?")),
            }
        }
    }
}
