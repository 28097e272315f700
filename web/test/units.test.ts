// What the page computes itself, against values that SQLite, the HDR library and the rest of the
// report gave.

import assert from 'node:assert/strict';
import test from 'node:test';
import { unpack } from '../src/columns';
import { harmless } from '../src/dom';
import { curve, decode, merge, percentiles } from '../src/hdr';
import { share } from '../src/heat';
import { inflate } from '../src/inflate';
import { binary, inScale, quantity, scaleOf } from '../src/number';
import { heatSource } from '../src/pictures';
import { linear, logarithmic } from '../src/plot';
import { ofTrial, shell } from '../src/reproduce';
import { momentOf, requestsOf } from '../src/race';
import { fromLetters } from '../src/run';
import { parse, type Group, type Summary, type Traffic } from '../src/summary';
import { ofStep } from '../src/sweep';
import { stairs } from '../src/timelines';
import fixtures from './fixtures.json';

test('a histogram has the percentiles that the rest of the report prints', async () => {
  const histogram = decode(await inflate(Uint8Array.from(Buffer.from(fixtures.histogram, 'base64')), 'deflate'));
  const { count, p50, p90, p99, p999, p9999, p99999, max } = fixtures.latency;
  assert.equal(histogram.total, count);
  assert.deepEqual(percentiles(histogram, [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 1]), [p50, p90, p99, p999, p9999, p99999, max]);
  const twice = merge([histogram, histogram]);
  assert.equal(twice.total, 2 * count);
  assert.deepEqual(percentiles(twice, [0.5, 1]), [p50, max]);
  const points = curve(histogram);
  assert.ok(points.every(([nines, ns], index) => nines <= 5 && ns > 0 && (index === 0 || ns >= (points[index - 1]?.[1] ?? 0))));
  assert.deepEqual(percentiles({ values: [], counts: [], total: 0 }, [0.5]), []);
  assert.throws(() => decode(new Uint8Array(48)), /not a V2 histogram/);
});

test('columns of a series come back with what is missing', async () => {
  // Two rows, three columns: all there, none there, the second one there; XOR and bytes apart.
  const plain: number[] = [0];
  const first = [5n, 7n];
  const changes = [first[0]!, first[0]! ^ first[1]!];
  for (let byte = 0; byte < 8; byte++) for (const change of changes) plain.push(Number((change >> BigInt(8 * byte)) & 255n));
  plain.push(1, 2, 0b10);
  const bits = new Uint8Array(new Float64Array([2.5]).buffer);
  plain.push(...bits);
  const stream = new Blob([new Uint8Array(plain)]).stream().pipeThrough(new CompressionStream('deflate'));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const columns = await unpack(new Uint8Array([1, 3, 2, 0, 0, 0, ...packed]), (column) => column === 2);
  assert.deepEqual(columns.map((column) => [...column]), [[5, 7], [NaN, NaN], [NaN, 2.5]]);
  await assert.rejects(unpack(new Uint8Array([2, 0, 0, 0, 0, 0]), () => false), /unknown version/);
});

test('numbers have the unit and the digits of the rest of the report', () => {
  assert.equal(quantity('s', 0.0085889), '8.59 ms');
  assert.equal(quantity('ns', 1234), '1.23 \u00b5s');
  assert.equal(quantity('B', 2_500_000), '2.50 MB');
  assert.equal(quantity('/s', 5), '5.00 /s');
  assert.equal(quantity('', null), '-');
  assert.equal(quantity('s', NaN), '-');
  const scale = scaleOf('s', [0.412, 0.731, 0.031]);
  assert.deepEqual([inScale(scale, 0.412), inScale(scale, 0.031), scale.symbol], ['412.0', '31.0', 'ms']);
  assert.equal(binary(65536), '64 KiB');
});

test('a command stays one command whatever a name holds', () => {
  assert.equal(shell("it's; rm -rf $(x)"), "'it'\\''s; rm -rf $(x)'");
  const summary = { file: { name: 'my run.seekwell' } } as Summary;
  assert.equal(ofTrial(summary, 7, "st'ep.me'tric"), `sqlite3 -readonly 'my run.seekwell' 'SELECT value FROM value WHERE trial = 7 AND step = '\\''st'\\'''\\''ep'\\'' AND metric = '\\''me'\\'''\\''tric'\\'''`);
});

test('names of steps say what varied', () => {
  const said = (step: string): unknown => [ofStep(step).base, Object.fromEntries(ofStep(step).parameters)];
  assert.deepEqual(said('sweep-4KiB'), ['sweep', { size: 4096 }]);
  assert.deepEqual(said('write-64MiB-r512B'), ['write', { file_size: 64 * 1024 ** 2, record: 512 }]);
  assert.deepEqual(said('seek-t8'), ['seek', { threads: 8 }]);
  assert.deepEqual(said('read_directory'), ['read_directory', {}]);
});

test('requests are paired by their place', () => {
  const events = { lost: 0, at: Float64Array.of(10, 20, 40, 70), complete: Float64Array.of(0, 0, 1, 1), sector: Float64Array.of(1, 2, 2, 1), sectors: Float64Array.of(8, 8, 8, 8), operation: Float64Array.of(82, 82, 82, 82) };
  assert.deepEqual(heatSource([], events)?.points, [[20 / 1e9, 20], [10 / 1e9, 60]]);
  assert.equal(heatSource([], null), null);
});

test('the darkness of a heat map is logarithmic', () => {
  assert.deepEqual([1, 10, 100].map((value) => share(value, 1, 100)), [0, 0.5, 1]);
  assert.deepEqual([-1, 0, 1].map((value) => share(value, -1, 1)), [0, 0.5, 1], 'linear where a logarithm is not possible');
  assert.equal(share(3, 3, 3), 0.5);
});

test('data without the summary of a run are refused', () => {
  assert.throws(() => parse('{}'), /not a report of a run/);
});

test('what steers or reorders text is replaced', () => {
  assert.equal(harmless('a\u202eb\u0000c\u2028\ufeff'), 'a\ufffdb\ufffdc\ufffd\ufffd');
});

test('a sample covers the interval that ends with it, the first from the start of the trial', () => {
  assert.deepEqual(stairs([0.1, 0.2], [10, 5], 2), [[0, 20], [0.1, 20], [0.2, 10]]);
  assert.deepEqual(stairs([], [], 1), []);
});

test('letters are the bytes that the report wrote', () => {
  assert.deepEqual([...fromLetters("^';!")], [1, 2, 3]);
  assert.deepEqual([...fromLetters('!!')], [0]);
  assert.deepEqual([...fromLetters('')], []);
});

test('axes have round ticks between their ends', () => {
  const say = String;
  assert.deepEqual(linear(0, 1, say).ticks.map((tick) => Number(tick.toFixed(6))), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(linear(3, 11, say).ticks, [4, 6, 8, 10]);
  assert.deepEqual(linear(5, 5, say).ticks.length > 0, true);
  assert.deepEqual(logarithmic(0.9, 60, say).ticks.map((tick) => Number(tick.toFixed(6))), [1, 2, 5, 10, 20, 50]);
  assert.deepEqual(logarithmic(4096, 65536, say, 2).ticks, [4096, 8192, 16384, 32768, 65536]);
});

test('the race shows what is in flight, what was done and what is over', () => {
  const group = (kind: string): Group => ({ kind, name: '', requests: 1 });
  const traffic: Traffic = { elapsed_ns: 1e6, groups: [group('journal'), group('data')], packed: [10, 5, 100, 4, 0, 10, 30, 9000, 8, 1, 5, 5, 110, 4, 0] };
  const requests = requestsOf(traffic);
  assert.deepEqual(requests.map(({ at, end, place }) => [at, end, place]), [[10, 15, 100], [20, 50, 9000], [25, 30, 110]]);
  const before = momentOf(requests, 2, 5, 20);
  assert.deepEqual([before.flying.length, before.done[0]?.count], [0, 0]);
  const middle = momentOf(requests, 2, 26, 20);
  assert.deepEqual(middle.flying.map((one) => one.place), [110, 9000]);
  assert.deepEqual([middle.recent.length, middle.done], [1, [{ count: 1, kib: 4 }, { count: 0, kib: 0 }]]);
  assert.deepEqual(momentOf(requests, 2, 60, 20).done, [{ count: 2, kib: 8 }, { count: 1, kib: 8 }]);
});
