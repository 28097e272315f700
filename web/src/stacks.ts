// The table of stacks: filter by axis, sort, pin. The table itself is in the page already, so that
// it is there without this program.

import { byId, el, fill } from './dom';
import { AXES, valuesOf, type Axis, type Summary } from './summary';
import type { App } from './main';
import { ofRatio, ofStack } from './reproduce';

const AXIS_TITLES: Record<Axis, string> = {
  device: 'device', journal: 'journal', filesystem: 'filesystem', scheduler: 'scheduler', memory: 'memory',
};

export class StacksTable {
  /** Values that are switched off, by axis. */
  readonly #off = new Map<Axis, Set<string>>();
  #search = '';
  #sort = 'verdict';
  #descending = false;
  readonly #rows: { row: HTMLTableRowElement; stack: number; place: number }[] = [];
  readonly #body: HTMLElement | null;
  readonly #count = el('span', { class: 'faint', live: 'polite' });
  readonly #head = new Map<string, HTMLButtonElement>();

  constructor(readonly app: App) {
    this.#body = document.querySelector('#stacks tbody');
    const rows = document.querySelectorAll<HTMLTableRowElement>('#stacks tbody tr[data-stack]');
    rows.forEach((row, place) => this.#rows.push({ row, stack: Number(row.dataset['stack']), place }));
    this.#addPins();
    this.#addNumbers();
    this.#addHeads();
    const toolbar = byId('stacks-toolbar');
    if (toolbar) fill(toolbar, this.#filters(), this.#sorts(), this.#count);
    this.#apply();
  }

  /** Stacks that are shown, in their order. */
  shown(): number[] {
    return this.#ordered().filter(({ stack }) => this.#passes(stack)).map(({ stack }) => stack);
  }

  #filters(): HTMLElement {
    const { summary } = this.app;
    const box = el('div', { class: 'filters' });
    const search = el('input', { type: 'search', id: 'search', on: { input: () => {
      this.#search = search.value.toLowerCase();
      this.#apply();
    } } });
    box.append(el('label', { class: 'choice' }, el('span', {}, 'find'), search));
    for (const axis of AXES) {
      const values = valuesOf(summary.stacks, axis);
      if (values.length < 2) continue;
      const off = new Set<string>();
      this.#off.set(axis, off);
      const chips = values.map((value) => {
        const chip = el('button', { type: 'button', class: 'chip', pressed: true, on: { click: () => {
          if (off.has(value)) off.delete(value);
          else off.add(value);
          chip.setAttribute('aria-pressed', String(!off.has(value)));
          this.#apply();
        } } }, value || '\u2014');
        return chip;
      });
      const all = el('button', { type: 'button', class: 'chip all', on: { click: () => {
        off.clear();
        chips.forEach((chip) => chip.setAttribute('aria-pressed', 'true'));
        this.#apply();
      } } }, 'all');
      box.append(el('div', { class: 'axis-filter', role: 'group', label: `filter by ${axis}` },
        el('span', { class: 'faint' }, AXIS_TITLES[axis]), chips, all));
    }
    return box;
  }

  #sorts(): HTMLElement {
    const { summary } = this.app;
    const list = el('select', { id: 'sort', on: { change: () => this.#sortBy(list.value) } });
    const options: [string, string][] = [['verdict', 'verdict'], ['stack', 'name'], ['median', 'median'], ['width', 'width of the interval']];
    for (const axis of AXES) if (this.#off.has(axis)) options.push([axis, axis]);
    for (const metric of this.#columns()) options.push([metric, metric]);
    for (const [value, text] of options) {
      const one = document.createElement('option');
      one.value = value;
      one.textContent = text;
      list.append(one);
    }
    const judged = summary.verdict.metric;
    return el('label', { class: 'choice', title: `the verdict's order is that of the ratio on ${judged}` }, el('span', {}, 'sort by'), list);
  }

  /** Metrics of the columns behind the forest plot. */
  #columns(): string[] {
    const heads = document.querySelectorAll<HTMLElement>('#stacks thead th[data-metric]');
    return [...heads].map((head) => head.dataset['metric'] ?? '').filter((path) => path !== this.app.summary.verdict.metric);
  }

  /** Sorts; by the same column again, the other way round. */
  #sortBy(key: string, again = false): void {
    this.#descending = again && key === this.#sort && !this.#descending;
    this.#sort = key;
    const list = byId('sort') as HTMLSelectElement | null;
    if (list) list.value = key;
    for (const [name, button] of this.#head) {
      button.closest('th')?.setAttribute('aria-sort', name !== key ? 'none' : this.#descending ? 'descending' : 'ascending');
    }
    this.#apply();
  }

  #ordered(): { row: HTMLTableRowElement; stack: number; place: number }[] {
    const { summary } = this.app;
    const label = (stack: number): string => summary.stacks[stack]?.label ?? '';
    const ratio = new Map(summary.verdict.ratios.map((one) => [one.stack, one]));
    const missing = Number.POSITIVE_INFINITY;
    const key = (stack: number, place: number): number | string => {
      if (this.#sort === 'verdict') return place;
      if (this.#sort === 'stack') return label(stack);
      if (this.#sort === 'median') return this.app.median(stack, summary.verdict.metric) ?? missing;
      if (this.#sort === 'width') {
        const one = ratio.get(label(stack));
        return one?.low && one.high ? one.high / one.low : missing;
      }
      const axis = AXES.find((name) => name === this.#sort);
      if (axis) return summary.stacks[stack]?.[axis].name ?? '';
      return this.app.median(stack, this.#sort) ?? missing;
    };
    const keyed = this.#rows.map((row) => ({ ...row, key: key(row.stack, row.place) }));
    return keyed.sort((a, b) => {
      const order = typeof a.key === 'string' && typeof b.key === 'string'
        ? a.key.localeCompare(b.key, 'en', { numeric: true })
        : Number(a.key) - Number(b.key) || 0;
      // What is missing stays at the end either way.
      const turned = this.#descending && a.key !== missing && b.key !== missing ? -order : order;
      return turned || a.place - b.place;
    });
  }

  #passes(stack: number): boolean {
    const one = this.app.summary.stacks[stack];
    if (!one) return false;
    if (this.#search && !one.label.toLowerCase().includes(this.#search)) return false;
    return [...this.#off].every(([axis, off]) => !off.has(one[axis].name));
  }

  #apply(): void {
    const ordered = this.#ordered();
    this.#body?.append(...ordered.map(({ row }) => row));
    let shown = 0;
    for (const { row, stack } of ordered) {
      row.hidden = !this.#passes(stack);
      if (!row.hidden) shown += 1;
    }
    this.#count.textContent = `${shown} of ${this.#rows.length} stacks`;
    this.app.stacksChanged();
  }

  #addPins(): void {
    // Behind the name, where a wide table does not hide them.
    document.querySelector('#stacks thead th')?.after(el('th', {}, 'show'));
    for (const { row, stack } of this.#rows) {
      const label = this.app.summary.stacks[stack]?.label ?? '';
      const pin = (side: 0 | 1, name: string): HTMLElement =>
        el('button', { type: 'button', class: `pin ${name.toLowerCase()}`, label: `show trials of ${label} as ${name}`,
          on: { click: () => this.app.pin(side, stack, true) } }, name);
      row.cells[0]?.after(el('td', { class: 'pins' }, pin(0, 'A'), pin(1, 'B')));
    }
  }

  /** The pinned stacks. */
  mark(pinned: (number | null)[]): void {
    for (const { row, stack } of this.#rows) {
      row.querySelector('.pin.a')?.setAttribute('aria-pressed', String(pinned[0] === stack));
      row.querySelector('.pin.b')?.setAttribute('aria-pressed', String(pinned[1] === stack));
    }
  }

  /** Numbers become buttons that show how to get them again. */
  #addNumbers(): void {
    const { summary } = this.app;
    for (const { row, stack } of this.#rows) {
      const label = summary.stacks[stack]?.label ?? '';
      for (const cell of row.querySelectorAll<HTMLElement>('td.number[data-metric], td.number[data-ratio]')) {
        const path = cell.dataset['metric'];
        const text = cell.textContent ?? '';
        if (text === '-' || text === '') continue;
        const show = (): void => path === undefined
          ? this.app.command.show(`Ratio of ${label}`, ofRatio(summary, label))
          : this.app.command.show(`${path} of ${label}: the values behind the median`, ofStack(summary, label, null, path));
        fill(cell, el('button', { type: 'button', class: 'plain', title: 'how to get this number again', on: { click: show } }, text));
      }
    }
  }

  #addHeads(): void {
    for (const head of document.querySelectorAll<HTMLElement>('#stacks thead th[data-sort], #stacks thead th[data-metric]')) {
      const key = head.dataset['sort'] ?? head.dataset['metric'] ?? '';
      const name = key === summaryMetric(this.app.summary) ? 'median' : key;
      const text = head.textContent ?? '';
      const button = el('button', { type: 'button', class: 'plain', title: 'sort by this column; again: the other way', on: { click: () => this.#sortBy(name, true) } }, text);
      this.#head.set(name, button);
      fill(head, button);
    }
  }
}

function summaryMetric(summary: Summary): string {
  return summary.verdict.metric;
}
