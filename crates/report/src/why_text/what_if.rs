//! Single improvements of the better stack in words and as a table.

use super::{CAUSES, SAID, cause, unit};
use crate::answer_text::{Effect, Measure};
use crate::factor::list;
use crate::number::{Scale, percent};
use crate::text::Table;
use crate::view::RunView;
use seekwell_model::laws::Law;
use seekwell_model::why::{Cause, LAW, MODEL, WhatIf, Why};

/// Improvements of the table at most.
const ROWS: usize = 12;

/// Part of the cost that an improvement saves; `None` if it measured nothing.
fn gain(why: &Why, one: &WhatIf) -> Option<f64> {
    Some(1.0 - one.cost? / why.at_better)
}

/// An improvement in words, after "xfs would be 1.8 times as fast".
fn words(one: &WhatIf) -> String {
    let to = &one.to;
    match one.part.as_str() {
        LAW => {
            let law = cause(&Cause { laws: vec![to.clone()], ..Cause::default() });
            match Law::from_name(to).and_then(Law::product) {
                Some(product) => format!("without {law} ({product})"),
                None => format!("without {law}"),
            }
        }
        MODEL => format!("on {to}"),
        part if one.is_weaker => format!("with {part} {to} (may lose data that it keeps)"),
        part => format!("with {part} {to}"),
    }
}

/// `xfs/none would be 3.1 times as fast on ssd-sata-250gb, 1.8 times as fast without waiting for flushes …`
pub(super) fn sentence(view: &RunView, why: &Why) -> String {
    let measure = Measure::of(view);
    let helps = why.what_if.iter().filter(|one| gain(why, one).is_some_and(|gain| gain >= SAID));
    // Of the modelled devices the best is enough.
    let mut models = 0;
    let helps = helps.filter(|one| {
        models += usize::from(one.part == MODEL);
        one.part != MODEL || models == 1
    });
    let said = helps.take(CAUSES).filter_map(|one| {
        let ratio = why.at_better / one.cost?;
        let effect = Effect { from: ratio, to: ratio, ends: None };
        Some(format!("{} {}", measure.gain(effect), words(one)))
    });
    let said: Vec<String> = said.collect();
    match said.is_empty() {
        true => format!("No single improvement makes {} {} better.", why.better, percent(SAID)),
        false => format!("{} would be {}.", why.better, list(&said)),
    }
}

/// The improvements that were measured, the best first; `None` without any.
pub(super) fn table(why: &Why) -> Option<Table> {
    if why.what_if.is_empty() {
        return None;
    }
    let scale = Scale::fit(unit(why), [why.at_better, why.at_worse]);
    let has_price = why.what_if.iter().any(|one| one.price.is_some());
    let mut table = Table::default();
    table.column(
        &format!("{}, {} as it is", why.better, scale.with_unit(why.at_better)),
        "",
        false,
    );
    table.numbers(["cost", "saves"]);
    if has_price {
        table.column("price", "", true);
    }
    for one in why.what_if.iter().take(ROWS) {
        let dash = || "\u{2013}".to_owned();
        let cost = one.cost.map_or_else(dash, |cost| scale.with_unit(cost));
        let saved = gain(why, one).map_or_else(dash, percent);
        let price = one.price.map_or_else(dash, |price| price.to_string());
        let cells = [words(one), cost, saved].into_iter().chain(has_price.then_some(price));
        table.row(None, cells.collect());
    }
    Some(table)
}
