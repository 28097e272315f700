//! From text to formula.

use super::{Formula, FormulaError, Function, Node};

/// Deepest nesting of parentheses: what people write needs less.
const DEEPEST: usize = 32;

/// Reads a formula.
///
/// # Errors
/// [`FormulaError`] with what is wrong.
pub fn parse(text: &str) -> Result<Formula, FormulaError> {
    let mut parser = Parser { text, rest: text, depth: 0 };
    let node = parser.sum()?;
    parser.skip();
    if !parser.rest.is_empty() {
        return Err(parser
            .wrong(&format!("has '{}' where an operator or its end is expected", parser.rest)));
    }
    Ok(Formula { text: text.to_owned(), node })
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn wrong(&self, problem: &str) -> FormulaError {
        FormulaError { text: self.text.to_owned(), problem: problem.to_owned() }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// One of these characters, when it comes next.
    fn one_of(&mut self, wanted: &str) -> Option<char> {
        self.skip();
        let next = self.rest.chars().next().filter(|next| wanted.contains(*next))?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    fn sum(&mut self) -> Result<Node, FormulaError> {
        let mut node = self.product()?;
        while let Some(operator) = self.one_of("+-") {
            node = Node::Two(operator, Box::new(node), Box::new(self.product()?));
        }
        Ok(node)
    }

    fn product(&mut self) -> Result<Node, FormulaError> {
        let mut node = self.factor()?;
        while let Some(operator) = self.one_of("*/") {
            node = Node::Two(operator, Box::new(node), Box::new(self.factor()?));
        }
        Ok(node)
    }

    fn factor(&mut self) -> Result<Node, FormulaError> {
        if self.one_of("(").is_some() {
            let node = self.nested()?;
            return self.closed(node);
        }
        if self.one_of("[").is_some() {
            return Ok(Node::Path(self.until(']')?.to_owned()));
        }
        if self.one_of("{").is_some() {
            let name = self.until('}')?;
            return Ok(match name.strip_suffix('*') {
                Some(begin) => Node::Group(begin.to_owned()),
                None => Node::Measure(name.to_owned()),
            });
        }
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        if let Ok(number) = word.replace('_', "").parse() {
            return Ok(Node::Number(number));
        }
        let Some(function) = Function::named(word) else {
            return Err(self.wrong(&format!(
                "has '{word}' where a number, [STEP.METRIC], {{MEASURE}} or a function is expected"
            )));
        };
        self.arguments(function)
    }

    fn arguments(&mut self, function: Function) -> Result<Node, FormulaError> {
        if self.one_of("(").is_none() {
            return Err(self.wrong("names a function without its arguments in parentheses"));
        }
        let mut arguments = vec![self.nested()?];
        while self.one_of(",").is_some() {
            arguments.push(self.nested()?);
        }
        self.closed(Node::Call(function, arguments))
    }

    fn nested(&mut self) -> Result<Node, FormulaError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("is nested too deeply"));
        }
        let node = self.sum()?;
        self.depth -= 1;
        Ok(node)
    }

    fn closed(&mut self, node: Node) -> Result<Node, FormulaError> {
        match self.one_of(")") {
            Some(_) => Ok(node),
            None => Err(self.wrong("lacks a closing parenthesis")),
        }
    }

    fn until(&mut self, close: char) -> Result<&'a str, FormulaError> {
        let Some((name, rest)) = self.rest.split_once(close) else {
            return Err(self.wrong(&format!("lacks a '{close}'")));
        };
        self.rest = rest;
        Ok(name.trim())
    }
}
