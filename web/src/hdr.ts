// Latency histograms as they are kept: HDR histogram V2, values in nanoseconds.

/** Non-empty slots in rising order. */
export interface Histogram {
  /** Highest value of each slot, ns. */
  values: number[];
  counts: number[];
  total: number;
}

const COOKIE = 0x1c849303;
const HEADER = 40;

export function decode(bytes: Uint8Array): Histogram {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if ((view.getInt32(0) & ~0xf0) !== COOKIE) throw new Error('this is not a V2 histogram');
  const slots: number[] = [];
  const counts: number[] = [];
  let at = HEADER;
  const end = Math.min(HEADER + view.getInt32(4), bytes.length);
  let slot = 0;
  while (at < end) {
    let raw = 0;
    let factor = 1;
    for (let index = 0; index < 9; index++) {
      const byte = bytes[at++] ?? 0;
      raw += (index < 8 ? byte & 0x7f : byte) * factor;
      factor *= 128;
      if (byte < 0x80) break;
    }
    // Zigzag: even numbers are counts, odd ones how many empty slots follow.
    if (raw % 2 === 1) {
      slot += (raw + 1) / 2;
      continue;
    }
    if (raw > 0) {
      slots.push(slot);
      counts.push(raw / 2);
    }
    slot += 1;
  }
  const digits = view.getInt32(12);
  const unit = Math.floor(Math.log2(Number(view.getBigInt64(16))));
  const halfBits = Math.ceil(Math.log2(2 * 10 ** digits)) - 1;
  const half = 2 ** halfBits;
  const values = slots.map((slot) => {
    const bucket = Math.floor(slot / half) - 1;
    const power = 2 ** (Math.max(bucket, 0) + unit);
    const low = (bucket < 0 ? slot : (slot % half) + half) * power;
    return low + power - 1;
  });
  return { values, counts, total: counts.reduce((sum, count) => sum + count, 0) };
}

export function merge(all: Histogram[]): Histogram {
  const counts = new Map<number, number>();
  for (const one of all) {
    one.values.forEach((value, index) => {
      counts.set(value, (counts.get(value) ?? 0) + (one.counts[index] ?? 0));
    });
  }
  const values = [...counts.keys()].sort((a, b) => a - b);
  const merged = values.map((value) => counts.get(value) ?? 0);
  return { values, counts: merged, total: merged.reduce((sum, count) => sum + count, 0) };
}

/** Values that these shares (0 to 1, rising) of all do not exceed, ns; nothing when empty. */
export function percentiles(of: Histogram, shares: number[]): number[] {
  if (of.total === 0) return [];
  let index = 0;
  let sum = of.counts[0] ?? 0;
  return shares.map((share) => {
    const rank = Math.max(1, Math.ceil(share * of.total));
    while (sum < rank && index + 1 < of.counts.length) sum += of.counts[++index] ?? 0;
    return of.values[index] ?? 0;
  });
}

/**
 * Points of a latency curve: [x, ns] with x = number of nines (1 is 90 %, 5 is 99.999 %), up to
 * five nines and no further than the number of values tells.
 */
export function curve(of: Histogram): [number, number][] {
  if (of.total === 0) return [];
  const most = Math.min(5, Math.log10(of.total) + 0.0001);
  const steps = 120;
  const nines = Array.from({ length: steps + 1 }, (_, index) => (most * index) / steps);
  const found = percentiles(of, nines.map((nine) => 1 - 10 ** -nine));
  return nines.map((nine, index) => [nine, Math.max(found[index] ?? 0, 1)]);
}
