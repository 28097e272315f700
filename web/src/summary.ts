// What a page knows at once: everything but the trials' details.

export const AXES = ['device', 'journal', 'filesystem', 'scheduler', 'memory'] as const;
export type Axis = (typeof AXES)[number];
export type Stack = { label: string } & Record<Axis, { name: string }>;

/** The part of a verdict that the page's program needs. */
export interface Verdict {
  ratios: { stack: string; low: number | null; high: number | null }[];
  metric: string;
}

export interface Group { kind: string; name: string; requests: number }

/** Block requests of a stack over the judged step; of each that is drawn five numbers. */
export interface Traffic { elapsed_ns: number; groups: Group[]; packed: number[] }

export interface Why { traffic?: Traffic[] }

/** [index, round, candidate, 0 ok | 1 marked | 2 failed, judged value, elapsed ns, doubts]. */
export type TrialRow = [number, number, number, number, number | null, number, number];

export interface Summary {
  stacks: Stack[];
  verdict: Verdict;
  workloads: Workload[];
  /** [stack, workload], indices. */
  candidates: [number, number][];
  metrics: { path: string; unit: string }[];
  /** Median by candidate and metric over the trials that ended well. */
  medians: (number | null)[][];
  trials: TrialRow[];
  why?: Why | null;
  file: { name: string; inside: 'whole' | 'without-timelines' | 'nothing'; bytes: number };
}

export interface Workload {
  name: string;
  parts: Record<string, Record<string, unknown>>[];
}

export const STATUS = ['ok', 'marked', 'failed'] as const;

export function parse(text: string): Summary {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null || !('stacks' in value) || !('verdict' in value)) {
    throw new Error('this is not a report of a run');
  }
  return value as Summary;
}

/** Values of an axis in the order of the stacks. */
export function valuesOf(stacks: Stack[], axis: Axis): string[] {
  return [...new Set(stacks.map((stack) => stack[axis].name))];
}
