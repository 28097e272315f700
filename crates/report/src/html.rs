//! One self-contained page: tables and inline drawings, no script, no request.
//!
//! Text that came from outside reaches the page only through [`Page::text`] and
//! [`Page::attribute`], which escape it; markup is made of literals alone.

mod draw;
mod page;
mod sections;

use crate::curves;
use crate::view::RunView;
pub(crate) use page::Page;
use seekwell_model::bench::BenchResult;

/// The style sheet; nothing in a page has a style of its own.
const STYLE: &str = include_str!("html/page.css");
/// Hash of [`STYLE`] for the content security policy; a test compares the two.
const STYLE_HASH: &str = "sha256-1TPC254r9leUngPYzPNh7U0hw5rnc9Osfx+8Xob9O78=";

/// Markup without a page around it.
pub(crate) fn fragment() -> Page {
    Page::fragment()
}

/// A bench as one HTML page: its text, its charts, and the data of its JSON inside.
#[must_use]
pub fn bench_html(result: &BenchResult) -> String {
    let mut page = Page::new(&format!("{} on {}", result.workload, result.target));
    page.element("<h1>", &format!("{} on {}", result.workload, result.target), "</h1>\n");
    curves::svg(&mut page, &result.curves);
    for surface in &result.surfaces {
        curves::heat_map(&mut page, surface);
    }
    page.element("<pre>", &crate::bench_text(result), "</pre>\n");
    page.data("bench", &serde_json::to_value(result).unwrap_or_default());
    page.finish()
}

/// The report as one HTML page that opens from a file and asks nothing of any network. It holds
/// no program; the data of [`crate::json()`] is inside as text (`<script type="application/json"
/// id="run">`).
#[must_use]
pub fn html(view: &RunView) -> String {
    let mut page = Page::new(&format!("{}: {}", view.plan.lab.name, view.plan.lab.question));
    sections::head(&mut page, view);
    sections::verdict(&mut page, view);
    sections::stacks(&mut page, view);
    sections::warnings(&mut page, view);
    sections::uncontrolled(&mut page, view);
    sections::permanent(&mut page, view);
    sections::trials(&mut page, view);
    sections::left_out(&mut page, view);
    page.data("run", &crate::json::json(view));
    page.finish()
}

#[cfg(test)]
mod tests;
