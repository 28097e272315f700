//! Plain text of a given width: wrapping, tables, and what may be sent to a terminal.

use unicode_width::UnicodeWidthStr;

/// Columns that a text takes on a terminal.
pub(crate) fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// The text without characters that control a terminal or reorder the text around them: names and
/// labels are untrusted.
pub(crate) fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_harmful(c) { '\u{fffd}' } else { c }).collect()
}

/// Controls, line and paragraph separators, and the bidirectional overrides and isolates.
#[must_use]
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}')
}

/// The text with a capital first.
pub(crate) fn capital(text: &str) -> String {
    // Names of settings stay as they are.
    if text.split(' ').next().is_some_and(|word| word.contains('_')) {
        return text.to_owned();
    }
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

/// The text with numbers that keep their per cent sign, in a form that wraps by itself.
pub(crate) fn glued(text: &str) -> String {
    text.replace(" %", "\u{a0}%")
}

/// Style of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ink {
    Heading,
    Good,
    Doubt,
    Faint,
}

/// Colours of the terminal, if any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Palette {
    pub(crate) colour: bool,
}

impl Palette {
    /// The text in this ink: SGR codes that every terminal of the last decades knows.
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        if !self.colour || text.is_empty() {
            return text.to_owned();
        }
        let code = match ink {
            Ink::Heading => "1",
            Ink::Good => "32",
            Ink::Doubt => "33",
            Ink::Faint => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// Breaks a text at blanks into lines of at most `width` columns; a word that is longer is broken
/// behind a slash or comma, else anywhere. At least one line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in words(text) {
        let gap = usize::from(!line.is_empty());
        if self::width(&line) + gap + self::width(word) <= width {
            line.push_str(if gap == 1 { " " } else { "" });
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut pieces = break_word(word, width);
        line = pieces.pop().unwrap_or_default();
        lines.append(&mut pieces);
    }
    lines.push(line);
    lines
}

/// The words of a text; a number and its per cent sign are one.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim_start();
    std::iter::from_fn(move || {
        let mut end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if rest[end..].starts_with(" %") && rest[..end].ends_with(|c: char| c.is_ascii_digit()) {
            end += rest[end + 1..].find(char::is_whitespace).map_or(rest.len() - end, |at| at + 1);
        }
        let (word, left) = rest.split_at(end);
        rest = left.trim_start();
        (!word.is_empty()).then_some(word)
    })
}

fn break_word(word: &str, width: usize) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    for c in word.chars() {
        let mut longer = piece.clone();
        longer.push(c);
        if self::width(&longer) > width && !piece.is_empty() {
            let at = piece
                .rfind(['/', ',', '_', '-'])
                .map(|at| at + 1)
                // A break in the first half would waste the line.
                .filter(|at| *at < piece.len() && *at * 2 > piece.len())
                .unwrap_or(piece.len());
            let rest = piece.split_off(at);
            pieces.push(std::mem::replace(&mut piece, rest));
        }
        piece.push(c);
    }
    pieces.push(piece);
    pieces
}

/// Facts with a dot between them; lines break between facts only, as far as they fit.
pub(crate) fn facts(facts: &[String], width: usize) -> String {
    let mut out = String::new();
    let mut line = String::new();
    for fact in facts {
        let longer = if line.is_empty() { fact.clone() } else { format!("{line} · {fact}") };
        if self::width(&longer) > width && !line.is_empty() {
            out.push_str(&paragraph("", &line, width));
            line.clone_from(fact);
        } else {
            line = longer;
        }
    }
    out + &paragraph("", &line, width)
}

/// A paragraph of [`harmless`] text: the first line begins with `first`, the others with as many blanks.
pub(crate) fn paragraph(first: &str, text: &str, width: usize) -> String {
    let indent = self::width(first);
    let lines = wrap(&harmless(text), width.saturating_sub(indent).max(20));
    let mut out = String::new();
    for (index, line) in lines.iter().enumerate() {
        let start = if index == 0 { first.to_owned() } else { " ".repeat(indent) };
        out.push_str(&format!("{start}{line}\n"));
    }
    out
}

/// Texts below a title, each behind a mark; nothing without a text.
pub(crate) fn bullets(
    (ink, title): (Ink, &str),
    mark: &str,
    texts: &[String],
    width: usize,
    palette: Palette,
) -> String {
    if texts.is_empty() {
        return String::new();
    }
    let items = texts.iter().map(|text| paragraph(mark, text, width));
    format!("\n{}\n{}", palette.paint(ink, title), items.collect::<String>())
}

/// One column of a [`Table`].
#[derive(Clone, Debug)]
struct Column {
    title: String,
    unit: String,
    numbers: bool,
}

/// A table without lines around it: columns two blanks apart, numbers to the right. The first
/// column wraps when the table would be too wide; columns that were added as optional fall away
/// from the right.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<(Option<Ink>, Vec<String>)>,
}

/// Narrowest that the first column gets before optional columns fall away, and at all.
const NARROWEST: usize = 16;
const GAP: usize = 2;

impl Table {
    /// Adds a column with a title and, below it, a unit that may be empty.
    pub(crate) fn column(&mut self, title: &str, unit: &str, numbers: bool) {
        self.columns.push(Column { title: harmless(title), unit: harmless(unit), numbers });
    }

    /// Adds columns of numbers without a unit.
    pub(crate) fn numbers<const COLUMNS: usize>(&mut self, titles: [&str; COLUMNS]) {
        titles.iter().for_each(|title| self.column(title, "", true));
    }

    /// Adds a row of as many cells as there are columns.
    pub(crate) fn row(&mut self, ink: Option<Ink>, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push((ink, cells.iter().map(|cell| harmless(cell)).collect()));
    }

    /// The table in at most `width` columns, as far as the numbers allow. Columns from `optional`
    /// on are left out when they do not fit; tells how many were.
    pub(crate) fn render(
        &self,
        width: usize,
        optional: usize,
        palette: Palette,
    ) -> (String, usize) {
        let natural: Vec<usize> =
            (0..self.columns.len()).map(|index| self.natural(index)).collect();
        let mut shown = self.columns.len();
        let needed = |shown: usize| natural[1..shown].iter().map(|w| w + GAP).sum::<usize>();
        let label_width = natural.first().copied().unwrap_or(0);
        while shown > optional && needed(shown) + label_width.min(NARROWEST * 2) > width {
            shown -= 1;
        }
        let first = label_width.min(width.saturating_sub(needed(shown)).max(NARROWEST));
        let mut widths = natural;
        if let Some(label) = widths.first_mut() {
            *label = first;
        }
        widths.truncate(shown);
        let titles: Vec<String> = self.columns.iter().map(|column| column.title.clone()).collect();
        let mut out = self.lines(Some(Ink::Faint), &titles, &widths, palette);
        if self.columns.iter().take(shown).any(|column| !column.unit.is_empty()) {
            let units: Vec<String> =
                self.columns.iter().map(|column| column.unit.clone()).collect();
            out.push_str(&self.lines(Some(Ink::Faint), &units, &widths, palette));
        }
        for (ink, cells) in &self.rows {
            out.push_str(&self.lines(*ink, cells, &widths, palette));
        }
        (out, self.columns.len() - shown)
    }

    /// The titles with their units, then the cells of every row.
    pub(crate) fn cells(&self) -> Vec<Vec<String>> {
        let title = |column: &Column| format!("{} {}", column.title, column.unit).trim().to_owned();
        let titles = self.columns.iter().map(title).collect();
        std::iter::once(titles).chain(self.rows.iter().map(|(_, cells)| cells.clone())).collect()
    }

    /// For each column, true if its cells are numbers.
    pub(crate) fn are_numbers(&self) -> impl Iterator<Item = bool> {
        self.columns.iter().map(|column| column.numbers)
    }

    fn natural(&self, index: usize) -> usize {
        let cells = self.rows.iter().map(|(_, cells)| width(&cells[index]));
        let column = &self.columns[index];
        cells.chain([width(&column.title), width(&column.unit)]).max().unwrap_or(0)
    }

    /// One row, which may take several lines.
    fn lines(
        &self,
        ink: Option<Ink>,
        cells: &[String],
        widths: &[usize],
        palette: Palette,
    ) -> String {
        let Some((label_width, rest)) = widths.split_first() else { return String::new() };
        let labels = wrap(&cells[0], *label_width);
        let mut out = String::new();
        for (number, label) in labels.iter().enumerate() {
            let mut line = pad(label, *label_width, false);
            // Numbers are printed on the first line of a label that takes several.
            if number == 0 {
                for (index, cell_width) in rest.iter().enumerate() {
                    line.push_str(&" ".repeat(GAP));
                    let numbers = self.columns[index + 1].numbers;
                    line.push_str(&pad(&cells[index + 1], *cell_width, numbers));
                }
            }
            let line = line.trim_end();
            out.push_str(&ink.map_or_else(|| line.to_owned(), |ink| palette.paint(ink, line)));
            out.push('\n');
        }
        out
    }
}

/// The text with blanks up to this width, in front of it for one at the right.
pub(crate) fn pad(text: &str, to: usize, right: bool) -> String {
    let blanks = " ".repeat(to.saturating_sub(width(text)));
    if right { blanks + text } else { text.to_owned() + &blanks }
}

#[cfg(test)]
mod tests;
