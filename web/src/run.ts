// The run file inside the page: unpacked when the first trial is asked for, each trial when it is
// its turn.

import { events, timeline, type Events, type Timeline } from './columns';
import { decode, type Histogram } from './hdr';
import { fromBase64, inflate } from './inflate';
import { Database, type Row } from './sqlite';

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

export class Run {
  /** Last attempt by trial: its id, and where its record is. */
  readonly #attempts = new Map<number, Row>();

  constructor(readonly bytes: Uint8Array, readonly database = new Database(bytes)) {
    for (const row of database.rows('attempt')) this.#attempts.set(row.number(1), row);
  }

  static async unpack(text: string): Promise<Run> {
    return new Run(await inflate(fromBase64(text.trim()), 'gzip'));
  }

  #attempt(trial: number): Row {
    const row = this.#attempts.get(trial);
    if (!row) throw new Error(`the run file has no trial ${trial}`);
    return row;
  }

  record(trial: number): TrialRecord {
    return JSON.parse(this.#attempt(trial).text(10)) as TrialRecord;
  }

  async latencies(trial: number): Promise<Latencies[]> {
    const steps = this.record(trial).steps;
    const rows = [...this.database.rows('histogram', this.#attempt(trial).rowid)];
    return Promise.all(rows.map(async (row) => ({
      step: steps[row.number(1)]?.name ?? '?',
      operation: row.text(2),
      histogram: decode(await inflate(row.bytes(3), 'deflate')),
    })));
  }

  async timeline(trial: number, kind: 'timeline' | 'journal_timeline'): Promise<Timeline | null> {
    const blob = this.#series(trial, kind);
    return blob && timeline(blob);
  }

  async events(trial: number): Promise<Events | null> {
    const blob = this.#series(trial, 'block_events');
    return blob && events(blob);
  }

  #series(trial: number, kind: string): Uint8Array | null {
    for (const row of this.database.rows('series', this.#attempt(trial).rowid)) {
      if (row.text(1) === kind) return row.bytes(2);
    }
    return null;
  }

  /** A number by trial, of all trials that ended well. */
  metric(path: string): Map<number, number> {
    const dot = path.indexOf('.');
    const [step, metric] = [path.slice(0, dot), path.slice(dot + 1)];
    const found = new Map<number, number>();
    for (const [trial, attempt] of this.#attempts) {
      if (attempt.text(5) !== 'ok') continue;
      for (const row of this.database.rows('metric', attempt.rowid)) {
        if (row.text(1) === step && row.text(2) === metric) found.set(trial, row.number(3));
      }
    }
    return found;
  }
}
