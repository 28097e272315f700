//! A lab cut down to the stacks that one measure reads: a fit runs it many times.

use seekwell_model::lab::Match;
use toml::{Table, Value};

#[cfg(test)]
mod tests;

/// The lab's text with these stacks alone, its other settings as they were. Comments are lost.
///
/// # Errors
/// When the text is not TOML.
pub fn narrowed(text: &str, only: &Match) -> Result<String, toml::de::Error> {
    let mut lab: Table = text.parse()?;
    let named = only.named().map(|(axis, name)| (axis.to_owned(), Value::String(name.to_owned())));
    let stack: Table = named.collect();
    if stack.is_empty() {
        return Ok(text.to_owned());
    }
    if let Some(Value::Table(head)) = lab.get_mut("lab") {
        head.insert("stacks_only".to_owned(), Value::Boolean(true));
    }
    lab.remove("exclude");
    lab.insert("stack".to_owned(), Value::Array(vec![Value::Table(stack)]));
    Ok(lab.to_string())
}
