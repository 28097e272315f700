// What a page knows at once: everything but the trials' details.

export interface Named { name: string; [key: string]: unknown }

export interface Stack {
  label: string;
  device: Named;
  journal: Named;
  filesystem: Named;
  scheduler: Named;
  memory: Named;
}

export const AXES = ['device', 'journal', 'filesystem', 'scheduler', 'memory'] as const;
export type Axis = (typeof AXES)[number];

export interface Ratio {
  stack: string;
  ratio: number | null;
  low: number | null;
  high: number | null;
  median: number | null;
  pairs: number;
}

export interface Verdict {
  kind: 'winner' | 'tie' | 'unresolved';
  stacks: string[];
  baseline: string | null;
  ratios: Ratio[];
  reason: string;
  metric: string;
  better: 'lower' | 'higher';
  confidence: number;
  tie: number;
  rounds: number;
}

/** [index, round, candidate, 0 ok | 1 marked | 2 failed, judged value, elapsed ns, doubts]. */
export type TrialRow = [number, number, number, number, number | null, number, number];

export interface Summary {
  format: string;
  lab: string;
  question: string;
  place: string;
  environment: Record<string, unknown>;
  stacks: Stack[];
  verdict: Verdict;
  warnings: { code: string; text: string; remedy: string }[];
  workloads: Workload[];
  /** [stack, workload], indices. */
  candidates: [number, number][];
  metrics: { path: string; unit: string; better: string | null }[];
  /** Median by candidate and metric over the trials that ended well. */
  medians: (number | null)[][];
  trials: TrialRow[];
  file: { name: string; inside: 'whole' | 'without-timelines' | 'nothing'; bytes: number };
}

export interface Workload {
  name: string;
  parts: Record<string, Record<string, unknown>>[];
  beside: Record<string, Record<string, unknown>>[];
}

export const STATUS = ['ok', 'marked', 'failed'] as const;

export function parse(text: string): Summary {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || !('stacks' in value) || !('verdict' in value)) {
    throw new Error('this is not a report of a run');
  }
  const found = value as Partial<Summary> & { trials?: unknown };
  if ('candidates' in value && 'medians' in value) return found as Summary;
  return fromJson(value as FullJson);
}

/** The JSON of `seekwell report --json`. */
interface FullJson extends Omit<Summary, 'trials' | 'candidates' | 'metrics' | 'medians' | 'file' | 'workloads'> {
  trials: {
    index: number; stack: string; workload: string; round: number; status: string;
    metrics: Record<string, number>; elapsed_ns: number; warnings: unknown[];
  }[];
}

function fromJson(json: FullJson): Summary {
  const workloads: Workload[] = [];
  const candidates: [number, number][] = [];
  const paths = new Map<string, number>();
  const values: number[][][] = [];
  const trials: TrialRow[] = json.trials.map((trial) => {
    const stack = json.stacks.findIndex((one) => one.label === trial.stack);
    let workload = workloads.findIndex((one) => one.name === trial.workload);
    if (workload < 0) workload = workloads.push({ name: trial.workload, parts: [], beside: [] }) - 1;
    let candidate = candidates.findIndex(([s, w]) => s === stack && w === workload);
    if (candidate < 0) {
      candidate = candidates.push([stack, workload]) - 1;
      values.push([]);
    }
    const status = Math.max(0, STATUS.indexOf(trial.status as 'ok'));
    for (const [path, value] of status === 0 ? Object.entries(trial.metrics) : []) {
      if (!paths.has(path)) paths.set(path, paths.size);
      const row = values[candidate] ?? [];
      (row[paths.get(path) ?? 0] ??= []).push(value);
    }
    const judged = trial.metrics[json.verdict.metric] ?? null;
    return [trial.index, trial.round, candidate, status, judged, trial.elapsed_ns, trial.warnings.length];
  });
  const metrics = [...paths.keys()].map((path) => ({ path, unit: unitOf(path), better: null }));
  return {
    ...json,
    workloads,
    candidates,
    metrics,
    medians: values.map((row) => metrics.map((_, index) => middle(row[index]))),
    trials,
    file: { name: '', inside: 'nothing', bytes: 0 },
  };
}

function middle(values: number[] | undefined): number | null {
  const sorted = [...(values ?? [])].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  if (sorted.length === 0) return null;
  return sorted.length % 2 ? sorted[half] ?? null : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
}

/** Units by the name of a metric, for JSON that does not say. */
export function unitOf(path: string): string {
  const name = path.slice(path.lastIndexOf('.') + 1);
  if (/^(elapsed|elapsed_durable|cpu)$/.test(name)) return 's';
  if (/^latency_(mean|p|max)|ns_per_op$/.test(name)) return 'ns';
  if (name.endsWith('_bytes')) return 'B';
  if (name.startsWith('mb_per_s')) return 'MB/s';
  if (/iops$|_per_s$/.test(name)) return '/s';
  return '';
}

/** Values of an axis in the order of the stacks. */
export function valuesOf(stacks: Stack[], axis: Axis): string[] {
  return [...new Set(stacks.map((stack) => stack[axis].name))];
}
