// This run compared with another one, whose page, JSON or run file is opened from this machine.

import { byId, el, fill } from './dom';
import { inScale, ratio, scaleOf } from './number';
import { parse, type Summary } from './summary';
import type { App } from './main';

export class CompareRuns {
  readonly #table = el('div', { id: 'compared', live: 'polite' });

  constructor(readonly app: App) {
    const box = byId('compare');
    if (!box) return;
    const input = el('input', { type: 'file', id: 'other-run' });
    input.accept = '.html,.json';
    input.addEventListener('change', () => void this.#open(input));
    fill(box, el('h2', {}, 'Compare with another run'),
      el('p', { class: 'faint' }, 'Its report (HTML) or the output of seekwell report --json. The file is read in this page and not sent anywhere. Medians show by how much the runs differ; seekwell compare tells if that is more than chance.'),
      el('label', { class: 'choice' }, el('span', {}, 'other run'), input), this.#table);
  }

  async #open(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    if (!file) return;
    try {
      this.#show(file.name, parse(summaryIn(await file.text())));
    } catch (error) {
      fill(this.#table, el('p', { class: 'failed', role: 'alert' }, `${file.name} cannot be compared: ${error instanceof Error ? error.message : String(error)}`));
    }
  }

  #show(name: string, other: Summary): void {
    const mine = this.app.summary;
    const metric = mine.verdict.metric;
    const theirs = new Map(other.stacks.map((stack, index) => [stack.label, index]));
    const column = other.metrics.findIndex((one) => one.path === metric);
    const medianThere = (stack: number): number | null => {
      for (const [index, [at]] of other.candidates.entries()) {
        const value = at === stack ? other.medians[index]?.[column] : null;
        if (value !== null && value !== undefined) return value;
      }
      return null;
    };
    const rows = this.app.ranked().flatMap((stack) => {
      const there = theirs.get(this.app.label(stack));
      return there === undefined ? [] : [{ label: this.app.label(stack), here: this.app.median(stack, metric), there: medianThere(there) }];
    });
    const scale = scaleOf(this.app.unit(metric), rows.flatMap((row) => [row.here, row.there]).filter((value): value is number => value !== null));
    const only = mine.stacks.length - rows.length;
    fill(this.#table, el('h3', {}, `${mine.lab} and ${other.lab} (${name})`),
      differences(mine, other).map((text) => el('p', { class: 'doubt' }, text)),
      el('p', {}, `The other run: ${word(other)}.`),
      rows.length === 0 ? el('p', { class: 'failed' }, 'The two runs have no stack in common.')
        : el('div', { class: 'scroll' }, el('table', {},
          el('thead', {}, el('tr', {}, el('th', {}, 'stack'), el('th', { class: 'number' }, `${metric} here, ${scale.symbol}`), el('th', { class: 'number' }, 'there'), el('th', { class: 'number' }, 'there / here'))),
          el('tbody', {}, rows.map((row) => el('tr', {}, el('td', { class: 'label' }, row.label), el('td', { class: 'number' }, inScale(scale, row.here)), el('td', { class: 'number' }, inScale(scale, row.there)),
            el('td', { class: 'number' }, ratio(row.here && row.there ? row.there / row.here : null))))))),
      only > 0 ? el('p', { class: 'faint' }, `${only} stacks are only here, ${other.stacks.length - rows.length} only there.`) : null);
  }
}

function word(run: Summary): string {
  const { kind, stacks, metric } = run.verdict;
  const names = stacks.join(', ');
  return kind === 'winner' ? `${names} wins on ${metric}` : kind === 'tie' ? `${names} tie on ${metric}` : `inconclusive on ${metric}`;
}

/** Differences of the two runs besides chance. */
function differences(mine: Summary, other: Summary): string[] {
  const said: string[] = [];
  const differ = (what: string, here: unknown, there: unknown): void => {
    if (here !== there) said.push(`${what} differs: ${String(here ?? 'unknown')} here, ${String(there ?? 'unknown')} there`);
  };
  differ('the judged metric', mine.verdict.metric, other.verdict.metric);
  differ('the backend', mine.place, other.place);
  differ('the kernel', mine.environment['kernel'], other.environment['kernel']);
  differ('the CPU', mine.environment['cpu'], other.environment['cpu']);
  differ('the memory', mine.environment['ram'], other.environment['ram']);
  differ('the format', mine.format, other.format);
  return said;
}

/** The summary inside a page, or the text itself when it is JSON. */
export function summaryIn(text: string): string {
  const begin = /<script type="application\/json" id="summary">/.exec(text);
  if (!begin) return text;
  const from = begin.index + begin[0].length;
  return text.slice(from, text.indexOf('</script>', from));
}
