//! One self-contained page: tables and inline drawings, without any network request. With the program
//! that `make web` builds it is interactive; without it the same tables are static.
//!
//! Text that came from outside reaches the page only through [`Page::text`] and
//! [`Page::attribute`], which escape it; markup is made of literals alone.

mod draw;
mod first;
mod forest;
mod frontier;
mod inside;
mod letters;
mod race;
mod scale;
mod sections;
mod summary;
mod trials;

use crate::answer_text::{self, AnswerText, Axes};
use crate::page::{Head, Page};
use crate::program::{PROGRAM, Program};
use crate::stack_table::StackTable;
use crate::view::RunView;
use first::First;
use forest::Forest;
pub use inside::{ExtractError, Inside, extract};
use std::io::{self, Read, Write};
pub use trials::PageTrials;

/// Returns true if `make web` had built the page's program before this was compiled. Without it
/// the page is the plain one.
#[must_use]
pub fn has_program() -> bool {
    PROGRAM.is_some()
}

/// The report as one HTML page that opens from a file and asks nothing of any network. The run file, or the part of it
/// that goes into the page, comes when the page is written.
#[derive(Debug)]
pub struct HtmlPage {
    /// All before the run file.
    before: String,
    /// All after it.
    after: String,
    inside: Inside,
}

impl HtmlPage {
    /// The page of a run whose file has this name. A summary is in it as text (`<script type="application/json"
    /// id="summary">`). Metrics and timelines come from `trials`: the records of the view may be without them.
    #[must_use]
    pub fn of(view: &RunView, trials: &PageTrials, name: &str, inside: Inside) -> Self {
        page(view, trials, name, inside, PROGRAM.as_ref())
    }

    /// Its first characters.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.before
    }

    /// Writes the page with these bytes of the run file inside, as many as were promised.
    ///
    /// # Errors
    /// The error of either.
    pub fn write(&self, run: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.before.as_bytes())?;
        inside::write(self.inside, run, out)?;
        out.write_all(self.after.as_bytes())
    }

    /// The page with these bytes inside, as one text.
    #[must_use]
    pub fn text(&self, mut run: &[u8]) -> String {
        let mut out = Vec::new();
        // Writing to memory does not fail, and all of a page is text.
        let _ = self.write(&mut run, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

fn page(
    view: &RunView,
    trials: &PageTrials,
    name: &str,
    inside: Inside,
    program: Option<&Program>,
) -> HtmlPage {
    let answer = answer_text::answer(view);
    let (text, axes) = (AnswerText::of(view), Axes::of(&view.plan));
    let stacks = StackTable::of(view);
    let forest = Forest::of(view, &axes, &stacks, &answer);
    let first = First { view, answer: &answer, text: &text, axes: &axes, forest: &forest, name };
    let said = if view.is_recording() {
        first::RECORDING.to_owned()
    } else {
        answer_text::joined(&text.pick)
    };
    let title = format!("{}: {said}", view.plan.lab.name);
    let description = first::description(view, &text);
    let head = Head { title: &title, description: &description };
    let mut page = Page::with_program(&head, program);
    first.draw(&mut page, &sections::links(view, program.is_some()), inside);
    sections::stacks(&mut page, view, &stacks);
    if program.is_some() {
        for place in sections::PLACES {
            page.raw(place);
        }
    }
    sections::decision(&mut page, view);
    race::draw(&mut page, view);
    sections::evidence(&mut page, view);
    sections::warnings(&mut page, view);
    sections::uncontrolled(&mut page, view);
    sections::permanent(&mut page, view);
    if program.is_none() {
        sections::trials(&mut page, view, trials);
    }
    sections::left_out(&mut page, view);
    sections::inside(&mut page, name, inside, program.is_some());
    page.data("summary", &summary::summary(view, trials, name, inside));
    let after = Page::fragment().finish_with(program);
    HtmlPage { before: page.into_text(), after, inside }
}

#[cfg(test)]
mod tests;
