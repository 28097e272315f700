//! Formulas over what trials measured.
//!
//! | written | is |
//! | --- | --- |
//! | `[STEP.METRIC]` | a metric of a step |
//! | `[STEP.device.FIELD]`, `[STEP.journal.FIELD]` | a counter of the device over the step: `reads`, `writes`, `read_bytes`, `written_bytes`, `reads_merged`, `writes_merged`, `flushes`, `busy_ms` |
//! | `[STEP.KIND.pNN]` | a quantile of a latency histogram in seconds: `[poll.fsync.p50]` |
//! | `[STEP.timeline.COLUMN.HOW]` | `max`, `median`, `mean` or `min` of iostat's column over the step; `max10s` of means over windows of 10 s; `median-busy` only of samples in which the device worked (`%util` above 0) |
//! | `[workload.file_size]` | bytes of the file that the lab's workload works on |
//! | `{NAME}` | another measure |
//! | `{NAME*}` | every measure whose name begins so, as arguments of a function |
//! | `+ - * / ( )` | as usual |
//! | `min`, `max`, `tau(A, B)` | functions; the last is Kendall's rank correlation of two lists `{a*}, {b*}` |
//!
//! What is not known makes the whole formula unknown.

mod parse;

pub use parse::parse;

#[cfg(test)]
mod tests;

/// A formula.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(try_from = "String")]
pub struct Formula {
    /// As it was written.
    pub text: String,
    pub(crate) node: Node,
}

impl TryFrom<String> for Formula {
    type Error = FormulaError;

    fn try_from(text: String) -> Result<Self, FormulaError> {
        parse(&text)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Number(f64),
    Path(String),
    Measure(String),
    /// Every measure whose name begins so.
    Group(String),
    Two(char, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Min,
    Max,
    Tau,
}

/// An error in a formula.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the formula '{text}' {problem}")]
pub struct FormulaError {
    text: String,
    problem: String,
}

/// Source of the values of a formula.
pub(crate) trait Source {
    /// Returns the value of a path in brackets.
    fn path(&self, path: &str) -> Option<f64>;
    /// Returns the value of another measure.
    fn measure(&self, name: &str) -> Option<f64>;
    /// Names of measures that begin so, in their order.
    fn group(&self, begin: &str) -> Vec<String>;
}

impl Formula {
    /// Its value; `None` when something of it is unknown, or it is no finite number.
    pub(crate) fn value(&self, source: &dyn Source) -> Option<f64> {
        self.node.value(source).filter(|value| value.is_finite())
    }

    /// Paths in brackets.
    #[must_use]
    pub fn paths(&self) -> Vec<&str> {
        let mut found = Vec::new();
        self.node.walk(&mut |node| {
            if let Node::Path(path) = node {
                found.push(path.as_str());
            }
        });
        found
    }

    /// Names of the measures that it needs; groups by their begin and `*`.
    #[must_use]
    pub fn measures(&self) -> Vec<String> {
        let mut found = Vec::new();
        self.node.walk(&mut |node| match node {
            Node::Measure(name) => found.push(name.clone()),
            Node::Group(begin) => found.push(format!("{begin}*")),
            _ => {}
        });
        found
    }
}

impl Node {
    fn walk<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        visit(self);
        match self {
            Self::Two(_, one, two) => {
                one.walk(visit);
                two.walk(visit);
            }
            Self::Call(_, arguments) => arguments.iter().for_each(|node| node.walk(visit)),
            _ => {}
        }
    }

    fn value(&self, source: &dyn Source) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Path(path) => source.path(path),
            Self::Measure(name) => source.measure(name),
            Self::Group(_) => None,
            Self::Two(operator, one, two) => {
                let (one, two) = (one.value(source)?, two.value(source)?);
                Some(match operator {
                    '+' => one + two,
                    '-' => one - two,
                    '*' => one * two,
                    _ => one / two,
                })
            }
            Self::Call(function, arguments) => {
                let lists = arguments.iter().map(|argument| argument.list(source));
                function.of(&lists.collect::<Option<Vec<_>>>()?)
            }
        }
    }

    /// A group is a list of its measures, anything else a list of one.
    fn list(&self, source: &dyn Source) -> Option<Vec<f64>> {
        match self {
            Self::Group(begin) => {
                source.group(begin).iter().map(|name| source.measure(name)).collect()
            }
            other => Some(vec![other.value(source)?]),
        }
    }
}

impl Function {
    const NAMES: [(&'static str, Self); 3] =
        [("min", Self::Min), ("max", Self::Max), ("tau", Self::Tau)];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    fn of(self, lists: &[Vec<f64>]) -> Option<f64> {
        let all = lists.concat();
        match self {
            Self::Min => all.iter().copied().reduce(f64::min),
            Self::Max => all.iter().copied().reduce(f64::max),
            Self::Tau => match lists {
                [a, b] if a.len() == b.len() && a.len() >= 2 => Some(kendall(a, b)),
                _ => None,
            },
        }
    }
}

/// Kendall's tau (b, which counts ties): pairs in the same order less those in the other.
fn kendall(a: &[f64], b: &[f64]) -> f64 {
    let (mut agree, mut in_a, mut in_b) = (0.0, 0.0, 0.0);
    let side = |x: f64, y: f64| f64::from(i8::from(x > y) - i8::from(x < y));
    for one in 0..a.len() {
        for other in 0..one {
            let (x, y) = (side(a[one], a[other]), side(b[one], b[other]));
            agree += x * y;
            in_a += x * x;
            in_b += y * y;
        }
    }
    agree / f64::sqrt(in_a * in_b)
}
