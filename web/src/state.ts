// Fragmentation and wear: what each stack did to the device.

import { choosable, enter, numberCell } from './cells';
import { byId, el, fill } from './dom';
import { inScale, scaleOf } from './number';
import { ofStack } from './reproduce';
import type { App } from './main';

const TELLING = /extent|fragment|written_per_byte|free_|distance|erase|wear/;

export class StateOfStorage {
  readonly #table = el('table', {});
  readonly #fold: HTMLDetailsElement | null = null;
  readonly #metrics: { path: string; unit: string | null }[];

  constructor(readonly app: App) {
    this.#metrics = app.summary.metrics.filter(({ path }) => TELLING.test(path.slice(path.lastIndexOf('.'))));
    const box = byId('state');
    if (!box || this.#metrics.length === 0) return;
    this.#fold = el('details', { id: 'state-table', on: { toggle: () => this.draw() } }, el('summary', {}, `${this.#metrics.length} metrics by stack`), el('div', { class: 'scroll' }, this.#table));
    fill(box, el('h2', {}, 'Fragmentation and wear'),
      el('p', { class: 'faint' }, 'Medians of the stacks that the table above shows. written_per_byte is how many bytes the device was asked to write per byte of the workload; the SMART readings before and after are with each trial.'),
      this.#fold);
    choosable(this.#table, (cell) => {
      const [stack, path] = [cell.closest('tr')?.cells[0]?.textContent ?? '', cell.dataset['metric'] ?? ''];
      app.command.show(`${path} of ${stack}: the values behind the median`, ofStack(app.summary, stack, null, path));
    });
  }

  /** The table of the stacks that are shown, in their order; nothing while it is folded. */
  draw(): void {
    if (!this.#fold?.open) return;
    const { app } = this;
    const stacks = app.shown();
    const columns = this.#metrics.map(({ path, unit }) => {
      const values = stacks.map((stack) => app.median(stack, path));
      return { path, values, scale: scaleOf(unit ?? '', values.filter((value): value is number => value !== null)) };
    }).filter((column) => column.values.some((value) => value !== null));
    fill(this.#table,
      el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'stack'), columns.map(({ path, scale }) => el('th', { class: 'number', scope: 'col' }, `${path} ${scale.symbol}`)))),
      el('tbody', {}, stacks.map((stack, row) => el('tr', {}, el('th', { class: 'label', scope: 'row' }, app.label(stack)), columns.map(({ path, values, scale }) => {
        const text = inScale(scale, values[row]);
        return text === '-' ? el('td', { class: 'number' }, text) : numberCell(path, text);
      })))));
    enter(this.#table);
  }
}
