// Fragmentation and wear: what each stack did to the place where the data lies.

import { byId, el, fill } from './dom';
import { inScale, scaleOf } from './number';
import { ofStack } from './reproduce';
import type { App } from './main';

const TELLING = /extent|fragment|written_per_byte|free_|distance|erase|wear/;

export class StateOfStorage {
  constructor(readonly app: App) {
    const box = byId('state');
    const metrics = app.summary.metrics.filter(({ path }) => TELLING.test(path.slice(path.lastIndexOf('.'))));
    const stacks = app.ranked();
    if (!box || metrics.length === 0) return;
    const columns = metrics.map(({ path, unit }) => {
      const values = stacks.map((stack) => app.median(stack, path));
      return { path, values, scale: scaleOf(unit, values.filter((value): value is number => value !== null)) };
    }).filter((column) => column.values.some((value) => value !== null));
    fill(box, el('h2', {}, 'Fragmentation and wear'),
      el('p', { class: 'faint' }, 'Medians. written_per_byte is how many bytes the device was asked to write per byte of the workload; what SMART says before and after stands with each trial.'),
      el('div', { class: 'scroll' }, el('table', {},
        el('thead', {}, el('tr', {}, el('th', {}, 'stack'), columns.map(({ path, scale }) => el('th', { class: 'number' }, `${path} ${scale.symbol}`)))),
        el('tbody', {}, stacks.map((stack, row) => el('tr', {}, el('td', { class: 'label' }, app.label(stack)), columns.map(({ path, values, scale }) => {
          const text = inScale(scale, values[row]);
          const show = (): void => app.command.show(`${path} of ${app.label(stack)}: the values behind the median`, ofStack(app.summary, app.label(stack), null, path));
          return el('td', { class: 'number' }, text === '-' ? text : el('button', { type: 'button', class: 'plain', title: 'how to get this number again', on: { click: show } }, text));
        })))))));
  }
}
