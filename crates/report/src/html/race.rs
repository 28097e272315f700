//! The block requests of two stacks over the judged step: a still picture, which the page's program sets in motion.

use crate::page::Page;
use crate::traffic_text::{self, Range};
use crate::view::RunView;
use seekwell_model::origin::OriginKind;
use seekwell_model::why::Traffic;
use std::collections::BTreeSet;

/// Width and height of a panel, in units of the drawing; flushes are below it.
const PANEL: (f64, f64) = (560.0, 150.0);

/// The section; nothing for a run without recorded origins.
pub(super) fn draw(page: &mut Page, view: &RunView) {
    let Some(why) = view.why.as_ref() else { return };
    let Some(sides) = traffic_text::sides(why) else { return };
    let range = Range::of(&sides);
    let [low, high] = range.ends();
    page.raw("<section id=\"race\">\n<h2>The requests of both stacks</h2>\n<div class=\"race\">\n");
    for (label, traffic) in sides {
        page.element("<figure><figcaption>", label, "</figcaption>\n");
        panel(page, label, traffic, &range);
        page.raw("</figure>\n");
    }
    page.raw("</div>\n");
    key(page, why.traffic.iter());
    let every = why.traffic.iter().map(|traffic| traffic.drawn_every).max().unwrap_or(1);
    let some = if every > 1 { format!(" One in {every} is drawn.") } else { String::new() };
    let axes = format!(
        "Time from left to right, the same for both; place on the devices from bottom ({low}) to top ({high}), flushes below.{some}"
    );
    page.element("<p class=\"cap\">", &axes, "</p>\n");
    page.raw("<p class=\"cap\"><a href=\"#why\">The cause of the difference</a></p>\n");
    if let Some(table) = traffic_text::table(why) {
        super::first::table_of(page, &table);
    }
    page.raw("</section>\n");
}

fn panel(page: &mut Page, label: &str, traffic: &Traffic, range: &Range) {
    let (width, height) = PANEL;
    page.raw("<svg class=\"still\" role=\"img\" viewBox=\"0 0 560 164\"");
    let all: u64 = traffic.groups.iter().map(|group| group.requests).sum();
    page.attribute("aria-label", &format!("{label}: place of {all} requests over time"));
    page.raw("><rect class=\"edge\" width=\"560\" height=\"150\"/><line class=\"end\" y2=\"164\"");
    let end = traffic.elapsed_ns as f64 / range.elapsed_ns as f64 * width;
    page.coordinate("x1", end);
    page.coordinate("x2", end);
    page.raw("/>");
    for kind in OriginKind::ALL {
        let mut marks: BTreeSet<(i32, i32)> = BTreeSet::new();
        for one in traffic.drawn().filter(|one| traffic_text::kind(traffic, one) == kind) {
            let (across, up) = range.share(&one);
            let y =
                if kind == OriginKind::Flush { height + 3.0 } else { (1.0 - up) * (height - 6.0) };
            marks.insert(((across * (width - 3.0)) as i32, y as i32));
        }
        if marks.is_empty() {
            continue;
        }
        let (_, class, stroke) = traffic_text::look(kind);
        page.raw("<path");
        page.attribute("class", class);
        let path: String = marks.iter().map(|(x, y)| format!("M{x} {y}{stroke}")).collect();
        page.attribute("d", &path);
        page.raw("/>");
    }
    page.raw("</svg>\n");
}

fn key<'a>(page: &mut Page, traffic: impl Iterator<Item = &'a Traffic>) {
    let groups = traffic.flat_map(|traffic| &traffic.groups).map(|group| group.kind);
    let kinds: BTreeSet<OriginKind> = groups.collect();
    page.raw("<p class=\"key\">");
    for kind in kinds {
        page.raw("<span><svg width=\"16\" height=\"10\" aria-hidden=\"true\"><path");
        let (_, class, stroke) = traffic_text::look(kind);
        page.attribute("class", class);
        page.attribute("d", &format!("M5 2{stroke}"));
        page.element("/></svg> ", kind.words(), "</span> ");
    }
    page.raw("</p>\n");
}
