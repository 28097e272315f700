// Two trials side by side: what happened in each, on the same scales and at the same time.

import { choosable, enter, numberCell } from './cells';
import type { Events, Timeline } from './columns';
import { byId, el, fill, select } from './dom';
import { curve, merge, percentiles, type Histogram } from './hdr';
import { binary, duration, extent, quantity } from './number';
import { ofTrial } from './reproduce';
import type { Latencies, SingleIo, TrialRecord } from './run';
import { STATUS, type TrialRow } from './summary';
import type { App } from './main';
import { heatOption, heatSource, seekDrawing } from './pictures';
import { colour, draw, forget, Frame, legend, linear, logarithmic, margin } from './plot';
import { TimelineChart, tooShort, tops } from './timelines';

/** Names of the two sides in the address. */
const KEYS = ['a', 'b'] as const;

/** The content of one side. */
interface Side {
  name: 'A' | 'B';
  stack: number | null;
  candidate: number;
  trial: TrialRow | null;
  box: HTMLElement;
}

interface Loaded {
  record: TrialRecord;
  timeline: Timeline | null;
  journal: Timeline | null;
  latencies: Latencies[];
  events: Events | null;
}

const SHARES: [string, number][] = [
  ['50 %', 0.5], ['90 %', 0.9], ['99 %', 0.99], ['99.9 %', 0.999], ['99.99 %', 0.9999], ['99.999 %', 0.99999], ['max', 1],
];

export class TrialView {
  readonly #box = byId('closer');
  readonly #sides: [Side, Side];
  readonly #parts = {
    told: el('div', { class: 'pair' }),
    timelines: el('div', { class: 'pair' }),
    curves: el('div', {}),
    heat: el('div', { class: 'pair' }),
    seek: el('div', { class: 'pair' }),
  };
  #scope: 'trial' | 'stack' = 'trial';
  #step = '';
  #device: 'timeline' | 'journal_timeline' = 'timeline';
  #zoom: [number, number] = [0, 100];
  #charts: TimelineChart[] = [];
  #loaded: (Loaded | null)[] = [null, null];
  #seen = false;
  #turn = 0;
  readonly #best: [number | undefined, number | undefined];

  constructor(readonly app: App) {
    const side = (name: 'A' | 'B'): Side => ({ name, stack: null, candidate: -1, trial: null, box: el('div', { class: `side side-${name.toLowerCase()}` }) });
    this.#sides = [side('A'), side('B')];
    const [best, next] = app.ranked();
    this.#best = [best, next];
    if (!this.#box) return;
    fill(this.#box, el('h2', {}, 'Look closer: two stacks side by side'),
      el('p', { class: 'faint' }, 'Choose with A and B in the table, or here. Time runs from the start of the trial; drag over a chart to zoom, all charts follow.'),
      el('div', { class: 'pair choose' }, this.#sides.map((one) => one.box)),
      el('div', { id: 'details' }));
    this.restore();
    // The raw data is unpacked when the reader scrolls this far, not before.
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) {
        observer.disconnect();
        this.#seen = true;
        void this.#load();
      }
    }, { rootMargin: '300px' });
    observer.observe(this.#box);
  }

  /** Takes the pair from the address: by default the two best stacks. */
  restore(): void {
    const { app } = this;
    for (const side of [0, 1] as const) {
      const [label, round] = [app.address.get(KEYS[side]), Number(app.address.get(`${KEYS[side]}-round`)) - 1];
      const named = app.summary.stacks.findIndex((stack) => stack.label === label);
      const stack = named >= 0 ? named : this.#best[side];
      if (stack === undefined) continue;
      this.#set(side, stack);
      const one = this.#sides[side];
      one.trial = app.trials(one.candidate).find((trial) => trial[1] === round) ?? one.trial;
    }
    this.#head();
    if (this.#seen) void this.#load();
  }

  /** A reader chose: the address says so. */
  #chosen(): void {
    this.#sides.forEach((one, side) => {
      this.app.address.set(KEYS[side]!, one.stack === null ? null : this.app.label(one.stack));
      this.app.address.set(`${KEYS[side]}-round`, one.trial ? String(one.trial[1] + 1) : null);
    });
    this.#head();
    this.#seen = true;
    void this.#load();
  }

  pin(side: 0 | 1, stack: number): void {
    this.#set(side, stack);
    this.#chosen();
  }

  open(side: 0 | 1, trial: TrialRow): void {
    const one = this.#sides[side];
    one.stack = this.app.summary.candidates[trial[2]]?.[0] ?? null;
    one.candidate = trial[2];
    one.trial = trial;
    this.#chosen();
  }

  /** A stack with its first workload and its first trial that ended well. */
  #set(side: 0 | 1, stack: number | null): void {
    const one = this.#sides[side];
    one.stack = stack;
    const candidates = stack === null ? [] : this.app.candidates(stack);
    const workload = (candidate: number): number | undefined => this.app.summary.candidates[candidate]?.[1];
    const other = this.#sides[1 - side as 0 | 1];
    const same = candidates.find((candidate) => workload(candidate) === workload(other.candidate));
    this.#setCandidate(one, same ?? candidates[0] ?? -1, other.trial?.[1]);
  }

  #setCandidate(side: Side, candidate: number, round?: number): void {
    side.candidate = candidate;
    const trials = this.app.trials(candidate);
    side.trial = trials.find((trial) => trial[1] === round && trial[3] !== 2) ?? trials.find((trial) => trial[3] === 0) ?? trials[0] ?? null;
  }

  /** Choices of both sides. */
  #head(): void {
    this.app.pinned(this.#sides.map((one) => one.stack));
    this.#sides.forEach((one, index) => {
      const stacks: [string, string][] = [['', 'none'], ...this.app.ranked().map((stack): [string, string] => [String(stack), this.app.label(stack)])];
      this.app.summary.stacks.forEach((stack, place) => {
        if (!stacks.some(([value]) => value === String(place))) stacks.push([String(place), stack.label]);
      });
      const chosen = select(one.name, stacks, one.stack === null ? '' : String(one.stack), (value) => {
        this.#set(index as 0 | 1, value === '' ? null : Number(value));
        this.#chosen();
      });
      const candidates = one.stack === null ? [] : this.app.candidates(one.stack);
      const workloads = candidates.length < 2 ? null : select('workload', candidates.map((candidate): [string, string] => [String(candidate), this.app.workload(candidate)]), String(one.candidate), (value) => {
        this.#setCandidate(one, Number(value), one.trial?.[1]);
        this.#chosen();
      });
      const trials = this.app.trials(one.candidate);
      const unit = this.app.unit(this.app.summary.verdict.metric);
      const rounds = trials.length === 0 ? null : select('round', trials.map((trial, place): [string, string] => {
        const status = trial[3] === 0 ? '' : `, ${STATUS[trial[3]] ?? ''}`;
        return [String(place), `${trial[1] + 1}: ${quantity(unit, trial[4])}${status}`];
      }), String(one.trial ? trials.indexOf(one.trial) : 0), (value) => {
        one.trial = trials[Number(value)] ?? null;
        this.#chosen();
      });
      const move = (by: number): void => {
        const at = one.trial ? trials.indexOf(one.trial) : 0;
        one.trial = trials[(at + by + trials.length) % trials.length] ?? null;
        this.#chosen();
      };
      const steps = trials.length < 2 ? null : [
        el('button', { type: 'button', class: 'small', label: `earlier round of ${one.name}`, on: { click: () => move(-1) } }, '\u2039'),
        el('button', { type: 'button', class: 'small', label: `later round of ${one.name}`, on: { click: () => move(1) } }, '\u203a'),
      ];
      fill(one.box, chosen, workloads, rounds, steps && el('span', { class: 'buttons' }, steps));
    });
  }

  async #load(): Promise<void> {
    const box = byId('details');
    if (!box || !this.#seen) return;
    const turn = ++this.#turn;
    const opened = this.app.run();
    if (!opened) {
      fill(box, el('p', { class: 'faint' }, 'This page was written without the run file, so it does not contain the trials.'));
      return;
    }
    if (!box.hasChildNodes()) fill(box, el('p', { class: 'faint' }, 'unpacking \u2026'));
    try {
      const run = await opened;
      const loaded = await Promise.all(this.#sides.map(async (one): Promise<Loaded | null> => {
        if (!one.trial || one.stack === null) return null;
        const trial = one.trial[0];
        const [line, journal, events] = await Promise.all([run.timeline(trial, 'timeline'), run.timeline(trial, 'journal_timeline'), run.events(trial)]);
        return { record: await run.record(trial), timeline: line, journal, events, latencies: await this.#latencies(one) };
      }));
      if (turn !== this.#turn) return;
      this.#loaded = loaded;
      this.#draw(box);
    } catch (error) {
      if (turn === this.#turn) fill(box, el('p', { class: 'failed', role: 'alert' }, `Cannot read the run file inside this page: ${String(error)}`));
    }
  }

  /** Of the trial, or of all trials of the stack that ended well. */
  async #latencies(side: Side): Promise<Latencies[]> {
    const run = await this.app.run();
    if (!run || !side.trial) return [];
    if (this.#scope === 'trial') return run.latencies(side.trial[0]);
    const trials = this.app.trials(side.candidate).filter((trial) => trial[3] === 0);
    const all = (await Promise.all(trials.map((trial) => run.latencies(trial[0])))).flat();
    const groups = new Map<string, Latencies[]>();
    for (const one of all) {
      const key = `${one.step}\u0000${one.operation}`;
      const group = groups.get(key) ?? [];
      group.push(one);
      groups.set(key, group);
    }
    return [...groups.values()].map((group) => ({ ...group[0]!, histogram: merge(group.map((one) => one.histogram)) }));
  }

  #draw(box: HTMLElement): void {
    const parts = this.#parts;
    if (!box.contains(parts.told)) {
      fill(box, el('h3', {}, 'The trials'), parts.told, el('h3', {}, 'Timeline of the device'), el('div', { id: 'timeline-tools', class: 'tools' }),
        parts.timelines, el('h3', {}, 'Latency of one operation'), el('div', { id: 'latency-tools', class: 'tools' }), parts.curves,
        el('h3', {}, 'Latency over time'), parts.heat, el('h3', {}, 'Where on the disk'), parts.seek);
    }
    fill(parts.told, this.#sides.map((one, index) => this.#told(one, this.#loaded[index] ?? null)));
    this.#timelines();
    this.#curves();
    this.#pictures();
  }

  #told(side: Side, loaded: Loaded | null): HTMLElement {
    if (!loaded || !side.trial) return el('div', { class: 'side' }, el('p', { class: 'faint' }, 'nothing chosen'));
    const { record } = loaded;
    const failed = typeof record.status === 'object' ? record.status.failed : null;
    const trial = side.trial[0];
    const rows = record.steps.flatMap((step) => Object.entries(step.metrics).map(([name, value]) => {
      const path = `${step.name}.${name}`;
      return el('tr', {}, el('td', {}, step.name), el('td', {}, name), numberCell(path, quantity(this.app.unit(path), value)));
    }));
    const table = el('table', {}, el('tbody', {}, rows));
    enter(table);
    choosable(table, (cell) => {
      const path = cell.dataset['metric'] ?? '';
      this.app.command.show(`${path} of trial ${trial}`, ofTrial(this.app.summary, trial, path));
    });
    const warnings = [...record.warnings, ...record.steps.flatMap((step) => step.warnings.map((one) => ({ ...one, text: `${step.name}: ${one.text}` })))];
    return el('div', { class: 'side' },
      el('p', {}, el('strong', {}, this.app.label(side.stack ?? -1)), ` \u00b7 ${this.app.workload(side.candidate)} \u00b7 round ${side.trial[1] + 1}, trial ${trial} \u00b7 ${STATUS[side.trial[3]] ?? ''} \u00b7 took ${duration(record.elapsed_ns)}`),
      failed && el('p', { class: 'failed' }, `failed in ${failed.stage}: ${failed.reason}`),
      warnings.map((one) => el('p', { class: 'doubt' }, `${one.code}: ${one.text}`)),
      el('details', {}, el('summary', {}, `${rows.length} metrics`), el('div', { class: 'scroll tall' }, table)),
      el('details', {}, el('summary', {}, 'counters of the device by step'), counters(record)),
      el('details', {}, el('summary', {}, 'what was in force'), el('pre', {}, JSON.stringify(record.in_force, null, 1))),
      record.smart && el('details', {}, el('summary', {}, 'health and wear (SMART)'), smart(record.smart)),
      record.fingerprint && el('p', { class: 'faint' }, `fingerprint ${record.fingerprint}`));
  }

  #timelines(): void {
    const tools = byId('timeline-tools');
    const pick = (one: Loaded | null): Timeline | null => one && (this.#device === 'timeline' ? one.timeline : one.journal);
    const lines = this.#loaded.map(pick);
    const journal = this.#loaded.some((one) => one?.journal);
    const range = (label: string, id: string, index: 0 | 1): HTMLElement => {
      const input = el('input', { type: 'range', id, on: { input: () => {
        const zoom: [number, number] = [...this.#zoom];
        zoom[index] = Number(input.value);
        if (zoom[1] - zoom[0] >= 1) this.#zoomTo(zoom[0], zoom[1]);
      } } });
      input.min = '0';
      input.max = '100';
      input.step = '0.5';
      input.value = String(this.#zoom[index]);
      return el('label', { class: 'choice' }, el('span', {}, label), input);
    };
    if (tools) {
      fill(tools, range('from', 'zoom-from', 0), range('to', 'zoom-to', 1),
        el('button', { type: 'button', id: 'zoom-all', on: { click: () => this.#zoomTo(0, 100) } }, 'whole time'),
        journal ? select('device', [['timeline', 'data'], ['journal_timeline', 'journal']], this.#device, (value) => {
          this.#device = value === 'timeline' ? 'timeline' : 'journal_timeline';
          this.#timelines();
        }) : null);
    }
    this.#clear(this.#parts.timelines);
    this.#charts = [];
    const span = Math.max(...this.#loaded.map((one) => (one ? one.record.elapsed_ns / 1e9 : 0)));
    const most = tops(lines.filter((one): one is Timeline => one !== null));
    this.#sides.forEach((side, index) => {
      const line = lines[index];
      const loaded = this.#loaded[index];
      const pane = el('div', { class: 'side' });
      this.#parts.timelines.append(pane);
      if (!loaded) return;
      pane.append(el('p', { class: 'side-name' }, `${side.name}: ${this.app.label(side.stack ?? -1)}`));
      if (!line || line.at_ns.length < 2) {
        const lean = this.app.summary.file.inside === 'without-timelines';
        pane.append(el('p', { class: 'faint' }, lean ? 'This page was written with --lean: timelines are left out.' : `The trial was shorter than two samples: there is no timeline.`));
        return;
      }
      const short = tooShort(line, loaded.record);
      if (short) pane.append(el('p', { class: 'doubt' }, short));
      const canvas = el('div', { class: 'chart timelines' });
      pane.append(canvas);
      const chart = new TimelineChart(canvas, side.name, line, loaded.record, span, most);
      chart.onZoom = (from, to) => this.#zoomTo(from, to);
      // The pointer of one chart shows in the other too.
      chart.onPoint = (second) => this.#charts.forEach((one) => one.point(second));
      this.#charts.push(chart);
      chart.show(this.#zoom);
    });
  }

  /** The same part of the time in every chart. */
  #zoomTo(start: number, end: number): void {
    this.#zoom = [start, end];
    for (const [id, value] of [['zoom-from', start], ['zoom-to', end]] as const) {
      const input = byId(id) as HTMLInputElement | null;
      if (input) input.value = String(value);
    }
    for (const chart of this.#charts) chart.show(this.#zoom);
    this.#pictures();
  }

  #curves(): void {
    const tools = byId('latency-tools');
    const steps = [...new Set(this.#loaded.flatMap((one) => one?.latencies.map((latency) => latency.step) ?? []))];
    const judged = this.app.summary.verdict.metric.split('.')[0] ?? '';
    if (!steps.includes(this.#step)) this.#step = steps.includes(judged) ? judged : steps[0] ?? '';
    if (tools) {
      fill(tools, steps.length > 0 ? select('step', steps.map((step): [string, string] => [step, step]), this.#step, (value) => {
        this.#step = value;
        this.#curves();
      }) : null, select('of', [['trial', 'this trial'], ['stack', 'all trials of the stack']], this.#scope, (value) => {
        this.#scope = value === 'stack' ? 'stack' : 'trial';
        void this.#load();
      }));
    }
    this.#clear(this.#parts.curves);
    const series = this.#sides.flatMap((side, index) => (this.#loaded[index]?.latencies ?? [])
      .filter((one) => one.step === this.#step && one.histogram.total > 0)
      .map((one) => ({ name: `${side.name} ${one.operation}`, operation: one.operation, side: index, histogram: one.histogram })));
    if (series.length === 0) {
      this.#parts.curves.append(el('p', { class: 'faint' }, 'No latencies were kept of these trials.'));
      return;
    }
    this.#parts.curves.append(...curvePicture(series), latencyTable(series));
  }

  #pictures(): void {
    this.#clear(this.#parts.heat);
    this.#clear(this.#parts.seek);
    const span = Math.max(...this.#loaded.map((one) => (one ? one.record.elapsed_ns / 1e9 : 0)));
    const window: [number, number] = [span * this.#zoom[0] / 100, span * this.#zoom[1] / 100];
    this.#loaded.forEach((loaded, index) => {
      const name = this.#sides[index]?.name ?? '';
      const heat = el('div', { class: 'side' });
      const seek = el('div', { class: 'side' });
      this.#parts.heat.append(heat);
      this.#parts.seek.append(seek);
      if (!loaded) return;
      const ios: SingleIo[] = loaded.record.steps.flatMap((step) => step.single_ios ?? []);
      const source = heatSource(ios, loaded.events);
      if (source) {
        const canvas = el('div', { class: 'chart' });
        heat.append(el('p', { class: 'side-name' }, `${name}: ${source.what}`), canvas);
        draw(canvas, `latency over time of ${name}`, heatOption(source, window));
      } else {
        heat.append(el('p', { class: 'faint' }, 'Single operations were not kept; runs of earlier versions may have them.'));
      }
      const events = loaded.events;
      if (events && events.at.length > 0) {
        const canvas = el('div', { class: 'chart' });
        const lost = events.lost > 0 ? `; ${events.lost} events were lost` : '';
        const { drawing, series } = seekDrawing(events, window);
        seek.append(el('p', { class: 'side-name' }, `${name}: each request by its place${lost}`), legend(series), canvas);
        draw(canvas, `place of each request over time of ${name}`, drawing);
      } else {
        seek.append(el('p', { class: 'faint' }, 'The block event stream was off; the lab keeps it with [trial] block_events = true.'));
      }
    });
  }

  #clear(part: HTMLElement): void {
    part.querySelectorAll<HTMLElement>('.chart').forEach(forget);
    part.replaceChildren();
  }
}

interface Curve { name: string; operation: string; side: number; histogram: Histogram }

const NINES = ['0 %', '90 %', '99 %', '99.9 %', '99.99 %', '99.999 %'];

/** Latency by percentile: one colour for an operation, the same on both sides; side B is dashed. */
function curvePicture(series: Curve[]): HTMLElement[] {
  const operations = [...new Set(series.map((one) => one.operation))].sort();
  const lines = series.map((one) => ({ ...one, css: `${colour(operations.indexOf(one.operation)).split(' ')[0]} d${one.side}`, data: curve(one.histogram) }));
  const all = lines.flatMap((line) => line.data.map(([, ns]) => ns));
  const [low, high] = extent(all);
  const up = logarithmic(low, high, duration);
  const across = { ...linear(0, 5, (nine: number) => NINES[nine] ?? ''), ticks: [0, 1, 2, 3, 4, 5] };
  let frame: Frame | undefined;
  const canvas = el('div', { class: 'chart' });
  draw(canvas, `latency by percentile: ${series.map((one) => one.name).join(', ')}`, {
    height: 320,
    draw: (width) => {
      frame = new Frame(margin(up), width - 30, 10, 272, across, up);
      return [frame.grid('percentile'), ...lines.map((line) => frame!.line(line.data, line.css))];
    },
    tip: (x, y) => {
      const nine = frame ? frame.atX(x) : NaN;
      if (!frame || y < 0 || !(nine >= 0 && nine <= 5)) return null;
      const found = lines.flatMap((line) => {
        const last = line.data.at(-1)?.[0] ?? 0;
        return nine > last + 0.05 ? [] : [`${line.name}: ${duration(percentiles(line.histogram, [1 - 10 ** -nine])[0] ?? NaN)}`];
      });
      return [`${(100 * (1 - 10 ** -nine)).toFixed(Math.max(0, Math.ceil(nine) - 1))} % take at most`, ...found].join('\n');
    },
  });
  return [legend(lines), canvas];
}

function latencyTable(series: Curve[]): HTMLElement {
  return el('div', { class: 'scroll' }, el('table', {},
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'operation'), el('th', { class: 'number', scope: 'col' }, 'count'), SHARES.map(([text]) => el('th', { class: 'number', scope: 'col' }, text)))),
    el('tbody', {}, series.map((one) => {
      const found = percentiles(one.histogram, SHARES.map(([, share]) => share));
      return el('tr', {}, el('td', {}, one.name), el('td', { class: 'number' }, String(one.histogram.total)),
        SHARES.map(([, share], index) => el('td', { class: 'number' }, one.histogram.total * (1 - share) < 1 - 1e-6 && share < 1 && index > 0 ? '-' : duration(found[index] ?? NaN))));
    }))));
}

function counters(record: TrialRecord): HTMLElement {
  const columns: [string, string, string][] = [['reads', 'reads', ''], ['read', 'read_bytes', 'B'], ['writes', 'writes', ''], ['written', 'written_bytes', 'B'],
    ['merged', 'writes_merged', ''], ['discarded', 'discarded_bytes', 'B'], ['flushes', 'flushes', ''], ['busy', 'busy_ms', 'ms']];
  const rows = record.steps.flatMap((step) => ([['', step.device], [' (journal)', step.journal]] as const).flatMap(([suffix, totals]) => totals
    ? [el('tr', {}, el('td', {}, step.name + suffix), columns.map(([, key, unit]) => el('td', { class: 'number' }, totals[key] === null || totals[key] === undefined ? '-' : unit === 'B' ? binary(totals[key]) : `${totals[key]}${unit ? ` ${unit}` : ''}`)))]
    : []));
  return el('div', { class: 'scroll tall' }, el('table', {}, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'step'), columns.map(([title]) => el('th', { class: 'number', scope: 'col' }, title)))), el('tbody', {}, rows)));
}

/** Numbers that differ between the two readings, and all of them below. */
function smart(reading: { before: unknown; after: unknown }): HTMLElement {
  const before = numbers(reading.before);
  const after = numbers(reading.after);
  const changed = [...after].filter(([path, value]) => before.has(path) && before.get(path) !== value);
  return el('div', {}, changed.length === 0 ? el('p', {}, 'No number differs between before and after.')
    : el('table', {}, el('tbody', {}, changed.map(([path, value]) => el('tr', {}, el('td', {}, path), el('td', { class: 'number' }, String(before.get(path))), el('td', { class: 'number' }, String(value)))))),
  el('pre', { class: 'tall' }, JSON.stringify(reading.after ?? reading.before, null, 1)));
}

function numbers(value: unknown, path = '', found = new Map<string, number>()): Map<string, number> {
  if (typeof value === 'number') found.set(path, value);
  if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) numbers(inner, path ? `${path}.${key}` : key, found);
  }
  return found;
}
