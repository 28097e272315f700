// Two stacks side by side over the judged step, driven by their block requests: the place that the device works at,
// what waits, and what was done so far. The still pictures are there without it.

import { byId, el, fill, harmless } from './dom';
import { duration, extent, quantity } from './number';
import { svg } from './plot';
import type { Group, Traffic, Why } from './summary';

export interface Request { at: number; end: number; place: number; kib: number; group: number }

/** Times in microseconds, places in parts of 10,000. */
export function requestsOf({ packed }: Traffic): Request[] {
  const found: Request[] = [];
  let at = 0;
  for (let index = 0; index + 4 < packed.length; index += 5) {
    const [after = 0, took = 0, place = 0, kib = 0, group = 0] = packed.slice(index, index + 5);
    at += after;
    found.push({ at, end: at + took, place, kib, group });
  }
  return found;
}

export interface Moment {
  /** In flight, in the order in which the device is done with them. */
  flying: Request[];
  /** Done a short while ago. */
  recent: Request[];
  /** Number and KiB done by group. */
  done: { count: number; kib: number }[];
}

export function momentOf(requests: Request[], groups: number, at: number, recently: number): Moment {
  const moment: Moment = { flying: [], recent: [], done: Array.from({ length: groups }, () => ({ count: 0, kib: 0 })) };
  for (const request of requests) {
    if (request.at > at) break;
    if (request.end > at) {
      moment.flying.push(request);
      continue;
    }
    const sum = moment.done[request.group];
    if (sum) {
      sum.count += 1;
      sum.kib += request.kib;
    }
    if (request.end > at - recently) moment.recent.push(request);
  }
  moment.flying.sort((one, two) => one.end - two.end);
  return moment;
}

const KINDS = ['journal', 'metadata', 'data', 'flush', 'discard', 'unknown'];
/** The longer stack plays this long, ms. */
const PLAYS = 15_000;
/** Steps of the slider. */
const STEPS = 400;
/** Squares of waiting requests at most. */
const MOST = 40;
const WIDTH = 560;

const css = (group: Group | undefined): string => `o${Math.max(0, KINDS.indexOf(group?.kind ?? 'unknown'))}`;
const named = (group: Group | undefined): string => (group?.kind === 'flush' ? `flush ${group.name}` : group?.name || group?.kind || 'unknown');

class Side {
  readonly #requests: Request[];
  readonly #shade = svg('rect', { class: 'shade', height: 164, y: 0 });
  readonly #strip = svg('svg', { class: 'still', viewBox: `0 0 ${WIDTH} 44`, 'aria-hidden': 'true' });
  readonly #said = el('p', { class: 'faint now' });

  constructor(readonly traffic: Traffic, figure: Element, readonly longest: number, readonly range: [number, number]) {
    this.#requests = requestsOf(traffic);
    figure.querySelector('svg')?.append(this.#shade);
    figure.append(this.#strip, this.#said);
  }

  /** Shows the moment at this share of the longer stack's time. */
  show(share: number): void {
    const { groups, elapsed_ns: elapsed } = this.traffic;
    // The last request may end later than the step by what is rounded.
    const at = share * this.longest >= elapsed ? Infinity : (share * this.longest) / 1000;
    const left = Math.min(1, share) * WIDTH;
    this.#shade.setAttribute('x', String(left));
    this.#shade.setAttribute('width', String(WIDTH - left));
    const moment = momentOf(this.#requests, groups.length, at, this.longest / 1000 / 50);
    const across = (one: Request): number => ((one.place - this.range[0]) / Math.max(1, this.range[1] - this.range[0])) * (WIDTH - 8) + 4;
    const placed = (one: Request): boolean => groups[one.group]?.kind !== 'flush';
    const served = moment.flying.find(placed) ?? moment.recent.filter(placed).at(-1);
    fill(this.#strip,
      svg('line', { class: 'edge', x1: 0, x2: WIDTH, y1: 20, y2: 20 }),
      ...moment.recent.filter(placed).map((one) => svg('path', { class: css(groups[one.group]), d: `M${across(one).toFixed(1)} 12v8` })),
      served ? svg('path', { class: 'arm', d: `M${across(served).toFixed(1)} 20l-5 -9h10z` }) : null,
      ...moment.flying.slice(0, MOST).map((one, index) => svg('path', { class: `square ${css(groups[one.group])}`, d: `M${4 + index * 13} 29h10v10h-10z` })));
    const done = moment.done.flatMap(({ count, kib }, index) => (count === 0 ? [] : [
      kib > 0 ? `${named(groups[index])} ${quantity('B', kib * 1024)}` : `${count} × ${named(groups[index])}`]));
    const waits = [...new Set(moment.flying.map((one) => named(groups[one.group])))].join(', ');
    const state = at === Infinity ? `done after ${duration(elapsed)}` : moment.flying.length > 0 ? `waits for ${moment.flying.length}: ${waits}` : 'device idle';
    this.#said.textContent = harmless(`${state}; so far: ${done.join(', ') || 'nothing'}`);
  }
}

export class Race {
  constructor(why: Why | null | undefined) {
    const box = byId('race');
    const figures = box?.querySelectorAll('figure');
    const [better, worse] = why?.traffic ?? [];
    if (!box || !figures || !better || !worse || !figures[0] || !figures[1]) return;
    const longest = Math.max(better.elapsed_ns, worse.elapsed_ns, 1);
    // Both have one scale of places, as in the still pictures.
    const places = [better, worse].flatMap((traffic) => requestsOf(traffic)
      .filter((one) => traffic.groups[one.group]?.kind !== 'flush').map((one) => one.place));
    const range = extent(places);
    const sides = [new Side(better, figures[0], longest, range), new Side(worse, figures[1], longest, range)];
    const slider = el('input', { type: 'range', value: '0', label: 'time', on: { input: () => { stop(); show(); } } });
    slider.max = String(STEPS);
    const clock = el('span', { class: 'faint' });
    const show = (): void => {
      const share = Number(slider.value) / STEPS;
      clock.textContent = duration(share * longest);
      slider.setAttribute('aria-valuetext', clock.textContent);
      sides.forEach((side) => side.show(share));
    };
    let frame = 0;
    const play = el('button', { on: { click: () => (frame ? stop() : begin()) } }, 'Play');
    const stop = (): void => {
      cancelAnimationFrame(frame);
      frame = 0;
      play.textContent = 'Play';
    };
    const begin = (): void => {
      if (Number(slider.value) >= STEPS) slider.value = '0';
      const from = performance.now() - (Number(slider.value) / STEPS) * PLAYS;
      play.textContent = 'Pause';
      const next = (now: number): void => {
        slider.value = String(Math.min(STEPS, ((now - from) / PLAYS) * STEPS));
        show();
        if (now - from >= PLAYS) stop();
        else frame = requestAnimationFrame(next);
      };
      frame = requestAnimationFrame(next);
    };
    // Who wants no motion moves the time by hand.
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
    box.querySelector('.race')?.before(el('div', { class: 'buttons' }, still ? null : play, slider, clock));
    slider.value = String(STEPS);
    show();
  }
}
