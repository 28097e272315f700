// Timelines and block events: columns of optional 64-bit values, as the run file packs them.

import { inflate } from './inflate';

/** One array per column; what is not known is NaN. */
export type Columns = Float64Array[];

/** `floats` says which columns hold numbers with a fraction; the others are whole. */
export async function unpack(blob: Uint8Array, floats: (column: number) => boolean): Promise<Columns> {
  if (blob[0] !== 1) throw new Error(`unknown version ${blob[0]} of a series`);
  const count = blob[1] ?? 0;
  const rows = new DataView(blob.buffer, blob.byteOffset).getUint32(2, true);
  const plain = await inflate(blob.subarray(6), 'deflate');
  let at = 0;
  const columns: Columns = [];
  const bytes = new Uint8Array(8);
  const view = new DataView(bytes.buffer);
  for (let column = 0; column < count; column++) {
    const out = new Float64Array(rows).fill(NaN);
    const form = plain[at++];
    const present = new Uint8Array(rows);
    if (form === 0) present.fill(1);
    if (form === 2) {
      for (let row = 0; row < rows; row++) present[row] = ((plain[at + (row >> 3)] ?? 0) >> (row & 7)) & 1;
      at += Math.ceil(rows / 8);
    }
    const some = present.reduce((sum, one) => sum + one, 0);
    bytes.fill(0);
    let index = 0;
    for (let row = 0; row < rows; row++) {
      if (!present[row]) continue;
      for (let byte = 0; byte < 8; byte++) bytes[byte]! ^= plain[at + byte * some + index] ?? 0;
      out[row] = floats(column) ? view.getFloat64(0, true) : Number(view.getBigUint64(0, true));
      index += 1;
    }
    at += 8 * some;
    columns.push(out);
  }
  return columns;
}

/** Columns of a timeline in the order of the file. */
export const SAMPLE = [
  'at_ns', 'r/s', 'w/s', 'rkB/s', 'wkB/s', 'rrqm/s', 'wrqm/s', 'r_await', 'w_await', 'aqu-sz',
  'rareq-sz', 'wareq-sz', 'f/s', '%util', 'dirty_bytes', 'writeback_bytes', 'io_pressure',
  'cpu_pressure', 'memory_pressure',
] as const;

export type Timeline = Record<(typeof SAMPLE)[number], Float64Array>;

const WHOLE = new Set([0, 14, 15]);

export async function timeline(blob: Uint8Array): Promise<Timeline> {
  const columns = await unpack(blob, (column) => !WHOLE.has(column));
  return Object.fromEntries(SAMPLE.map((name, index) => [name, columns[index] ?? new Float64Array()])) as Timeline;
}

export interface Events {
  lost: number;
  at: Float64Array;
  complete: Float64Array;
  sector: Float64Array;
  sectors: Float64Array;
  /** Code point of `R`, `W`, `D`, `F`. */
  operation: Float64Array;
}

export async function events(blob: Uint8Array): Promise<Events> {
  const lost = Number(new DataView(blob.buffer, blob.byteOffset).getBigUint64(0, true));
  const none = new Float64Array();
  const [at, complete, sector, sectors, operation] = await unpack(blob.subarray(8), () => false);
  return {
    lost, at: at ?? none, complete: complete ?? none, sector: sector ?? none,
    sectors: sectors ?? none, operation: operation ?? none,
  };
}
