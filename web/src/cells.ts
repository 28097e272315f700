// Numbers in a table that show how to get them again: one place of the table is in the order of Tab, the arrow keys
// move it, and a click or Enter chooses. A button for each number would be thousands of them.

import { el } from './dom';

const CELLS = 'td.command';

/** A cell with a value of a metric. */
export function numberCell(path: string, text: string): HTMLTableCellElement {
  const cell = el('td', { class: 'number command', tabindex: -1, title: 'how to get this number again' }, text);
  cell.dataset['metric'] = path;
  return cell;
}

/** Makes the cells with this class of a table choosable. */
export function choosable(table: HTMLElement, choose: (cell: HTMLTableCellElement) => void): void {
  if (table.dataset['choosable']) return;
  table.dataset['choosable'] = 'yes';
  enter(table);
  table.addEventListener('click', (event) => {
    const cell = (event.target as Element).closest<HTMLTableCellElement>(CELLS);
    if (cell) choose(cell);
  });
  table.addEventListener('keydown', (event) => {
    const cell = (event.target as Element).closest<HTMLTableCellElement>(CELLS);
    if (!cell || event.target !== cell) return;
    if (event.key === 'Enter' || event.key === ' ') choose(cell);
    else if (!move(table, cell, event.key)) return;
    event.preventDefault();
  });
}

/** Puts the first cell that is shown into the order of Tab. */
export function enter(table: HTMLElement): void {
  for (const old of table.querySelectorAll('td[tabindex="0"]')) old.setAttribute('tabindex', '-1');
  table.querySelector(`tr:not([hidden]) ${CELLS}`)?.setAttribute('tabindex', '0');
}

const STEPS: Record<string, [number, number]> = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function move(table: HTMLElement, from: HTMLTableCellElement, key: string): boolean {
  const step = STEPS[key];
  if (!step) return false;
  const rows = [...table.querySelectorAll<HTMLTableRowElement>('tbody tr:not([hidden])')];
  let [row, column] = [rows.indexOf(from.closest('tr')!), from.cellIndex];
  for (;;) {
    [row, column] = [row + step[0], column + step[1]];
    const cell = rows[row]?.cells[column];
    if (!cell) return true;
    if (!cell.matches(CELLS)) continue;
    from.setAttribute('tabindex', '-1');
    cell.setAttribute('tabindex', '0');
    cell.focus();
    return true;
  }
}
