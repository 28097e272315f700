// Fragmentation and wear: what each stack did to the device.

import { byId, el, fill } from './dom';
import { inScale, scaleOf } from './number';
import { ofStack } from './reproduce';
import type { App } from './main';

const TELLING = /extent|fragment|written_per_byte|free_|distance|erase|wear/;

export class StateOfStorage {
  readonly #box = byId('state');
  readonly #table = el('div', { class: 'scroll' });
  readonly #metrics: { path: string; unit: string | null }[];

  constructor(readonly app: App) {
    this.#metrics = app.summary.metrics.filter(({ path }) => TELLING.test(path.slice(path.lastIndexOf('.'))));
    if (!this.#box || this.#metrics.length === 0) return;
    fill(this.#box, el('h2', {}, 'Fragmentation and wear'),
      el('p', { class: 'faint' }, 'Medians of the stacks that the table above shows. written_per_byte is how many bytes the device was asked to write per byte of the workload; the SMART readings before and after are with each trial.'),
      el('details', {}, el('summary', {}, `${this.#metrics.length} metrics by stack`), this.#table));
    this.draw();
  }

  /** The table of the stacks that are shown, in their order. */
  draw(): void {
    const { app } = this;
    const stacks = app.shown();
    const columns = this.#metrics.map(({ path, unit }) => {
      const values = stacks.map((stack) => app.median(stack, path));
      return { path, values, scale: scaleOf(unit ?? '', values.filter((value): value is number => value !== null)) };
    }).filter((column) => column.values.some((value) => value !== null));
    fill(this.#table, el('table', {},
      el('thead', {}, el('tr', {}, el('th', {}, 'stack'), columns.map(({ path, scale }) => el('th', { class: 'number' }, `${path} ${scale.symbol}`)))),
      el('tbody', {}, stacks.map((stack, row) => el('tr', {}, el('td', { class: 'label' }, app.label(stack)), columns.map(({ path, values, scale }) => {
        const text = inScale(scale, values[row]);
        const show = (): void => app.command.show(`${path} of ${app.label(stack)}: the values behind the median`, ofStack(app.summary, app.label(stack), null, path));
        return el('td', { class: 'number' }, text === '-' ? text : el('button', { type: 'button', class: 'plain', title: 'how to get this number again', on: { click: show } }, text));
      }))))));
  }
}
