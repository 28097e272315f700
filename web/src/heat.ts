// Heat maps: one scale and one set of colours for all of them.

import { axis, ink, tooltip, type Option } from './charts';

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

export function heatMap({ columns, rows, cells, across, say, tip }: Heat): Option {
  let [low, high] = [Infinity, -Infinity];
  for (const [, , value] of cells) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  const { panel, mark, ink: text } = ink();
  const every = (interval: number): Option => (across === undefined ? { axisLabel: { interval }, splitLine: { show: false } } : {});
  return {
    grid: { left: 8, right: 12, top: 8, bottom: across === undefined ? 48 : 72, containLabel: true },
    tooltip: tooltip((given) => {
      const [column, row, , value] = (given as { value: [number, number, number, number] }).value;
      return tip(column, row, value);
    }),
    xAxis: axis({ type: 'category', data: columns, name: across, nameLocation: 'middle', nameGap: 24, ...every(15) }),
    yAxis: axis({ type: 'category', data: rows, ...every(7) }),
    // The smallest value is not the colour of a cell without one.
    visualMap: { min: -0.15, max: 1, dimension: 2, orient: 'horizontal', left: 'center', bottom: 0, itemHeight: 90, itemWidth: 10,
      text: cells.length === 0 ? ['', ''] : [say(high), say(low)], textStyle: { color: text, fontSize: 11 }, inRange: { color: [panel, mark] }, formatter: () => '' },
    series: [{ type: 'heatmap', progressive: 0, data: cells.map(([column, row, value]) => [column, row, share(value, low, high), value]),
      label: { show: cells.length <= MOST_LABELS && across !== undefined, color: text, formatter: (given: { value: [number, number, number, number] }) => say(given.value[3]) } }],
  };
}
