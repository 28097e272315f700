// Histograms and timelines of a chunk of trials, as the report's models packed them
// (crates/report/src/packed/histogram.rs and series.rs: the same steps in the same order).

import { Chances, Numbers, type Reader } from './coder';
import { SAMPLE, type Timeline } from './columns';
import { fromSlots, type Histogram } from './hdr';

const HEADER = 40;
const SPARSE = 3932;
const FIRST = 19661;
const CHAIN = 14;
const CLASSES = 80;

/** How many values a slot has: a chain of chances, then a number. */
class Counts {
  readonly #chain = new Chances(CLASSES * CHAIN);
  readonly #more = new Numbers(CLASSES);

  read(reader: Reader, kind: number): number {
    for (let value = 0; value < CHAIN; value++) {
      if (!reader.bit(this.#chain, kind * CHAIN + value)) return value;
    }
    return CHAIN + this.#more.read(reader, kind);
  }
}

/** Number of bits. */
function bits(value: number): number {
  return value < 4294967296 ? 32 - Math.clz32(value) : 64 - Math.clz32(Math.floor(value / 4294967296));
}

function densityClass(density: number): number {
  const length = bits(density);
  const below = length > 1 ? Math.floor(density / 2 ** (length - 2)) & 1 : 0;
  return Math.min(2 * length + below, CLASSES - 1);
}

export class Histograms {
  readonly #same = new Chances(1);
  #header = new Uint8Array(HEADER);
  readonly #filled = new Numbers(1);
  readonly #first = new Numbers(1);
  readonly #gaps = new Numbers(CLASSES);
  readonly #dense = new Counts();
  readonly #sparse = new Counts();

  read(reader: Reader): Histogram {
    if (!reader.bit(this.#same, 0)) this.#header = Uint8Array.from({ length: HEADER }, () => reader.byte());
    const filled = this.#filled.read(reader, 0);
    const slots: number[] = [];
    const counts: number[] = [];
    let slot = 0;
    let density = 0;
    while (slots.length < filled) {
      if (slot > 1 << 20) throw new Error('a histogram in the page is damaged');
      const at = densityClass(density);
      let count: number;
      if (density < SPARSE) {
        const gap = slots.length === 0 ? this.#first.read(reader, 0) : this.#gaps.read(reader, at);
        slot += gap;
        for (let step = Math.min(gap, 60); step > 0; step--) density -= density >> 4;
        count = this.#sparse.read(reader, at) + 1;
      } else {
        count = this.#dense.read(reader, at);
      }
      density = density === 0 ? FIRST : follow(density, count);
      if (count > 0) {
        slots.push(slot);
        counts.push(count);
      }
      slot += 1;
    }
    return fromSlots(this.#header, slots, counts);
  }
}

function follow(density: number, count: number): number {
  const wanted = Math.min(count, 65535) * 65536;
  return wanted >= density ? density + Math.floor((wanted - density) / 16) : density - Math.floor((density - wanted) / 16);
}

interface Form { kind: 'pages' | 'per-second' | 'mean' | 'share' | 'pressure'; half?: boolean; count?: number; total?: number; times?: number }

const RATE: Form = { kind: 'per-second' };
const SECTORS: Form = { kind: 'per-second', half: true };
const PAGES: Form = { kind: 'pages' };
const PRESSURE: Form = { kind: 'pressure' };
const FORMS: Form[] = [
  PAGES, RATE, RATE, SECTORS, SECTORS, RATE, RATE, { kind: 'mean', count: 1 }, { kind: 'mean', count: 2 },
  { kind: 'share', times: 1 }, { kind: 'mean', count: 1, total: 3, half: true }, { kind: 'mean', count: 2, total: 4, half: true },
  RATE, { kind: 'share', times: 100 }, PAGES, PAGES, PRESSURE, PRESSURE, PRESSURE,
];
const LENGTHS = 20;
const PAGE = 4096;

function valueOf(form: Form, count: number, interval: number, divisor: number): number {
  const ms = interval / 1e6;
  switch (form.kind) {
    case 'pages': return count;
    case 'per-second': return count / ms * 1e3 / (form.half ? 2 : 1);
    case 'mean': return count / divisor / (form.half ? 2 : 1);
    case 'share': return count / ms * (form.times ?? 1);
    case 'pressure': return count * 1e3 / interval * 100;
  }
}

class Column {
  /** Four for what is there, then exact, expected, in pages, less. */
  readonly chances = new Chances(8);
  readonly counts = new Numbers(LENGTHS);
  before = 0;
  had = false;
  count: number | null = null;

  number(reader: Reader, before: number): number {
    return this.counts.read(reader, Math.min(bits(before), LENGTHS - 1));
  }

  /** Eight bytes: of a number with a fraction, or whole. */
  plain(reader: Reader, whole: boolean): number {
    const view = new DataView(Uint8Array.from({ length: 8 }, () => reader.byte()).buffer);
    return whole ? Number(view.getBigUint64(0, true)) : view.getFloat64(0, true);
  }

  pages(reader: Reader): number {
    if (!reader.bit(this.chances, 6)) return this.plain(reader, true);
    const less = reader.bit(this.chances, 7);
    const change = this.number(reader, Math.floor(this.before / PAGE)) * PAGE;
    return less ? this.before - change : this.before + change;
  }
}

export class Timelines {
  readonly #rows = new Numbers(1);
  readonly #first = [new Numbers(1), new Numbers(1)] as const;
  readonly #later = new Numbers(1);
  readonly #slower = new Chances(1);
  readonly #columns = FORMS.map(() => new Column());

  read(reader: Reader): Timeline {
    const rows = this.#rows.read(reader, 0);
    if (rows > 1 << 24) throw new Error('a timeline in the page is damaged');
    const out = FORMS.map(() => new Float64Array(rows).fill(NaN));
    for (const column of this.#columns) {
      column.before = 0;
      column.had = false;
    }
    let at = 0;
    let interval = 0;
    for (let row = 0; row < rows; row++) {
      if (row === 0) {
        interval = this.#first[0].read(reader, 0);
        at = this.#first[1].read(reader, 0) + interval;
      } else {
        const slower = reader.bit(this.#slower, 0);
        const change = this.#later.read(reader, 0);
        interval = slower ? interval + change : interval - change;
        at += interval;
      }
      out[0]![row] = at;
      for (const column of this.#columns) column.count = null;
      for (let index = 1; index < FORMS.length; index++) {
        const value = this.#value(reader, index, interval);
        if (value !== null) out[index]![row] = value;
      }
    }
    return Object.fromEntries(SAMPLE.map((name, index) => [name, out[index] ?? new Float64Array()])) as Timeline;
  }

  #value(reader: Reader, index: number, interval: number): number | null {
    const column = this.#columns[index]!;
    const form = FORMS[index]!;
    const divisor = form.count === undefined ? 1 : this.#columns[form.count]?.count ?? 0;
    const present = reader.bit(column.chances, (column.had ? 1 : 0) + (divisor > 0 ? 2 : 0));
    column.had = present;
    if (!present) return null;
    if (form.kind === 'pages') {
      column.before = column.pages(reader);
      return column.before;
    }
    if (!reader.bit(column.chances, 4)) return column.plain(reader, false);
    const expected = form.total === undefined ? null : this.#columns[form.total]?.count ?? null;
    const count = expected !== null && reader.bit(column.chances, 5) ? expected : column.number(reader, column.before);
    column.count = count;
    column.before = count;
    return valueOf(form, count, interval, divisor);
  }
}
