//! The text of a file with every change in it, each behind its switch.

use std::fmt::Write as _;
use std::ops::Range;

use super::places::{Form, Place};

/// The text with all changes; the first one has the number `first`.
#[must_use]
pub fn rendered(text: &str, places: &[Place], first: u32) -> String {
    let mut changes: Vec<(u32, &Place)> = (first..).zip(places).collect();
    // The outer ones first, and of those with one range the one that was found first.
    changes.sort_by_key(|(number, place)| {
        (place.range.start, std::cmp::Reverse(place.range.end), *number)
    });
    part(text, &(0..text.len()), &changes)
}

/// A part of the text, with the changes within it.
fn part(text: &str, range: &Range<usize>, changes: &[(u32, &Place)]) -> String {
    let mut out = String::new();
    let mut at = range.start;
    let mut rest = changes;
    while let Some(((number, place), later)) = rest.split_first() {
        rest = later;
        let inside = range.start <= place.range.start && place.range.end <= range.end;
        // What lies within a change that was made is part of it.
        if !inside || place.range.start < at {
            continue;
        }
        out.push_str(&text[at..place.range.start]);
        out.push_str(&changed(text, *number, place, later));
        at = place.range.end;
    }
    out.push_str(&text[at..range.end]);
    out
}

fn changed(text: &str, number: u32, place: &Place, later: &[(u32, &Place)]) -> String {
    let on = format!("crate::mutant({number})");
    let inner = |range: &Range<usize>| part(text, range, later);
    let mut out = String::new();
    // Writing to a text does not fail.
    let _ = match &place.form {
        Form::Operator { left, right, before, after } => {
            let (left, right) = (inner(left), inner(right));
            write!(
                out,
                "(if {on} {{ ({left}) {after} ({right}) }} else {{ ({left}) {before} ({right}) }})"
            )
        }
        Form::Negation(operand) => {
            let operand = inner(operand);
            write!(out, "(if {on} {{ ({operand}) }} else {{ !({operand}) }})")
        }
        Form::Condition => write!(out, "({}) != {on}", inner(&place.range)),
        Form::Return(value) => write!(out, " if {on} {{ return {value}; }}"),
        Form::Arm => write!(out, " if !{on}"),
    };
    out
}
