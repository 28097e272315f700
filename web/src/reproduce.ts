// For every number the command that shows it again, from the run file that is inside the page.

import { el, fill } from './dom';
import type { Summary } from './summary';

/** A word of a shell command line. */
export function shell(text: string): string {
  return /^[A-Za-z0-9/_.:,=+@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A text of an SQL statement. */
function sql(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

function split(path: string): [string, string] {
  const dot = path.indexOf('.');
  return [path.slice(0, dot), path.slice(dot + 1)];
}

export function runFile(summary: Summary): string {
  return summary.file.name || 'run.seekwell';
}

/** One value of one trial. */
export function ofTrial(summary: Summary, trial: number, path: string): string {
  const [step, metric] = split(path);
  const query = `SELECT value FROM value WHERE trial = ${trial} AND step = ${sql(step)} AND metric = ${sql(metric)}`;
  return `sqlite3 -readonly ${shell(runFile(summary))} ${shell(query)}`;
}

/** All values behind a median. */
export function ofStack(summary: Summary, stack: string, workload: string | null, path: string): string {
  const [step, metric] = split(path);
  const beside = workload === null ? '' : ` AND workload = ${sql(workload)}`;
  const query = `SELECT round, value FROM value WHERE stack = ${sql(stack)}${beside} AND step = ${sql(step)} AND metric = ${sql(metric)} AND status = 'ok' ORDER BY value`;
  return `sqlite3 -readonly ${shell(runFile(summary))} ${shell(query)}`;
}

/** A ratio with its interval. */
export function ofRatio(summary: Summary, stack: string): string {
  const filter = `.verdict.ratios[] | select(.stack == ${JSON.stringify(stack)})`;
  return `seekwell report ${shell(runFile(summary))} --json | jq ${shell(filter)}`;
}

/** The dialog that shows a command to copy. */
export class CommandDialog {
  readonly #dialog = el('dialog', { class: 'command', label: 'command that reproduces a number' });

  constructor(readonly summary: Summary) {
    document.body.append(this.#dialog);
  }

  show(what: string, command: string): void {
    const text = el('textarea', { class: 'copy', label: 'command' });
    text.readOnly = true;
    text.rows = 4;
    text.value = command;
    const said = el('p', { class: 'faint', live: 'polite' });
    const copy = el('button', { type: 'button', id: 'copy', on: { click: () => void copyText(text, said) } }, 'Copy');
    const close = el('button', { type: 'button', id: 'close-command', on: { click: () => this.#dialog.close() } }, 'Close');
    const first = this.summary.file.inside === 'whole'
      ? `With the run file; this page gives it back: seekwell file extract REPORT.html -o ${shell(runFile(this.summary))}`
      : 'With the run file, which is not inside this page.';
    fill(this.#dialog, el('h3', {}, what), el('p', { class: 'faint' }, first), text,
      el('p', { class: 'buttons' }, copy, close), said);
    this.#dialog.showModal();
    text.select();
  }
}

async function copyText(text: HTMLTextAreaElement, said: HTMLElement): Promise<void> {
  text.select();
  try {
    await navigator.clipboard.writeText(text.value);
    said.textContent = 'Copied.';
  } catch {
    // Without permission for the clipboard the older way is left.
    said.textContent = document.execCommand('copy') ? 'Copied.' : 'It is selected: copy it with the keyboard.';
  }
}
