// Heat maps: one scale and one set of colours for all of them.

import { extent } from './number';
import { Frame, margin, named, svg, type Drawing } from './plot';

export interface Heat {
  /** Names of the columns from left to right, and of the rows from the bottom. */
  columns: string[];
  rows: string[];
  /** Column, row and value of each cell that has one. */
  cells: (readonly [number, number, number])[];
  /** Name of the horizontal axis; without one only every 16th column and 8th row are named. */
  across?: string;
  /** A value in words. */
  say: (value: number) => string;
  /** Text about a cell. */
  tip: (column: number, row: number, value: number) => string;
}

/**
 * Darkness of a value, 0 to 1: logarithmic between the smallest and the largest. The drawings of a
 * bench, which need no program, have the same scale.
 */
export function share(value: number, low: number, high: number): number {
  const positive = low > 0;
  const [at, span] = positive ? [Math.log(value / low), Math.log(high / low)] : [value - low, high - low];
  return span > 0 ? at / span : 0.5;
}

/** More cells than this have no number in them. */
const MOST_LABELS = 60;
const HEIGHT = 300;

export function heatMap({ columns, rows, cells, across, say, tip }: Heat): Drawing {
  const [low, high] = extent(cells.map(([, , value]) => value));
  // The smallest value is not the colour of a cell without one.
  const dark = (value: number): number => Math.round(15 + 85 * share(value, low, high)) / 100;
  const [horizontal, vertical] = [named(columns, across === undefined ? 16 : 1), named(rows, across === undefined ? 8 : 1)];
  const values = new Map(cells.map(([column, row, value]) => [`${column} ${row}`, value]));
  let frame: Frame | undefined;
  return {
    height: HEIGHT,
    draw: (width) => {
      frame = new Frame(margin(vertical), width - 12, 8, HEIGHT - (across === undefined ? 52 : 68), horizontal, vertical);
      const [w, h] = [(frame.right - frame.left) / columns.length, (frame.bottom - frame.top) / rows.length];
      const drawn = cells.map(([column, row, value]) => svg('rect', { class: 'cell', x: frame!.x(column) - w / 2, y: frame!.y(row) - h / 2, width: w + 0.3, height: h + 0.3, 'fill-opacity': String(dark(value)) }));
      const labels = cells.length <= MOST_LABELS && across !== undefined
        ? cells.map(([column, row, value]) => svg('text', { class: dark(value) > 0.55 ? 'on' : 'off', x: frame!.x(column), y: frame!.y(row) + 4, 'text-anchor': 'middle' }, say(value))) : [];
      return [frame.grid(across ?? ''), ...drawn, ...labels, cells.length > 0 ? key(width, say(low), say(high)) : null];
    },
    tip: (x, y) => {
      if (!frame) return null;
      const [column, row] = [Math.round(frame.atX(x)), Math.round(frame.atY(y))];
      const value = values.get(`${column} ${row}`);
      return value === undefined ? null : tip(column, row, value);
    },
  };
}

/** From the lightest to the darkest. */
function key(width: number, low: string, high: string): SVGElement {
  const middle = width / 2;
  const steps = Array.from({ length: 6 }, (_, index) => svg('rect', { class: 'cell', x: middle - 42 + index * 14, y: HEIGHT - 14, width: 14, height: 10, 'fill-opacity': String(0.15 + 0.17 * index) }));
  return svg('g', { class: 'grid' }, ...steps, svg('text', { x: middle - 50, y: HEIGHT - 5, 'text-anchor': 'end' }, low), svg('text', { x: middle + 50, y: HEIGHT - 5 }, high));
}
