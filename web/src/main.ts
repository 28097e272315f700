// The page: the parts that are there without a program become ones that can be worked with.

import { Address } from './address';
import { byId, el } from './dom';
import { CommandDialog } from './reproduce';
import { Race } from './race';
import { Run } from './run';
import { Share } from './share';
import { StacksTable } from './stacks';
import { StateOfStorage } from './state';
import { parse, type Summary, type TrialRow } from './summary';
import { Sweeps } from './sweep';
import { TrialView } from './trial';
import { EvidencePlot } from './evidence';

export class App {
  readonly command: CommandDialog;
  readonly address = new Address();
  readonly #metricIndex: Map<string, number>;
  readonly #candidatesOf: number[][] = [];
  readonly #trialsOf: TrialRow[][] = [];
  #run: Promise<Run> | undefined;
  #table: StacksTable | undefined;
  #trials: TrialView | undefined;
  #evidence: EvidencePlot | undefined;
  #state: StateOfStorage | undefined;

  constructor(readonly summary: Summary) {
    this.#metricIndex = new Map(summary.metrics.map((metric, index) => [metric.path, index]));
    summary.stacks.forEach(() => this.#candidatesOf.push([]));
    summary.candidates.forEach(([stack], index) => {
      this.#candidatesOf[stack]?.push(index);
      this.#trialsOf.push([]);
    });
    for (const trial of summary.trials) this.#trialsOf[trial[2]]?.push(trial);
    this.command = new CommandDialog(summary);
  }

  start(): void {
    this.#table = new StacksTable(this);
    this.#evidence = new EvidencePlot(this);
    this.#trials = new TrialView(this);
    new Sweeps(this);
    this.#state = new StateOfStorage(this);
    new Race(this.summary.why);
    new Share(this.address);
    this.address.listen(() => {
      this.#table?.restore();
      this.#trials?.restore();
    });
    this.address.show();
    document.documentElement.classList.add('live');
    document.documentElement.dataset['ready'] = String(Math.round(performance.now()));
  }

  /** Median of a metric over the workloads of a stack that have it: the first one's. */
  median(stack: number, path: string): number | null {
    const metric = this.#metricIndex.get(path);
    if (metric === undefined) return null;
    for (const candidate of this.#candidatesOf[stack] ?? []) {
      const value = this.summary.medians[candidate]?.[metric];
      if (value !== null && value !== undefined) return value;
    }
    return null;
  }

  unit(path: string): string {
    const index = this.#metricIndex.get(path);
    return (index === undefined ? undefined : this.summary.metrics[index]?.unit) ?? '';
  }

  label(stack: number): string {
    return this.summary.stacks[stack]?.label ?? '';
  }

  candidates(stack: number): number[] {
    return this.#candidatesOf[stack] ?? [];
  }

  trials(candidate: number): TrialRow[] {
    return this.#trialsOf[candidate] ?? [];
  }

  workload(candidate: number): string {
    const workload = this.summary.candidates[candidate]?.[1];
    return workload === undefined ? '' : this.summary.workloads[workload]?.name ?? '';
  }

  /** Stacks of the table as it is filtered and sorted. */
  shown(): number[] {
    return this.#table?.shown() ?? this.summary.stacks.map((_, index) => index);
  }

  /** The verdict's order. */
  ranked(): number[] {
    const places = new Map(this.summary.stacks.map((stack, index) => [stack.label, index]));
    const found = this.summary.verdict.ratios.map((row) => places.get(row.stack)).filter((index): index is number => index !== undefined);
    return found.length > 0 ? found : this.summary.stacks.map((_, index) => index);
  }

  stacksChanged(): void {
    this.#evidence?.draw();
    this.#state?.draw();
  }

  pin(side: 0 | 1, stack: number, scroll: boolean): void {
    this.#trials?.pin(side, stack);
    if (scroll) byId('closer')?.scrollIntoView({ block: 'start' });
  }

  pinned(stacks: (number | null)[]): void {
    this.#table?.mark(stacks);
  }

  openTrial(trial: TrialRow): void {
    this.#trials?.open(0, trial);
    byId('closer')?.scrollIntoView({ block: 'start' });
  }

  /** The run file inside the page; nothing where the page was written without. */
  run(): Promise<Run> | null {
    if (this.summary.file.inside === 'nothing') return null;
    this.#run ??= Run.unpack(byId('run')?.textContent ?? '');
    return this.#run;
  }
}

function begin(): void {
  const data = byId('summary');
  if (!data) return;
  try {
    new App(parse(data.textContent ?? '')).start();
  } catch (error) {
    // What is on the page without a program stays; say why there is no more.
    document.querySelector('main')?.prepend(el('p', { class: 'failed', role: 'alert' }, `The interactive parts do not work: ${String(error)}`));
    throw error;
  }
}

begin();
