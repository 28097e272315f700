// The run file inside the page (crates/store): read when the first trial is asked for, records,
// histograms and timelines when their trial is.

import { events, timeline, type Events, type Timeline } from './columns';
import { decode, type Histogram } from './hdr';
import { inflate } from './inflate';
import { Database, type Cell } from './sqlite';

export interface SingleIo { at_ns: number; latency_ns: number; operation: string; offset: number }

export interface Step {
  name: string;
  started_ns: number;
  ended_ns: number;
  metrics: Record<string, number>;
  device: Record<string, number | null> | null;
  journal: Record<string, number | null> | null;
  warnings: { code: string; text: string; remedy: string }[];
  single_ios?: SingleIo[];
}

export interface TrialRecord {
  status: string | { failed: { stage: string; reason: string } };
  in_force: Record<string, unknown>;
  steps: Step[];
  smart: { before: unknown; after: unknown } | null;
  fingerprint: string | null;
  elapsed_ns: number;
  warnings: { code: string; text: string; remedy: string }[];
}

export interface Latencies { step: string; operation: string; histogram: Histogram }

const FORMAT = 2;
/** Columns of a row of metrics, and such rows that an attempt can have. */
const BLOCK = 16;
const BLOCKS = 4096;

type Row = Record<string, Cell>;

export class Run {
  /** Last attempt by trial: its number and its row. */
  readonly #attempts = new Map<number, [number, Row]>();
  readonly #prefixes = new Map<number, Promise<{ record: Uint8Array; histograms: Uint8Array }>>();
  readonly #names: Row[];

  private constructor(readonly database: Database, readonly prefixes: Map<number, Row>, readonly metrics: Map<number, Row>) {
    for (const [id, row] of database.table('attempt')) this.#attempts.set(Number(row['trial']), [id, row]);
    this.#names = [...database.table('metric_name').values()];
  }

  static async unpack(text: string): Promise<Run> {
    const database = new Database(await inflate(fromLetters(text.trim()), 'gzip'));
    if (database.format() !== FORMAT) throw new Error('the run file in this page has an earlier format; resume the run, or write a new page from a repacked file');
    return new Run(database, database.table('prefix'), database.table('metric_block'));
  }

  #row(trial: number): [number, Row] {
    const found = this.#attempts.get(trial);
    if (found === undefined) throw new Error(`the run file has no trial ${trial}`);
    return found;
  }

  /** A deflated value behind the prefix of its workload. */
  async #behind(kind: 'record' | 'histograms', row: Row): Promise<Uint8Array> {
    const packed = row[kind] as Uint8Array;
    const id = row['prefix'];
    if (id === null || id === undefined) return unpackBehind(new Uint8Array(), packed);
    const prefix = this.#prefixes.get(Number(id)) ?? this.#prefix(Number(id));
    this.#prefixes.set(Number(id), prefix);
    return unpackBehind((await prefix)[kind], packed);
  }

  async #prefix(id: number): Promise<{ record: Uint8Array; histograms: Uint8Array }> {
    const row = this.prefixes.get(id) ?? {};
    const [record, histograms] = await Promise.all([row['record'], row['histograms']].map((bytes) => inflate(bytes as Uint8Array, 'deflate')));
    return { record: record!, histograms: histograms! };
  }

  async record(trial: number): Promise<TrialRecord> {
    const [id, row] = this.#row(trial);
    const record = JSON.parse(new TextDecoder().decode(await this.#behind('record', row))) as TrialRecord;
    for (let block = 0; block * BLOCK < this.#names.length; block++) {
      const values = this.metrics.get(id * BLOCKS + block);
      if (!values) continue;
      for (let column = 0; column < BLOCK; column++) {
        const value = values[`v${column}`];
        const name = this.#names[block * BLOCK + column];
        if (value === null || value === undefined || !name) continue;
        const step = record.steps.find((one) => one.name === name['step']);
        if (step) step.metrics[String(name['metric'])] = Number(value);
      }
    }
    return record;
  }

  async latencies(trial: number): Promise<Latencies[]> {
    const [, row] = this.#row(trial);
    if (!row['histograms']) return [];
    const [record, bytes] = await Promise.all([this.record(trial), this.#behind('histograms', row)]);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const found: Latencies[] = [];
    for (let at = 0; at < bytes.length;) {
      const [position, length, name] = [view.getUint32(at, true), view.getUint32(at + 4, true), view.getUint16(at + 8, true)];
      const data = at + 10 + name;
      found.push({
        step: record.steps[position]?.name ?? '?',
        operation: new TextDecoder().decode(bytes.subarray(at + 10, data)),
        histogram: decode(bytes.subarray(data, data + length)),
      });
      at = data + length;
    }
    return found;
  }

  async timeline(trial: number, kind: 'timeline' | 'journal_timeline'): Promise<Timeline | null> {
    const blob = this.#row(trial)[1][kind];
    return blob ? timeline(blob as Uint8Array) : null;
  }

  async events(trial: number): Promise<Events | null> {
    const blob = this.#row(trial)[1]['block_events'];
    return blob ? events(blob as Uint8Array) : null;
  }
}

/** Bytes of a text of which two of 91 letters are 13 bits: printable ASCII without the blank, `&`, `-` and `<`. */
export function fromLetters(text: string): Uint8Array {
  const values = new Uint8Array(128);
  let letter = 0;
  for (let code = 0x21; code < 0x7f; code++) if (!'&-<'.includes(String.fromCharCode(code))) values[code] = letter++;
  // A last minus says that padding filled a byte.
  const padded = text.endsWith('-');
  const pairs = (text.length - (padded ? 1 : 0)) >> 1;
  const out = new Uint8Array(Math.floor((pairs * 13) / 8) - (padded ? 1 : 0));
  let [held, count, at] = [0, 0, 0];
  for (let pair = 0; pair < pairs; pair++) {
    held |= (values[text.charCodeAt(2 * pair)]! + values[text.charCodeAt(2 * pair + 1)]! * 91) << count;
    for (count += 13; count >= 8 && at < out.length; count -= 8) {
      out[at++] = held & 255;
      held >>>= 8;
    }
  }
  return out;
}

/** A stored block with the prefix comes before the deflated bytes, as the writer's inflater has it. */
async function unpackBehind(prefix: Uint8Array, packed: Uint8Array): Promise<Uint8Array> {
  const stream = new Uint8Array(5 + prefix.length + packed.length);
  const view = new DataView(stream.buffer);
  view.setUint16(1, prefix.length, true);
  view.setUint16(3, ~prefix.length & 0xffff, true);
  stream.set(prefix, 5);
  stream.set(packed, 5 + prefix.length);
  return (await inflate(stream, 'deflate-raw')).subarray(prefix.length);
}
