//! Write amplification of the page-mapped model, measured through the front door, and the formula for it.

use seekwell_device::{Completion, Lba, Model, Operation, Request, build, load};

/// Write amplification of greedy collection under uniform random writes of single units, with `spare` units for each
/// unit of the capacity.
///
/// Xiang and Kurkoski: An improved analytical expression for write amplification in NAND flash, ICNC 2012
/// (arXiv:1110.4245): (1+r) / (1+r + W(-(1+r) e^-(1+r))), W being the main branch of Lambert's function.
pub fn closed_form(spare: f64) -> f64 {
    let full = 1.0 + spare;
    full / (full + lambert_w(-full * (-full).exp()))
}

/// The main branch of w e^w = x for x in (-1/e, 0), by Newton's method from 0.
fn lambert_w(x: f64) -> f64 {
    let mut w = 0.0_f64;
    for _ in 0..200 {
        w -= (w * w.exp() - x) / (w.exp() * (1.0 + w));
    }
    w
}

/// A disk of one die and `blocks` blocks of `pages` units, prefilled and overwritten `settling` times before it is watched
/// for one more capacity.
pub fn measured(
    spare: f64,
    [blocks, pages]: [u32; 2],
    settling: f64,
    seed: u64,
) -> Result<f64, String> {
    let units = (f64::from(blocks) * f64::from(pages) / (1.0 + spare)) as u64;
    let text = format!(
        r#"
name = "one-die"
title = "one die"
kind = "ssd"
[presented]
sectors = {}
physical_block = 4096
queue_depth = 64
max_request_kib = 128
[ssd]
channels = 1
dies_per_channel = 1
planes = 1
page_kib = 4
pages_per_block = {pages}
unit_kib = 4
over_provisioning = {spare}
reserve_blocks = 2
read_page_us = 50
program_us = 500
erase_us = 3000
channel_mb_per_s = 400
read_command_us = 0
write_command_us = 0
flush_us = 0
buffer_kib = 32
power_loss_protection = false
drain_delay_us = 1000
prefilled = true
preconditioned = {settling}
[sources]
presented = "test"
ssd = "test"
"#,
        units * 8
    );
    let file = load(&text).map_err(|error| error.to_string())?;
    let mut model = build(&file, seed);
    let before = written(&*model);
    overwrite(&mut *model, units, units)?;
    let after = written(&*model);
    Ok((after.1 - before.1) as f64 / (after.0 - before.0) as f64)
}

fn written(model: &dyn Model) -> (u64, u64) {
    model.evidence().flash.map_or((0, 0), |flash| (flash.host_pages, flash.pages_programmed))
}

/// Writes `count` single units at random, 64 at a time.
fn overwrite(model: &mut dyn Model, units: u64, count: u64) -> Result<(), String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut done: Vec<Completion> = Vec::new();
    let (mut now_ns, mut outstanding) = (0, 0);
    for id in 1..=count {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let lba = Lba(((u128::from(state) * u128::from(units)) >> 64) as u64 * 8);
        let request = Request { id, operation: Operation::Write, lba, sectors: 8, fua: false };
        model.submit(now_ns, request).map_err(|refused| refused.to_string())?;
        outstanding += 1;
        while outstanding == 64 {
            now_ns = model.next_event_ns().ok_or("the model forgot a request")?;
            model.advance(now_ns, &mut done);
            outstanding -= done.len();
            done.clear();
        }
    }
    Ok(())
}
