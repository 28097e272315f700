// The table of stacks: filter by axis, sort, pin. The table itself is in the page already, so that
// it is there without this program.

import { choosable, enter } from './cells';
import { byId, el, fill, option } from './dom';
import { AXES, valuesOf, type Axis } from './summary';
import type { App } from './main';
import { ofRatio, ofStack } from './reproduce';

/** Rows that are shown at first. */
const MOST_ROWS = 30;

/** Values of an axis up to which each has a button from the start. */
const MOST_CHIPS = 16;

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
  readonly #field = el('input', { type: 'search', id: 'search' });
  readonly #chips: { axis: Axis; value: string; chip: HTMLButtonElement }[] = [];
  /** True if rows beyond the first are folded away. */
  #folded: boolean;
  #pinned: (number | null)[] = [];

  constructor(readonly app: App) {
    this.#body = document.querySelector('#stacks tbody');
    const rows = document.querySelectorAll<HTMLTableRowElement>('#stacks tbody tr[data-stack]');
    rows.forEach((row, place) => this.#rows.push({ row, stack: Number(row.dataset['stack']), place }));
    this.#folded = this.#rows.length > MOST_ROWS + 10;
    this.#addPins();
    this.#addNumbers();
    this.#addHeads();
    const toolbar = byId('stacks-toolbar');
    if (toolbar) fill(toolbar, this.#filters(), this.#sorts(), this.#count);
    const more = el('button', { type: 'button', id: 'all-rows', on: { click: () => {
      this.#folded = false;
      this.#apply();
    } } });
    document.querySelector('#stacks')?.parentElement?.after(more);
    this.restore();
  }

  /** Filters and order from the address. */
  restore(): void {
    const { address } = this.app;
    this.#field.value = address.get('find') ?? '';
    for (const [axis, off] of this.#off) {
      off.clear();
      const known = new Set(valuesOf(this.app.summary.stacks, axis));
      for (const value of address.all(`no-${axis}`)) if (known.has(value)) off.add(value);
    }
    const sort = address.get('sort') ?? 'verdict';
    this.#descending = sort.startsWith('-');
    this.#sort = sort.replace(/^-/, '');
    this.#show();
    this.#apply();
  }

  /** Puts the state into the address. */
  #note(): void {
    const { address } = this.app;
    address.set('find', this.#field.value || null);
    for (const [axis, off] of this.#off) address.set(`no-${axis}`, [...off]);
    const sort = (this.#descending ? '-' : '') + this.#sort;
    address.set('sort', sort === 'verdict' ? null : sort);
  }

  /** Stacks that are shown, in their order. */
  shown(): number[] {
    return this.#ordered().filter(({ stack }) => this.#passes(stack)).map(({ stack }) => stack);
  }

  #filters(): HTMLElement {
    const { summary } = this.app;
    const box = el('div', { class: 'filters' });
    this.#field.addEventListener('input', () => this.#changed());
    box.append(el('label', { class: 'choice' }, el('span', {}, 'find'), this.#field));
    for (const axis of AXES) {
      const values = valuesOf(summary.stacks, axis);
      if (values.length < 2) continue;
      this.#off.set(axis, new Set());
      const group = el('div', { class: 'axis-filter', role: 'group', label: `filter by ${axis}` });
      if (values.length <= MOST_CHIPS) {
        fill(group, el('span', { class: 'faint' }, axis), this.#axisChips(axis, values));
        box.append(group);
        continue;
      }
      // Hundreds of buttons are made when they are asked for.
      const fold = el('details', { on: { toggle: () => {
        if (!group.hasChildNodes()) fill(group, this.#axisChips(axis, values));
        this.#show();
      } } }, el('summary', {}, `${axis}: ${values.length} values`), group);
      box.append(fold);
    }
    return box;
  }

  /** A button for each value of an axis, and one that shows all. */
  #axisChips(axis: Axis, values: string[]): HTMLElement[] {
    const off = this.#off.get(axis) ?? new Set<string>();
    const chips = values.map((value) => {
      const chip = el('button', { type: 'button', class: 'chip', pressed: true, on: { click: () => {
        if (off.has(value)) off.delete(value);
        else off.add(value);
        this.#changed();
      } } }, value || '\u2014');
      this.#chips.push({ axis, value, chip });
      return chip;
    });
    const all = el('button', { type: 'button', class: 'chip all', on: { click: () => {
      off.clear();
      this.#changed();
    } } }, 'all');
    return [...chips, all];
  }

  #sorts(): HTMLElement {
    const { summary } = this.app;
    const list = el('select', { id: 'sort', on: { change: () => this.#sortBy(list.value) } });
    const options: [string, string][] = [['verdict', 'verdict'], ['stack', 'name'], ['median', 'median'], ['width', 'width of the interval']];
    for (const axis of AXES) if (this.#off.has(axis)) options.push([axis, axis]);
    for (const metric of this.#columns()) options.push([metric, metric]);
    list.append(...options.map(([value, text]) => option(value, text)));
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
    this.#changed();
  }

  #changed(): void {
    this.#show();
    this.#note();
    this.#apply();
  }

  /** Makes the controls show the state. */
  #show(): void {
    this.#search = this.#field.value.toLowerCase();
    for (const { axis, value, chip } of this.#chips) chip.setAttribute('aria-pressed', String(!this.#off.get(axis)?.has(value)));
    const list = byId('sort') as HTMLSelectElement | null;
    if (list) list.value = this.#sort;
    for (const [name, button] of this.#head) {
      button.closest('th')?.setAttribute('aria-sort', name !== this.#sort ? 'none' : this.#descending ? 'descending' : 'ascending');
    }
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
    let drawn = 0;
    for (const { row, stack } of ordered) {
      row.hidden = !this.#passes(stack);
      if (row.hidden) continue;
      shown += 1;
      row.classList.toggle('folded', this.#folded && shown > MOST_ROWS);
      if (row.classList.contains('folded')) continue;
      drawn += 1;
      this.#fillPins(row, stack);
    }
    this.#count.textContent = `${shown} of ${this.#rows.length} stacks`;
    const more = byId('all-rows');
    if (more) {
      more.hidden = drawn === shown;
      more.textContent = `Show all ${shown} stacks`;
    }
    enter(document.querySelector<HTMLElement>('#stacks')!);
    this.app.stacksChanged();
  }

  #addPins(): void {
    // Behind the name, where a wide table does not hide them.
    document.querySelector('#stacks thead th')?.after(el('th', { scope: 'col', class: 'pins' }, 'compare'));
    for (const { row } of this.#rows) row.cells[0]?.after(el('td', { class: 'pins' }));
  }

  /** The buttons of a row, when it is shown for the first time. */
  #fillPins(row: HTMLTableRowElement, stack: number): void {
    const cell = row.querySelector('td.pins');
    if (!cell || cell.hasChildNodes()) return;
    const label = this.app.label(stack);
    fill(cell, (['A', 'B'] as const).map((name, side) => el('button', { type: 'button', class: `pin ${name.toLowerCase()}`, label: `show trials of ${label} as ${name}`, pressed: this.#pinned[side] === stack,
      on: { click: () => this.app.pin(side as 0 | 1, stack, true) } }, name)));
  }

  /** The pinned stacks. */
  mark(pinned: (number | null)[]): void {
    this.#pinned = pinned;
    for (const { row, stack } of this.#rows) {
      row.querySelector('.pin.a')?.setAttribute('aria-pressed', String(pinned[0] === stack));
      row.querySelector('.pin.b')?.setAttribute('aria-pressed', String(pinned[1] === stack));
    }
  }

  /** A click on a number shows how to get it again. */
  #addNumbers(): void {
    const { summary } = this.app;
    const table = document.querySelector<HTMLElement>('#stacks');
    if (!table) return;
    for (const cell of table.querySelectorAll<HTMLElement>('td.number[data-metric], td.number[data-ratio]')) {
      if (cell.textContent === '-' || cell.textContent === '') continue;
      cell.classList.add('command');
      cell.title = 'how to get this number again';
      cell.tabIndex = -1;
    }
    choosable(table, (cell) => {
      const label = this.app.label(Number(cell.closest('tr')?.dataset['stack']));
      const path = cell.dataset['metric'];
      if (path === undefined) this.app.command.show(`Ratio of ${label}`, ofRatio(summary, label));
      else this.app.command.show(`${path} of ${label}: the values behind the median`, ofStack(summary, label, null, path));
    });
  }

  #addHeads(): void {
    for (const head of document.querySelectorAll<HTMLElement>('#stacks thead th[data-sort], #stacks thead th[data-metric]')) {
      const key = head.dataset['sort'] ?? head.dataset['metric'] ?? '';
      const name = key === this.app.summary.verdict.metric ? 'median' : key;
      const text = head.textContent ?? '';
      const button = el('button', { type: 'button', class: 'plain', title: 'sort by this column; again: the other way', on: { click: () => this.#sortBy(name, true) } }, text);
      this.#head.set(name, button);
      fill(head, button);
    }
  }
}
