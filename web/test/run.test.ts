// What the page reads, against what the run file holds: PAGE is a report, EXPECTED what was put
// into it (crates/cli/tests/page.rs gives both).

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { percentiles } from '../src/hdr';
import { Run } from '../src/run';

interface Expected {
  trial: number;
  /** Step, operation, count, p50, p99, most. */
  histograms: [string, string, number, number, number, number][];
  /** By sample: every column, null where there is none. */
  timeline: (number | null)[][];
  events: number | null;
  /** By step. */
  metrics: [string, Record<string, number>][];
}

const { PAGE: page, EXPECTED: expected } = process.env;

test('every trial comes out of a page as it went into the run file', { skip: !page || !expected }, async () => {
  const text = readFileSync(page ?? '', 'utf8');
  const begin = text.indexOf('id="run">') + 9;
  const run = await Run.unpack(text.slice(begin, text.indexOf('</script>', begin)));
  const trials = JSON.parse(readFileSync(expected ?? '', 'utf8')) as Expected[];
  assert.ok(trials.length > 64);
  // The last first: each is read alone.
  for (const one of trials.reverse()) {
    const found = await run.latencies(one.trial);
    assert.deepEqual(found.map(({ step, operation, histogram }) => [step, operation, histogram.total, ...percentiles(histogram, [0.5, 0.99, 1])]), one.histograms);
    const timeline = await run.timeline(one.trial, 'timeline');
    const columns = timeline ? Object.values(timeline) : [];
    const rows = Array.from({ length: columns[0]?.length ?? 0 }, (_, row) => columns.map((column) => column[row]!).map((value) => (Number.isNaN(value) ? null : value)));
    assert.deepEqual(rows, one.timeline);
    assert.equal((await run.events(one.trial))?.at.length ?? null, one.events);
    const { steps } = await run.record(one.trial);
    assert.deepEqual(steps.map(({ name, metrics }) => [name, metrics]), one.metrics);
  }
});
