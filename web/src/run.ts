// The run file inside the page (crates/report/src/packed.rs): its records are unpacked when the
// first trial is asked for, histograms and timelines when a trial of their chunk is.

import { Chances, Numbers, Reader, fromLetters } from './coder';
import { events, timeline, type Events, type Timeline } from './columns';
import { decode, type Histogram } from './hdr';
import { inflate } from './inflate';
import { Histograms, Timelines } from './packed';

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
  clock_cost_ns: number | null;
  smart: { before: unknown; after: unknown } | null;
  fingerprint: string | null;
  elapsed_ns: number;
  warnings: { code: string; text: string; remedy: string }[];
}

export interface Latencies { step: string; operation: string; histogram: Histogram }

/** Trial, 1 when it ended well, its set of histograms, its set of series. */
type Attempt = [number, 0 | 1, number, number];

interface Index {
  attempts: Attempt[];
  histograms: [number, string][][];
  series: string[][];
  /** By chunk: its bytes, and those of the values that stand as they are. */
  chunks: [number, number][];
}

/** A value as the model gave it, or as the run file keeps it. */
type Kept<T> = { known: T } | { blob: Uint8Array };

interface Details { histograms: Kept<Histogram>[]; series: Kept<Timeline>[] }

const CHUNK = 64;
const HEAD = 32;

export class Run {
  /** Last attempt by trial: where it stands among the attempts. */
  readonly #attempts = new Map<number, number>();
  readonly #chunks = new Map<number, Details[]>();
  readonly #starts: { packed: number; plain: number }[] = [];

  private constructor(
    readonly index: Index, readonly records: string[],
    readonly packed: Uint8Array, readonly plain: Uint8Array,
  ) {
    index.attempts.forEach(([trial], place) => this.#attempts.set(trial, place));
    let [before, beside] = [0, 0];
    for (const [length, kept] of index.chunks) {
      this.#starts.push({ packed: before, plain: beside });
      before += length;
      beside += kept;
    }
  }

  static async unpack(text: string): Promise<Run> {
    const bytes = fromLetters(text.trim());
    if (new TextDecoder().decode(bytes.subarray(0, 4)) !== 'SkP1') throw new Error('the run file in this page is in a form that its program does not know');
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    let at = HEAD;
    const blocks = [0, 1, 2, 3].map((block) => {
      const length = view.getUint32(4 + 4 * block, true);
      at += length;
      return bytes.subarray(at - length, at);
    });
    const textOf = async (block: number): Promise<string> => new TextDecoder().decode(await inflate(blocks[block]!, 'gzip'));
    const index = JSON.parse(await textOf(0)) as Index;
    return new Run(index, (await textOf(1)).split('\n'), blocks[2]!, blocks[3]!);
  }

  #place(trial: number): number {
    const place = this.#attempts.get(trial);
    if (place === undefined) throw new Error(`the run file has no trial ${trial}`);
    return place;
  }

  #details(trial: number): Details {
    const place = this.#place(trial);
    const chunk = Math.floor(place / CHUNK);
    let details = this.#chunks.get(chunk);
    if (!details) {
      details = this.#readChunk(chunk);
      this.#chunks.set(chunk, details);
    }
    return details[place % CHUNK]!;
  }

  #readChunk(chunk: number): Details[] {
    const start = this.#starts[chunk]!;
    const reader = new Reader(this.packed.subarray(start.packed, start.packed + this.index.chunks[chunk]![0]));
    const modelled = new Chances(2);
    const lengths = new Numbers(1);
    const histograms = new Histograms();
    const timelines = new Timelines();
    let at = start.plain;
    const kept = <T>(kind: number, read: () => T): Kept<T> => {
      if (reader.bit(modelled, kind)) return { known: read() };
      const length = lengths.read(reader, 0);
      at += length;
      return { blob: this.plain.subarray(at - length, at) };
    };
    return this.index.attempts.slice(chunk * CHUNK, (chunk + 1) * CHUNK).map(([, , own, series]) => ({
      histograms: this.index.histograms[own]!.map(() => kept(0, () => histograms.read(reader))),
      series: this.index.series[series]!.map(() => kept(1, () => timelines.read(reader))),
    }));
  }

  record(trial: number): TrialRecord {
    return JSON.parse(this.records[this.#place(trial)] ?? '') as TrialRecord;
  }

  async latencies(trial: number): Promise<Latencies[]> {
    const steps = this.record(trial).steps;
    const names = this.index.histograms[this.index.attempts[this.#place(trial)]![2]]!;
    return Promise.all(this.#details(trial).histograms.map(async (one, index) => ({
      step: steps[names[index]?.[0] ?? -1]?.name ?? '?',
      operation: names[index]?.[1] ?? '?',
      histogram: 'known' in one ? one.known : decode(await inflate(one.blob, 'deflate')),
    })));
  }

  async timeline(trial: number, kind: 'timeline' | 'journal_timeline'): Promise<Timeline | null> {
    const one = this.#series(trial, kind);
    if (!one) return null;
    return 'known' in one ? one.known : timeline(one.blob);
  }

  async events(trial: number): Promise<Events | null> {
    const one = this.#series(trial, 'block_events');
    return one && 'blob' in one ? events(one.blob) : null;
  }

  #series(trial: number, kind: string): Kept<Timeline> | null {
    const kinds = this.index.series[this.index.attempts[this.#place(trial)]![3]]!;
    const at = kinds.indexOf(kind);
    return at < 0 ? null : this.#details(trial).series[at] ?? null;
  }
}
