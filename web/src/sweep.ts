// Where block size, file size, depth or threads vary, between workloads or between the steps of
// one: sweeps and surfaces.

import { colour, draw, forget, Frame, legend, linear, logarithmic, margin, nearest, SHAPES } from './plot';
import { byId, el, fill, select } from './dom';
import { heatMap } from './heat';
import { binary, extent, quantity } from './number';
import type { App } from './main';
import type { Workload } from './summary';

/** Steps that every workload has: what differs there is no parameter's doing. */
const UNMEASURED = /^(mkfs|mount|umount|fsck|recovery|mount_torn|fsck_torn|crash_fsck)\./;

type Parameters = Map<string, number>;
export interface Point { stack: number; parameters: Parameters; value: number }

const TITLES: Record<string, string> = {
  size: 'block size', record: 'record size', file_size: 'file size', depth: 'operations in flight', threads: 'threads',
  read_percent: 'reads, percent', files: 'files', rate: 'requested operations per second',
};
const UNITS: Record<string, number> = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 };

/** Numbers that the parts of a workload are given. */
function ofWorkload(workload: Workload): Parameters {
  const found: Parameters = new Map();
  for (const part of workload.parts) {
    for (const values of Object.values(part)) {
      for (const [name, value] of Object.entries(values)) {
        if (name in TITLES && typeof value === 'number' && !found.has(name)) found.set(name, value);
      }
    }
  }
  return found;
}

/** The parameters in the name of a step: `sweep-4KiB`, `write-64MiB-r4KiB`, `seek-t8`. */
export function ofStep(step: string): { base: string; parameters: Parameters } {
  const parameters: Parameters = new Map();
  const size = (text: string): number => {
    const [, number, unit] = /^([\d.]+)(\w+)$/.exec(text) ?? [];
    return Number(number) * (UNITS[unit ?? ''] ?? NaN);
  };
  const both = /^(.+)-([\d.]+(?:[KMGT]i)?B)-r([\d.]+(?:[KMGT]i)?B)$/.exec(step);
  const one = /^(.+)-([\d.]+(?:[KMGT]i)?B)$/.exec(step);
  const threads = /^(.+)-t(\d+)$/.exec(step);
  if (both) {
    parameters.set('file_size', size(both[2] ?? ''));
    parameters.set('record', size(both[3] ?? ''));
  } else if (one) parameters.set('size', size(one[2] ?? ''));
  else if (threads) parameters.set('threads', Number(threads[2]));
  return { base: (both ?? one ?? threads)?.[1] ?? step, parameters };
}

/** Points by metric, only of metrics of which some parameter varies. */
export function points(app: App): Map<string, Point[]> {
  const all = new Map<string, Point[]>();
  const workloads = app.summary.workloads.map(ofWorkload);
  const paths = app.summary.metrics.map(({ path }) => {
    const dot = path.lastIndexOf('.');
    const { base, parameters } = ofStep(path.slice(0, dot));
    return { name: base + path.slice(dot), parameters };
  });
  app.summary.candidates.forEach(([stack, workload], candidate) => {
    paths.forEach(({ name, parameters }, metric) => {
      if (UNMEASURED.test(name)) return;
      const value = app.summary.medians[candidate]?.[metric];
      if (value === null || value === undefined) return;
      const list = all.get(name) ?? [];
      list.push({ stack, value, parameters: new Map([...(workloads[workload] ?? []), ...parameters]) });
      all.set(name, list);
    });
  });
  // A value that is the same everywhere, such as 0, is no curve.
  const tells = (list: Point[]): boolean => varied(list).length > 0 && new Set(list.map((point) => point.value)).size > 1;
  return new Map([...all].filter(([, list]) => tells(list)));
}

export function varied(list: Point[]): string[] {
  return Object.keys(TITLES).filter((name) => new Set(list.map((point) => point.parameters.get(name)).filter((value) => value !== undefined)).size > 1);
}

export class Sweeps {
  readonly #box = byId('sweeps');
  readonly #all: Map<string, Point[]>;
  #metric: string;
  #x = '';
  #stack = 0;

  constructor(readonly app: App) {
    this.#all = points(app);
    const judged = app.summary.verdict.metric;
    const { base } = ofStep(judged.slice(0, judged.lastIndexOf('.')));
    const wanted = base + judged.slice(judged.lastIndexOf('.'));
    this.#metric = this.#all.has(wanted) ? wanted : [...this.#all.keys()].find((name) => /iops|mb_per_s/.test(name)) ?? [...this.#all.keys()][0] ?? '';
    this.#stack = app.ranked()[0] ?? 0;
    if (this.#box && this.#all.size > 0) this.#draw();
  }

  #points(): Point[] {
    return this.#all.get(this.#metric) ?? [];
  }

  #say(name: string, value: number): string {
    return /size|record/.test(name) ? binary(value) : String(value);
  }

  #draw(): void {
    const box = this.#box;
    if (!box) return;
    box.querySelectorAll<HTMLElement>('.chart').forEach(forget);
    const { app } = this;
    const names = varied(this.#points());
    if (!names.includes(this.#x)) this.#x = names[0] ?? '';
    const redo = (): void => this.#draw();
    const tools = el('div', { class: 'tools' },
      select('metric', [...this.#all.keys()].map((name): [string, string] => [name, name]), this.#metric, (value) => { this.#metric = value; redo(); }),
      select('over', names.map((name): [string, string] => [name, TITLES[name] ?? name]), this.#x, (value) => { this.#x = value; redo(); }));
    const lines = el('div', { class: 'chart curves' });
    fill(box, el('h2', {}, 'Sweeps'), el('p', { class: 'faint' }, 'Medians of the successful trials; one line for each value if another parameter varies too.'), tools, lines);
    this.#lines(lines, names);
    const y = names.find((name) => name !== this.#x);
    if (y === undefined) return;
    const surface = el('div', { class: 'chart picture' });
    box.append(el('h3', {}, `Surface: ${TITLES[this.#x]} \u00d7 ${TITLES[y]}`),
      el('div', { class: 'tools' }, select('stack', app.ranked().map((stack): [string, string] => [String(stack), app.label(stack)]), String(this.#stack), (value) => { this.#stack = Number(value); redo(); })), surface);
    this.#surface(surface, y);
  }

  #unit(): string {
    const name = this.#metric.slice(this.#metric.lastIndexOf('.'));
    return this.app.summary.metrics.find((metric) => metric.path.endsWith(name))?.unit ?? '';
  }

  #lines(canvas: HTMLElement, names: string[]): void {
    const { app } = this;
    const groups = new Map<string, [number, number][]>();
    const shown = new Set(app.shown().slice(0, 6));
    for (const point of this.#points()) {
      const x = point.parameters.get(this.#x);
      if (x === undefined || !shown.has(point.stack)) continue;
      const others = names.filter((name) => name !== this.#x && point.parameters.has(name)).map((name) => `${TITLES[name]} ${this.#say(name, point.parameters.get(name) ?? 0)}`);
      const name = [app.label(point.stack), ...others].join(', ');
      const group = groups.get(name) ?? [];
      group.push([x, point.value]);
      groups.set(name, group);
    }
    const unit = this.#unit();
    const series = [...groups].map(([name, data], index) => ({ name, data: data.sort((a, b) => a[0] - b[0]), css: colour(index), shape: SHAPES[index % SHAPES.length]! }));
    const all = series.flatMap((one) => one.data.map(([x, y]) => ({ name: one.name, x, y })));
    const [low, high] = extent(all.map(({ x }) => x));
    const [least, most] = extent(all.map(({ y }) => y));
    const positive = low > 0 && least > 0;
    const sayX = (value: number): string => this.#say(this.#x, value);
    const sayY = (value: number): string => quantity(unit, value);
    const across = positive ? logarithmic(low, high, sayX, 2) : linear(low, high, sayX);
    const up = positive ? logarithmic(least, most, sayY) : linear(Math.min(0, least), most, sayY);
    let frame: Frame | undefined;
    canvas.before(legend(series));
    draw(canvas, `${this.#metric} over ${TITLES[this.#x]}: ${[...groups.keys()].join('; ').slice(0, 400)}`, {
      height: 300,
      draw: (width) => {
        frame = new Frame(margin(up), width - 24, 10, 256, across, up);
        return [frame.grid(TITLES[this.#x]), ...series.flatMap((one) => [frame!.line(one.data, one.css), frame!.dots(one.data, one.shape, one.css)])];
      },
      tip: (x, y) => {
        const one = frame && nearest(frame, all, (point) => [point.x, point.y] as const, x, y);
        return one ? `${one.name}\n${TITLES[this.#x]} ${sayX(one.x)}\n${sayY(one.y)}` : null;
      },
    });
  }

  #surface(canvas: HTMLElement, y: string): void {
    const { app } = this;
    const mine = this.#points().filter((point) => point.stack === this.#stack);
    const values = (name: string): number[] => [...new Set(mine.map((point) => point.parameters.get(name)).filter((value): value is number => value !== undefined))].sort((a, b) => a - b);
    const [xs, ys] = [values(this.#x), values(y)];
    const cells = mine.map((point) => [xs.indexOf(point.parameters.get(this.#x) ?? NaN), ys.indexOf(point.parameters.get(y) ?? NaN), point.value] as const).filter(([column, row]) => column >= 0 && row >= 0);
    const unit = this.#unit();
    draw(canvas, `${this.#metric} of ${app.label(this.#stack)} over ${TITLES[this.#x]} and ${TITLES[y]}`, heatMap({
      columns: xs.map((value) => this.#say(this.#x, value)),
      rows: ys.map((value) => this.#say(y, value)),
      cells,
      across: TITLES[this.#x] ?? this.#x,
      say: (value) => quantity(unit, value),
      tip: (column, row, value) => `${this.#say(this.#x, xs[column] ?? 0)} \u00d7 ${this.#say(y, ys[row] ?? 0)}\n${quantity(unit, value)}`,
    }));
  }
}
