//! Writing markup: the only place that knows how text becomes part of a page.

use crate::program::{Program, STYLE, STYLE_HASH};
use crate::text::is_harmful;
use serde_json::Value;

/// A page on its way.
#[derive(Debug)]
pub(crate) struct Page {
    out: String,
}

/// The head of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Head<'a> {
    pub(crate) title: &'a str,
    /// Empty for a page without one.
    pub(crate) description: &'a str,
}

/// The one escaper: characters that mean something in markup, in attributes of either quote, and
/// those that control or reorder the text around them.
pub(crate) fn escape(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '`' => out.push_str("&#96;"),
            c if is_harmful(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

impl Page {
    /// A page without a program, up to the start of its content.
    pub(crate) fn new(title: &str) -> Self {
        Self::with_program(&Head { title, ..Head::default() }, None)
    }

    /// A page up to the start of its content; its program follows the content.
    pub(crate) fn with_program(head: &Head<'_>, program: Option<&Program>) -> Self {
        let mut page = Self { out: String::new() };
        let (style, style_hash) =
            program.map_or((STYLE, STYLE_HASH), |program| (program.style, program.style_hash));
        page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        // The policy applies from here on, so it comes before anything that it could forbid.
        page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '");
        page.raw(style_hash);
        if let Some(program) = program {
            page.raw("'; script-src '");
            page.raw(program.hash);
            // The program draws pictures that it saves as PNG.
            page.raw("'; img-src data:; base-uri 'none'; form-action 'none'\">\n");
        } else {
            page.raw("'; base-uri 'none'; form-action 'none'\">\n");
        }
        page.raw(
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
        );
        page.text(head.title);
        page.raw("</title>\n");
        page.meta(head);
        page.raw("<style>");
        page.raw(style);
        page.raw("</style>\n</head>\n<body>\n<main>\n");
        page
    }

    /// The text that other programs show for a link to the page.
    fn meta(&mut self, head: &Head<'_>) {
        if head.description.is_empty() {
            return;
        }
        let all = [
            ("<meta name=\"description\"", head.description),
            ("<meta property=\"og:type\"", "article"),
            ("<meta property=\"og:title\"", head.title),
            ("<meta property=\"og:description\"", head.description),
        ];
        for (open, content) in all {
            self.raw(open);
            self.attribute("content", content);
            self.raw(">\n");
        }
    }

    /// Markup without a page around it.
    pub(crate) fn fragment() -> Self {
        Self { out: String::new() }
    }

    /// The same without memory to spare.
    pub(crate) fn shrunk(mut self) -> Self {
        self.out.shrink_to_fit();
        self
    }

    /// Markup that another page has.
    pub(crate) fn append(&mut self, other: &Self) {
        self.out.push_str(&other.out);
    }

    /// The markup written so far.
    pub(crate) fn into_text(self) -> String {
        self.out
    }

    /// The end of a page without a program.
    pub(crate) fn finish(self) -> String {
        self.finish_with(None)
    }

    /// The end of the page, with its program.
    pub(crate) fn finish_with(mut self, program: Option<&Program>) -> String {
        self.raw("</main>\n");
        if let Some(program) = program {
            self.raw("<script>");
            self.raw(program.text);
            self.raw("</script>\n");
        }
        self.raw("</body>\n</html>\n");
        self.out
    }

    /// Markup, which is always a literal.
    pub(crate) fn raw(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// Text from anywhere.
    pub(crate) fn text(&mut self, text: &str) {
        escape(text, &mut self.out);
    }

    /// ` name="value"` inside a tag.
    pub(crate) fn attribute(&mut self, name: &'static str, value: &str) {
        self.out.push(' ');
        self.out.push_str(name);
        self.out.push_str("=\"");
        escape(value, &mut self.out);
        self.out.push('"');
    }

    /// A number as a coordinate: one decimal, never an exponent; what is no number is 0.
    pub(crate) fn coordinate(&mut self, name: &'static str, value: f64) {
        let value = if value.is_finite() { value } else { 0.0 };
        self.attribute(name, &format!("{value:.1}"));
    }

    /// A number as percent of the width of a drawing.
    pub(crate) fn percent(&mut self, name: &'static str, value: f64) {
        let value = if value.is_finite() { value } else { 0.0 };
        self.attribute(name, &format!("{value:.2}%"));
    }

    /// An element with nothing but text: `open` is all of its first tag, `close` its last.
    pub(crate) fn element(&mut self, open: &'static str, text: &str, close: &'static str) {
        self.raw(open);
        self.text(text);
        self.raw(close);
    }

    /// The title of a column.
    pub(crate) fn column(&mut self, title: &str, is_number: bool) {
        let open =
            if is_number { "<th scope=\"col\" class=\"number\">" } else { "<th scope=\"col\">" };
        self.element(open, title, "</th>");
    }

    /// A cell of a table.
    pub(crate) fn cell(&mut self, text: &str, is_number: bool) {
        self.element(if is_number { "<td class=\"number\">" } else { "<td>" }, text, "</td>");
    }

    /// A part of a drawing with its places in percent of the width; `open` is the start of its tag.
    pub(crate) fn shape(&mut self, open: &'static str, places: &[(&'static str, f64)]) {
        self.raw(open);
        places.iter().for_each(|(name, value)| self.percent(name, *value));
        self.raw("/>");
    }

    /// A list with an item for each text.
    pub(crate) fn list(&mut self, texts: &[String]) {
        self.raw("<ul>\n");
        texts.iter().for_each(|text| self.element("<li>", text, "</li>\n"));
        self.raw("</ul>\n");
    }

    /// Data that is not run: JSON in which no character can end the element.
    pub(crate) fn data(&mut self, id: &'static str, value: &Value) {
        self.raw("<script type=\"application/json\"");
        self.attribute("id", id);
        self.raw(">");
        for c in value.to_string().chars() {
            match c {
                // All of them are inside strings, and none needs a surrogate pair.
                c if matches!(c, '<' | '>' | '&') || is_harmful(c) => {
                    self.out.push_str(&format!("\\u{:04x}", u32::from(c)));
                }
                c => self.out.push(c),
            }
        }
        self.raw("</script>\n");
    }
}
