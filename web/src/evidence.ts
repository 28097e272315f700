// The evidence: every trial as a point, linked to what happened in it.

import { byId, el, fill, harmless } from './dom';
import { duration, extent, quantity, scaleOf, threeDigits } from './number';
import { draw, Frame, legend, linear, logarithmic, margin, named, nearest, type Shape } from './plot';
import { STATUS, type TrialRow } from './summary';
import type { App } from './main';

const MOST_ROWS = 60;
/** Height of a row, px. */
const ROW = 22;
/** Colour and shape of a trial by its status. */
const STYLES: { css: string; shape: Shape }[] = [{ css: 'k0', shape: 'dot' }, { css: 'k6', shape: 'diamond' }, { css: 'k5', shape: 'cross' }];

export class EvidencePlot {
  readonly #box = byId('evidence');
  readonly #canvas = el('div', { class: 'chart pick' });
  readonly #said = el('p', { class: 'faint' });

  constructor(readonly app: App) {
    if (!this.#box) return;
    const metric = app.summary.verdict.metric;
    const present = STYLES.map((style, status) => ({ ...style, name: STATUS[status] ?? '' })).filter((_, status) => app.summary.trials.some((trial) => trial[3] === status));
    fill(this.#box, el('h2', {}, 'Every trial'),
      el('p', { class: 'faint' }, `${metric} of each trial, one point each; a bar is the median. Choose a point to look into its trial, or the trial by its round below.`),
      present.length > 1 ? legend(present) : null, this.#said, this.#canvas);
    this.draw();
  }

  draw(): void {
    if (!this.#box) return;
    const { app } = this;
    const all = app.shown();
    const shown = all.slice(0, MOST_ROWS);
    this.#said.textContent = all.length > shown.length ? `The first ${shown.length} of ${all.length} stacks, in the order of the table; filter or sort it for others.` : '';
    const metric = app.summary.verdict.metric;
    const unit = app.unit(metric);
    const points = shown.flatMap((stack, row) => app.candidates(stack).flatMap((candidate) => app.trials(candidate)
      .flatMap((trial) => (trial[4] === null ? [] : [{ trial, row, value: trial[4] }]))));
    const values = points.map((point) => point.value);
    const [low, high] = extent(values);
    const scale = scaleOf(unit, values);
    const say = (value: number): string => threeDigits(value / scale.divisor);
    const pad = (high - low) * 0.03;
    const across = points.length === 0 ? linear(0, 1, say) : low > 0 && high / low > 5 ? logarithmic(low * 0.95, high * 1.05, say) : linear(low - pad, high + pad, say);
    const up = named(shown.map((stack) => harmless(app.label(stack))).reverse());
    const place = (row: number): number => shown.length - 1 - row;
    const height = 16 + Math.max(1, shown.length) * ROW + 40;
    const at = (point: { value: number; row: number }): readonly [number, number] => [point.value, place(point.row)];
    const medians = shown.map((stack, row) => [app.median(stack, metric), place(row)] as const).filter((one): one is readonly [number, number] => one[0] !== null);
    let frame: Frame | undefined;
    const find = (x: number, y: number): { trial: TrialRow } | null => (frame ? nearest(frame, points, at, x, y) : null);
    draw(this.#canvas, `${points.length} trials of ${shown.length} stacks`, {
      height,
      draw: (width) => {
        frame = new Frame(Math.min(margin(up), width * 0.4), width - 16, 8, height - 40, across, up);
        return [frame.grid(scale.symbol ? `${metric}, ${scale.symbol}` : metric),
          ...STYLES.map(({ css, shape }, status) => frame!.dots(points.filter((point) => point.trial[3] === status).map(at), shape, css)),
          frame.dots(medians, 'bar', 'ink')];
      },
      tip: (x, y) => {
        const trial = find(x, y)?.trial;
        if (!trial) return null;
        return `${app.label(app.summary.candidates[trial[2]]?.[0] ?? -1)}\nround ${trial[1] + 1}, trial ${trial[0]}: ${STATUS[trial[3]] ?? ''}\n${quantity(unit, trial[4])}\ntook ${duration(trial[5])}`;
      },
      click: (x, y) => {
        const found = find(x, y);
        if (found) app.openTrial(found.trial);
      },
    });
  }
}
