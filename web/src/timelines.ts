// The timeline of one trial: iostat's columns in seven charts above each other, on one time axis.

import { draw, Frame, linear, svg } from './plot';
import type { Timeline } from './columns';
import { harmless } from './dom';
import { duration, extent, threeDigits } from './number';
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
    const values = timelines.flatMap((timeline) => group.lines.flatMap((line) => Array.from(timeline[line.column], (value) => value * line.factor)));
    const [, most] = extent(values.filter(Number.isFinite));
    return group.title === '%util' ? 100 : most > 0 ? most : 1;
  });
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

/** The charts of one side, with the time that is shown and the pointer. */
export class TimelineChart {
  readonly canvas: HTMLElement;
  /** Called with the share of the whole time, 0 to 100, that was dragged over. */
  onZoom: (from: number, to: number) => void = () => {};
  /** Called with the time below the pointer; NaN when it leaves. */
  onPoint: (second: number) => void = () => {};
  #frames: Frame[] = [];
  #zoom: [number, number] = [0, 100];
  #from = NaN;

  constructor(canvas: HTMLElement, readonly name: string, readonly timeline: Timeline, readonly record: TrialRecord, readonly span: number, readonly most: number[]) {
    this.canvas = canvas;
    const at = (event: PointerEvent): number => {
      const picture = canvas.querySelector('svg')!;
      const box = picture.getBoundingClientRect();
      const frame = this.#frames[0];
      if (!frame) return NaN;
      return frame.atX(Math.min(frame.right, Math.max(frame.left, ((event.clientX - box.left) * picture.viewBox.baseVal.width) / box.width)));
    };
    canvas.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || (event.target as Element).closest('button')) return;
      this.#from = at(event);
      event.preventDefault();
    });
    canvas.addEventListener('pointermove', (event) => {
      this.#brush(this.#from, at(event));
      this.onPoint(at(event));
    });
    canvas.addEventListener('pointerleave', () => {
      this.#from = NaN;
      this.#brush(NaN, NaN);
      this.onPoint(NaN);
    });
    canvas.addEventListener('pointerup', (event) => {
      const [from, to] = [this.#from, at(event)].sort((a, b) => a - b) as [number, number];
      this.#from = NaN;
      this.#brush(NaN, NaN);
      if ((to - from) / this.span > 0.005) this.onZoom((from / this.span) * 100, (to / this.span) * 100);
    });
  }

  /** Draws this part of the whole time, in percent. */
  show(zoom: [number, number]): void {
    this.#zoom = zoom;
    this.canvas.dataset['zoom'] = `${Math.round(zoom[0])} ${Math.round(zoom[1])}`;
    draw(this.canvas, `timeline of ${this.name}: ${GROUPS.map((group) => group.title).join(', ')}`, { height: TOP + GROUPS.length * (HEIGHT + GAP), draw: (width) => this.#draw(width) });
  }

  #draw(width: number): Element[] {
    const { timeline, span, most } = this;
    const time = Array.from(timeline.at_ns, (ns) => ns / 1e9);
    const [low, high] = [(span * this.#zoom[0]) / 100, (span * this.#zoom[1]) / 100];
    const across = linear(low, Math.max(high, low + 1e-9), (value) => `${threeDigits(value)} s`);
    this.#frames = GROUPS.map((_, index) => {
      const top = TOP + index * (HEIGHT + GAP);
      const up = linear(0, most[index] ?? 1, threeDigits, 2);
      return new Frame(52, width - 12, top, top + HEIGHT, across, up);
    });
    const inside = svg('svg', { x: 52, y: 0, width: width - 64, height: '100%', viewBox: `52 0 ${width - 64} ${TOP + GROUPS.length * (HEIGHT + GAP)}` });
    const parts: Element[] = [];
    GROUPS.forEach((group, index) => {
      const frame = this.#frames[index]!;
      inside.append(...this.#steps(frame, index === 0));
      for (const [place, line] of group.lines.entries()) inside.append(frame.line(stairs(time, timeline[line.column], line.factor), `k${place} d${place}`, true));
      parts.push(frame.grid('', index === GROUPS.length - 1), this.#heading(group, frame));
    });
    const ends = [TOP, TOP + GROUPS.length * (HEIGHT + GAP) - GAP];
    const pointer = svg('line', { class: 'pointer', x1: -9, x2: -9, y1: ends[0], y2: ends[1] });
    const brush = svg('rect', { class: 'brush', x: -9, width: 0, y: ends[0], height: (ends[1] ?? 0) - (ends[0] ?? 0) });
    return [inside, ...parts, brush, pointer];
  }

  /** Where each step of the trial was, with its name where there is room. */
  #steps(frame: Frame, isNamed: boolean): Element[] {
    return this.record.steps.filter((step) => step.ended_ns > step.started_ns).flatMap((step, index) => {
      const [from, to] = [Math.max(frame.left, frame.x(step.started_ns / 1e9)), Math.min(frame.right, frame.x(step.ended_ns / 1e9))];
      if (to <= from) return [];
      const area = svg('rect', { class: index % 2 ? 'step odd' : 'step', x: from, width: to - from, y: frame.top, height: frame.bottom - frame.top });
      const fits = isNamed && to - from > step.name.length * 6.5;
      return fits ? [area, svg('text', { class: 'step', x: (from + to) / 2, y: frame.top + 11, 'text-anchor': 'middle' }, step.name)] : [area];
    });
  }

  /** The title of a chart with its unit, its lines in their colours, and their values below the pointer. */
  #heading(group: Group, frame: Frame): SVGElement {
    const title = svg('text', { class: 'heading', x: 4, y: frame.top - 8 }, group.unit ? `${group.title}, ${group.unit}` : group.title);
    for (const [place, line] of group.lines.entries()) {
      title.append(svg('tspan', { class: `k${place}`, dx: 14 }, group.lines.length > 1 ? `${['\u2501', '\u2505', '\u22ef'][place] ?? ''} ${line.name}` : ''), svg('tspan', { class: 'read', 'data-column': line.column, dx: 5 }, ''));
    }
    return title;
  }

  #brush(from: number, to: number): void {
    const frame = this.#frames[0];
    const brush = this.canvas.querySelector('.brush');
    if (!frame || !brush) return;
    const [left, right] = Number.isFinite(from) && Number.isFinite(to) ? [frame.x(Math.min(from, to)), frame.x(Math.max(from, to))] : [-9, -9];
    brush.setAttribute('x', String(left));
    brush.setAttribute('width', String(right - left));
  }

  /** Shows the pointer at a time, and the values there. */
  point(second: number): void {
    const frame = this.#frames[0];
    const pointer = this.canvas.querySelector('.pointer');
    if (!frame || !pointer) return;
    const shown = Number.isFinite(second);
    for (const end of ['x1', 'x2']) pointer.setAttribute(end, String(shown ? frame.x(second) : -9));
    // A sample covers the interval that ends with it.
    const row = this.timeline.at_ns.findIndex((ns) => ns / 1e9 >= second);
    const factors = new Map(GROUPS.flatMap((group) => group.lines.map((line) => [line.column, line.factor])));
    for (const place of this.canvas.querySelectorAll<SVGElement>('.read')) {
      const column = place.dataset['column'] as keyof Timeline;
      const value = shown && row >= 0 ? (this.timeline[column][row] ?? NaN) * (factors.get(column) ?? 1) : NaN;
      place.textContent = Number.isFinite(value) ? threeDigits(value) : '';
    }
  }
}
