// Latency over time as a heat map, and where on the disk each request went.

import { colour, Frame, linear, margin, nearest, svg, type Drawing } from './plot';
import type { Events } from './columns';
import { heatMap } from './heat';
import { duration, extent, quantity, threeDigits } from './number';
import type { SingleIo } from './run';

export interface HeatSource {
  what: string;
  /** Seconds and nanoseconds. */
  points: [number, number][];
}

/** Single operations where they were kept, else the requests of the device from its events. */
export function heatSource(ios: SingleIo[], events: Events | null): HeatSource | null {
  if (ios.length > 0) {
    return { what: `${ios.length} operations`, points: ios.map((io) => [io.at_ns / 1e9, Math.max(1, io.latency_ns)]) };
  }
  if (!events || events.at.length === 0) return null;
  const issued = new Map<number, number>();
  const points: [number, number][] = [];
  for (let index = 0; index < events.at.length; index++) {
    const sector = events.sector[index] ?? 0;
    const at = events.at[index] ?? 0;
    if (!events.complete[index]) issued.set(sector, at);
    else {
      const begin = issued.get(sector);
      if (begin !== undefined) points.push([begin / 1e9, Math.max(1, at - begin)]);
      issued.delete(sector);
    }
  }
  return points.length > 0 ? { what: `${points.length} requests of the device, from issue to completion`, points } : null;
}

const COLUMNS = 80;
const PER_DECADE = 8;

export function heatOption(source: HeatSource, [from, to]: [number, number]): Drawing {
  const inside = source.points.filter(([at]) => at >= from && at <= to);
  const [low, high] = inside.length > 0 ? extent(inside.map(([, ns]) => ns)) : [1e3, 1e6];
  const first = Math.floor(Math.log10(low) * PER_DECADE);
  const rows = Math.max(1, Math.ceil(Math.log10(high) * PER_DECADE + 0.001) - first);
  const width = Math.max(1e-9, to - from);
  const counts = new Map<number, number>();
  for (const [at, ns] of inside) {
    const column = Math.min(COLUMNS - 1, Math.floor(((at - from) / width) * COLUMNS));
    const row = Math.min(rows - 1, Math.max(0, Math.floor(Math.log10(ns) * PER_DECADE) - first));
    counts.set(row * COLUMNS + column, (counts.get(row * COLUMNS + column) ?? 0) + 1);
  }
  const slot = (row: number): number => 10 ** ((row + first) / PER_DECADE);
  return heatMap({
    columns: Array.from({ length: COLUMNS }, (_, index) => `${threeDigits(from + (index * width) / COLUMNS)} s`),
    rows: Array.from({ length: rows }, (_, row) => duration(slot(row))),
    cells: [...counts].map(([key, count]) => [key % COLUMNS, Math.floor(key / COLUMNS), count] as const),
    say: (count) => (count === 1 ? '1 operation' : `${count} operations`),
    tip: (column, row, count) => `at ${(from + (column * width) / COLUMNS).toFixed(2)} s\n${duration(slot(row))} to ${duration(slot(row + 1))}\n${count} operations`,
  });
}

const OPERATIONS: [string, string][] = [['R', 'read'], ['W', 'write'], ['D', 'discard'], ['F', 'flush']];

/** Each request by its time and place, and the operations that there are. */
export function seekDrawing(events: Events, [from, to]: [number, number]): { drawing: Drawing; series: { name: string; css: string; shape: 'dot' }[] } {
  type Request = { at: number; place: number; index: number; name: string };
  let end = 0;
  const series = OPERATIONS.map(([letter, name], place) => {
    const requests: Request[] = [];
    for (let index = 0; index < events.at.length; index++) {
      const at = (events.at[index] ?? 0) / 1e9;
      if (events.complete[index] || at < from || at > to || events.operation[index] !== letter.charCodeAt(0)) continue;
      requests.push({ at, place: (events.sector[index] ?? 0) * 512, index, name });
      end = Math.max(end, (events.sector[index] ?? 0) * 512);
    }
    return { name, css: colour(place), shape: 'dot' as const, requests };
  }).filter((one) => one.requests.length > 0);
  const all = series.flatMap((one) => one.requests);
  const up = linear(0, end || 1, (value) => (value === 0 ? '0' : quantity('B', value)));
  const across = linear(from, to, (value) => `${threeDigits(value)} s`);
  let frame: Frame | undefined;
  const drawing: Drawing = {
    height: 280,
    draw: (width) => {
      frame = new Frame(margin(up), width - 12, 8, 252, across, up);
      const dots = series.map((one) => frame!.dots(one.requests.map(({ at, place }) => [at, place] as const), 'speck', one.css));
      return [frame.grid(), svg('g', {}, ...dots)];
    },
    tip: (x, y) => {
      const found = frame && nearest(frame, all, ({ at, place }) => [at, place] as const, x, y, 8);
      return found ? `${found.name} at ${found.at.toFixed(4)} s\nbyte ${found.place} (sector ${found.place / 512})\n${(events.sectors[found.index] ?? 0) / 2} KiB` : null;
    },
  };
  return { drawing, series };
}
