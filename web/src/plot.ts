// Pictures as SVG. The style sheet has their colours, so that light, dark and paper need no other drawing.

import { el, fill, harmless } from './dom';
import { saveButtons } from './save';

type Attributes = Record<string, string | number | undefined>;

export function svg(name: string, attributes: Attributes = {}, ...children: (Element | string | null)[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(key, typeof value === 'number' ? rounded(value) : harmless(value));
  }
  for (const child of children) if (child !== null) element.append(typeof child === 'string' ? harmless(child) : child);
  return element;
}

function rounded(value: number): string {
  return String(Math.round(value * 10) / 10);
}

export interface Axis {
  low: number;
  high: number;
  log: boolean;
  ticks: number[];
  say: (value: number) => string;
}

/** A linear axis with ticks at 1, 2 and 5. */
export function linear(low: number, high: number, say: (value: number) => string, count = 5): Axis {
  const span = high > low ? high - low : Math.abs(high) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const ticks: number[] = [];
  for (let tick = Math.ceil(low / step - 1e-9); tick * step <= low + span * (1 + 1e-9); tick++) ticks.push(tick * step);
  return { low, high: low + span, log: false, ticks, say };
}

/** A logarithmic axis with ticks at 1, 2 and 5 times powers of ten, or at powers of two. */
export function logarithmic(low: number, high: number, say: (value: number) => string, base: 2 | 10 = 10): Axis {
  if (high / low < 1.0001) [low, high] = [low / 1.5, high * 1.5];
  const ticks: number[] = [];
  const log = base === 2 ? Math.log2 : Math.log10;
  for (let power = Math.floor(log(low)); power <= Math.ceil(log(high)); power++) {
    for (const one of base === 2 ? [1] : high / low > 1e3 ? [1] : [1, 2, 5]) {
      const tick = one * base ** power;
      if (tick >= low * 0.9999 && tick <= high * 1.0001) ticks.push(tick);
    }
  }
  return { low, high, log: true, ticks: ticks.length > 1 ? ticks : linear(low, high, say).ticks, say };
}

/** One tick for each of these names, the first one at 0. */
export function named(names: string[], every = 1): Axis {
  return { low: -0.5, high: names.length - 0.5, log: false, ticks: names.map((_, index) => index).filter((index) => index % every === 0), say: (index) => names[index] ?? '' };
}

function share(axis: Axis, value: number): number {
  return axis.log ? Math.log(value / axis.low) / Math.log(axis.high / axis.low) : (value - axis.low) / (axis.high - axis.low);
}

function valueAt(axis: Axis, at: number): number {
  return axis.log ? axis.low * (axis.high / axis.low) ** at : axis.low + at * (axis.high - axis.low);
}

/** Width of a character of the ticks, px. */
const LETTER = 6.4;

/** Letters of a name at an axis; a longer one ends with an ellipsis. */
const MOST_LETTERS = 30;

function short(text: string): string {
  return text.length > MOST_LETTERS ? `${text.slice(0, MOST_LETTERS - 1)}\u2026` : text;
}

/** Space that the names of an axis need at the left. */
export function margin(up: Axis): number {
  return 10 + LETTER * up.ticks.reduce((most, tick) => Math.max(most, short(up.say(tick)).length), 2);
}

/** A rectangle with two axes. */
export class Frame {
  constructor(readonly left: number, readonly right: number, readonly top: number, readonly bottom: number, readonly across: Axis, readonly up: Axis) {}

  x(value: number): number {
    return this.left + share(this.across, value) * (this.right - this.left);
  }

  y(value: number): number {
    return this.bottom - share(this.up, value) * (this.bottom - this.top);
  }

  /** The value of the horizontal axis at a place. */
  atX(x: number): number {
    return valueAt(this.across, (x - this.left) / (this.right - this.left));
  }

  atY(y: number): number {
    return valueAt(this.up, (this.bottom - y) / (this.bottom - this.top));
  }

  /** Lines and names of both axes; names that would touch are left out. */
  grid(name = '', across = true): SVGElement {
    const { left, right, top, bottom } = this;
    const group = svg('g', { class: 'grid' });
    let free = Infinity;
    for (const tick of this.up.ticks) {
      const y = this.y(tick);
      group.append(svg('line', { x1: left, x2: right, y1: y, y2: y }));
      if (free - y < 11 && free - y > -11) continue;
      free = y;
      group.append(svg('text', { x: left - 6, y: y + 4, 'text-anchor': 'end' }, short(this.up.say(tick))));
    }
    let end = -Infinity;
    for (const tick of across ? this.across.ticks : []) {
      const [x, text] = [this.x(tick), short(this.across.say(tick))];
      const half = (text.length * LETTER) / 2;
      group.append(svg('line', { x1: x, x2: x, y1: top, y2: bottom + 4 }));
      if (x - half < end + 6 || x + half > right + 16) continue;
      end = x + half;
      group.append(svg('text', { x, y: bottom + 17, 'text-anchor': 'middle' }, text));
    }
    group.append(svg('line', { class: 'edge', x1: left, x2: right, y1: bottom, y2: bottom }));
    if (name) group.append(svg('text', { x: (left + right) / 2, y: bottom + 34, 'text-anchor': 'middle' }, name));
    return group;
  }

  /** A line through points in the order of x; stairs hold a value from the point before. */
  line(points: [number, number][], css: string, stairs = false): SVGElement {
    let text = '';
    let [pen, column] = [false, NaN];
    let [low, high, last] = [0, 0, 0];
    // All that falls into one column of pixels is one stroke from its lowest to its highest point.
    const flush = (): void => {
      if (Number.isNaN(column)) return;
      const [from, to] = Math.abs(last - low) < Math.abs(last - high) ? [high, low] : [low, high];
      const ends = from === to ? [last] : [from, to, last];
      for (const y of ends) {
        text += !pen ? `M${column} ${rounded(y)}` : stairs ? `V${rounded(y)}H${column}` : `L${column} ${rounded(y)}`;
        pen = true;
      }
      column = NaN;
    };
    for (const [x, y] of points) {
      if (!Number.isFinite(x) || !Number.isFinite(y)) {
        flush();
        pen = false;
        continue;
      }
      const place = Math.round(this.x(x) * 2) / 2;
      const height = this.y(y);
      if (place === column) [low, high, last] = [Math.min(low, height), Math.max(high, height), height];
      else {
        flush();
        [column, low, high, last] = [place, height, height, height];
      }
    }
    flush();
    return svg('path', { class: `line ${css}`, d: text });
  }

  /** Points, each place once. */
  dots(points: (readonly [number, number])[], shape: Shape, css: string): SVGElement {
    const places = new Set<string>();
    for (const [x, y] of points) places.add(`${rounded(this.x(x))} ${rounded(this.y(y))}`);
    return svg('path', { class: `${shape} ${css}`, d: [...places].map((place) => `M${place}${MARKS[shape]}`).join('') });
  }
}

/** Shapes as paths around a point; colour alone tells nothing apart. */
const MARKS = {
  dot: 'h0',
  speck: 'h0',
  cross: 'm-3.5-3.5l7 7m-7 0l7-7',
  diamond: 'm0-4.5l4.5 4.5-4.5 4.5-4.5-4.5z',
  square: 'm-3-3h6v6h-6z',
  triangle: 'm0-4l4 7h-8z',
  bar: 'm0-8v16',
} as const;
export type Shape = keyof typeof MARKS;
export const SHAPES: Shape[] = ['dot', 'square', 'triangle', 'diamond'];

/** Class of the colour of a series, and of its dashes from the ninth on. */
export function colour(index: number): string {
  return `k${index % 8} d${Math.floor(index / 8) % 4}`;
}

/** The names of series with their colours and shapes. */
export function legend(entries: { name: string; css: string; shape?: Shape }[]): HTMLElement {
  return el('p', { class: 'legend' }, entries.slice(0, 40).map(({ name, css, shape }) => el('span', {},
    svg('svg', { width: 22, height: 12, viewBox: '0 0 22 12', 'aria-hidden': 'true' },
      shape === 'speck' || shape === 'cross' ? null : svg('path', { class: `line ${css}`, d: 'M1 6H21' }),
      shape ? svg('path', { class: `${shape === 'speck' ? 'dot' : shape} ${css}`, d: `M11 6${MARKS[shape]}` }) : null), ` ${name}`)));
}

export interface Drawing {
  height: number;
  /** Content in a box of this width. */
  draw: (width: number) => (Element | null)[];
  /** Text about a place of the drawing; nothing where there is nothing. */
  tip?: (x: number, y: number) => string | null;
  click?: (x: number, y: number) => void;
}

interface Slot { drawing: Drawing; width: number; text: string }
const slots = new WeakMap<Element, Slot>();
const LEAST_WIDTH = 280;

const resizes = typeof ResizeObserver === 'undefined' ? null : new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const slot = slots.get(target);
    if (slot && contentRect.width > 0 && Math.abs(contentRect.width - slot.width) > 1) paint(target as HTMLElement, slot);
  }
});

/** Draws into an element, again whenever its width changes; the text describes the picture. */
export function draw(box: HTMLElement, text: string, drawing: Drawing): void {
  const known = slots.has(box);
  const slot = { drawing, text, width: 0 };
  slots.set(box, slot);
  if (!known) {
    const tip = el('div', { class: 'tip', hidden: true });
    fill(box, svg('svg'), tip, saveButtons(box, text));
    const place = (event: PointerEvent | MouseEvent): [number, number] => {
      const picture = box.querySelector('svg')!.getBoundingClientRect();
      const scale = (slots.get(box)?.width ?? 1) / Math.max(1, picture.width);
      return [(event.clientX - picture.left) * scale, (event.clientY - picture.top) * scale];
    };
    box.addEventListener('pointermove', (event) => {
      const [x, y] = place(event);
      const said = slots.get(box)?.drawing.tip?.(x, y) ?? null;
      tip.hidden = said === null;
      if (said === null) return;
      tip.textContent = harmlessLines(said);
      const edge = box.getBoundingClientRect();
      tip.style.left = `${Math.max(0, Math.min(event.clientX - edge.left + 14, edge.width - tip.offsetWidth))}px`;
      tip.style.top = `${event.clientY - edge.top + 14}px`;
    });
    box.addEventListener('pointerleave', () => { tip.hidden = true; });
    box.addEventListener('click', (event) => {
      if (!(event.target as Element).closest('button')) slots.get(box)?.drawing.click?.(...place(event));
    });
  }
  resizes?.observe(box);
  paint(box, slot);
}

/** Line ends stay, all else that steers is replaced. */
function harmlessLines(text: string): string {
  return text.split('\n').map(harmless).join('\n');
}

function paint(box: HTMLElement, slot: Slot): void {
  slot.width = Math.max(LEAST_WIDTH, box.clientWidth);
  const { width, text, drawing } = slot;
  const picture = svg('svg', { class: 'picture', role: 'img', 'aria-label': text, viewBox: `0 0 ${Math.round(width)} ${drawing.height}` }, ...drawing.draw(width));
  box.querySelector('svg')?.replaceWith(picture);
}

export function forget(box: HTMLElement): void {
  resizes?.unobserve(box);
  slots.delete(box);
}

/** The nearest of these points, if it is within a finger's width. */
export function nearest<T>(frame: Frame, points: T[], at: (point: T) => readonly [number, number], x: number, y: number, reach = 12): T | null {
  let found: T | null = null;
  let least = reach * reach;
  for (const point of points) {
    const [across, up] = at(point);
    const distance = (frame.x(across) - x) ** 2 + (frame.y(up) - y) ** 2;
    if (distance < least) [least, found] = [distance, point];
  }
  return found;
}
