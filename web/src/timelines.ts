// The timeline of one trial: iostat's columns in seven charts above each other, on one time axis.

import { axis, ink, tooltip, type Option } from './charts';
import type { Timeline } from './columns';
import { harmless } from './dom';
import { duration } from './number';
import type { TrialRecord } from './run';

interface Line { name: string; column: keyof Timeline; factor: number }
interface Group { title: string; unit: string; lines: Line[] }

export const GROUPS: Group[] = [
  { title: 'throughput', unit: 'MB/s', lines: [{ name: 'read', column: 'rkB/s', factor: 1.024e-3 }, { name: 'written', column: 'wkB/s', factor: 1.024e-3 }] },
  { title: 'r_await, w_await', unit: 'ms', lines: [{ name: 'r_await', column: 'r_await', factor: 1 }, { name: 'w_await', column: 'w_await', factor: 1 }] },
  { title: 'aqu-sz', unit: '', lines: [{ name: 'aqu-sz', column: 'aqu-sz', factor: 1 }] },
  { title: 'request size', unit: 'KiB', lines: [{ name: 'rareq-sz', column: 'rareq-sz', factor: 1 }, { name: 'wareq-sz', column: 'wareq-sz', factor: 1 }] },
  { title: '%util', unit: '%', lines: [{ name: '%util', column: '%util', factor: 1 }] },
  { title: 'dirty pages', unit: 'MB', lines: [{ name: 'dirty', column: 'dirty_bytes', factor: 1e-6 }, { name: 'write-back', column: 'writeback_bytes', factor: 1e-6 }] },
  { title: 'pressure', unit: '%', lines: [{ name: 'io', column: 'io_pressure', factor: 1 }, { name: 'cpu', column: 'cpu_pressure', factor: 1 }, { name: 'memory', column: 'memory_pressure', factor: 1 }] },
];

const TOP = 26;
const HEIGHT = 74;
const GAP = 30;

/** The largest value of each chart over all timelines shown, so that they have the same scales. */
export function tops(timelines: Timeline[]): number[] {
  return GROUPS.map((group) => {
    let most = 0;
    for (const timeline of timelines) {
      for (const line of group.lines) {
        for (const value of timeline[line.column]) {
          if (Number.isFinite(value)) most = Math.max(most, value * line.factor);
        }
      }
    }
    return group.title === '%util' ? 100 : most > 0 ? most : 1;
  });
}

/** The title of a chart with its unit, and its lines in their colours. */
function heading(group: Group): string {
  const title = group.unit ? `${group.title}, ${group.unit}` : group.title;
  if (group.lines.length < 2) return title;
  return `${title}   ${group.lines.map((line, place) => `{c${place}|${line.name}}`).join('  ')}`;
}

function rounded(value: number): string {
  return Number(value.toPrecision(3)).toString();
}

/**
 * Points of a line whose values hold from the time before to their own: a sample is taken at the end of
 * its interval. The first interval begins with the trial.
 */
export function stairs(time: number[], values: ArrayLike<number>, factor: number): [number, number][] {
  const points = time.map((second, row): [number, number] => [second, (values[row] ?? NaN) * factor]);
  const first = points[0];
  return first && first[0] > 0 ? [[0, first[1]], ...points] : points;
}

/** The steps for which the samples are too far apart, in words; empty if there are none. */
export function tooShort(timeline: Timeline, record: TrialRecord): string {
  const times = timeline.at_ns;
  const interval = times.length > 1 ? ((times[times.length - 1] ?? 0) - (times[0] ?? 0)) / (times.length - 1) : 0;
  const short = record.steps.filter((step) => Object.keys(step.metrics).length > 0 && step.ended_ns > step.started_ns && step.ended_ns - step.started_ns < 3 * interval);
  if (short.length === 0) return '';
  const names = short.map((step) => `${harmless(step.name)} (${duration(step.ended_ns - step.started_ns)})`);
  const said = names.length > 6 ? `${names.slice(0, 6).join(', ')} and ${names.length - 6} more` : names.join(', ');
  return `Samples are ${duration(interval)} apart: too far to show anything about ${said}.`;
}

export function timelineOption(timeline: Timeline, record: TrialRecord, span: number, most: number[], zoom: [number, number]): Option {
  const { mark, second, third, faint, line: lineColour, band } = ink();
  const colours = [mark, second, third];
  const time = Array.from(timeline.at_ns, (ns) => ns / 1e9);
  const areas = record.steps.filter((step) => step.ended_ns > step.started_ns).map((step, index) => [
    { xAxis: step.started_ns / 1e9, name: ((step.ended_ns - step.started_ns) / 1e9 / span) * 75 > step.name.length ? harmless(step.name) : '',
      itemStyle: { color: band, opacity: index % 2 ? 0.25 : 0.6 }, label: { color: faint, fontSize: 10, position: 'insideTop' } },
    { xAxis: step.ended_ns / 1e9 },
  ]);
  const top = (index: number): number => TOP + index * (HEIGHT + GAP);
  return {
    title: GROUPS.map((group, index) => ({ text: heading(group), left: 4, top: top(index) - 20, textStyle: { color: faint, fontSize: 11, fontWeight: 600, rich: Object.fromEntries(colours.map((color, place) => [`c${place}`, { color, fontSize: 11 }])) } })),
    grid: GROUPS.map((_, index) => ({ left: 52, right: 12, top: top(index), height: HEIGHT })),
    axisPointer: { link: [{ xAxisIndex: 'all' }], lineStyle: { color: faint } },
    tooltip: {
      ...tooltip((given) => {
        const all = given as { seriesName: string; value: [number, number] }[];
        return [`${(all[0]?.value[0] ?? 0).toFixed(2)} s`, ...all.filter((one) => Number.isFinite(one.value[1])).map((one) => `${one.seriesName} ${rounded(one.value[1])}`)].join('\n');
      }, 'axis'),
    },
    // Dragging over a chart chooses the time that is shown; the toolbox itself is not.
    toolbox: { show: true, top: -40, feature: { dataZoom: { yAxisIndex: 'none', brushStyle: { color: mark, opacity: 0.15 } } } },
    dataZoom: [{ type: 'slider', xAxisIndex: GROUPS.map((_, index) => index), start: zoom[0], end: zoom[1], height: 22, bottom: 6,
      borderColor: lineColour, textStyle: { color: faint }, labelFormatter: (value: number) => `${value.toFixed(1)} s`, filterMode: 'none' }],
    xAxis: GROUPS.map((_, index) => axis({ type: 'value', gridIndex: index, min: 0, max: span, splitLine: { show: false },
      axisLabel: { show: index === GROUPS.length - 1, formatter: (value: number) => `${rounded(value)} s`, hideOverlap: true }, axisTick: { show: false }, axisPointer: { show: true, label: { show: false } } })),
    yAxis: GROUPS.map((_, index) => axis({ type: 'value', gridIndex: index, min: 0, max: most[index], splitNumber: 2, interval: (most[index] ?? 1) / 2,
      axisLabel: { formatter: (value: number) => rounded(value) } })),
    series: GROUPS.flatMap((group, index) => group.lines.map((line, place) => ({
      type: 'line', name: line.name, xAxisIndex: index, yAxisIndex: index, showSymbol: timeline.at_ns.length < 40, symbolSize: 3, connectNulls: false, step: 'start',
      lineStyle: { width: 1.3, color: colours[place] }, itemStyle: { color: colours[place] },
      data: stairs(time, timeline[line.column], line.factor),
      ...(place === 0 ? { markArea: { silent: true, data: index === 0 ? areas : areas.map(([from, to]) => [{ ...from, name: '' }, to]) } } : {}),
    }))),
  };
}
