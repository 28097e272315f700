// Numbers for people: few digits, with their unit. The same rules as in the rest of the report.

export type Unit = string;

const SECONDS: [number, string][] = [[1, 's'], [1e-3, 'ms'], [1e-6, '\u00b5s'], [1e-9, 'ns']];
const BYTES: [number, string][] = [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];

export interface Scale {
  divisor: number;
  decimals: number;
  symbol: string;
}

/** Unit from the largest value, decimals so that the smallest one keeps three digits. */
export function scaleOf(unit: Unit, values: number[]): Scale {
  const sizes = values.map(Math.abs).filter((value) => Number.isFinite(value) && value > 0);
  const largest = sizes.reduce((a, b) => Math.max(a, b), 0);
  const smallest = sizes.reduce((a, b) => Math.min(a, b), largest);
  let divisor = 1;
  let symbol = unit;
  const pick = (steps: [number, string][], factor: number): void => {
    const found = steps.find(([size]) => largest * factor >= size) ?? steps[steps.length - 1];
    if (found) [divisor, symbol] = [found[0] / factor, found[1]];
  };
  if (largest > 0 && unit === 's') pick(SECONDS, 1);
  if (largest > 0 && unit === 'ns') pick(SECONDS, 1e-9);
  if (largest > 0 && unit === 'B') pick(BYTES, 1);
  const magnitude = smallest > 0 ? Math.floor(Math.log10(smallest / divisor)) : 2;
  return { divisor, decimals: Math.min(12, Math.max(0, 2 - magnitude)), symbol };
}

export function inScale(scale: Scale, value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '-';
  return (value / scale.divisor).toFixed(scale.decimals);
}

/** One value with its unit. */
export function quantity(unit: Unit, value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '-';
  const scale = scaleOf(unit, [value]);
  const number = inScale(scale, value);
  return scale.symbol ? `${number} ${scale.symbol}` : number;
}

export function duration(ns: number): string {
  return quantity('ns', ns);
}

export function ratio(value: number | null | undefined): string {
  return value === null || value === undefined || !Number.isFinite(value) ? '-' : value.toFixed(3);
}

/** Binary sizes of labs: `4KiB`. */
export function binary(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let index = 0;
  while (value >= 1024 && index < units.length - 1) {
    value /= 1024;
    index += 1;
  }
  return `${Number.isInteger(value) ? value : value.toFixed(1)} ${units[index]}`;
}

export function median(values: number[]): number | null {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return null;
  if (sorted.length % 2 === 1) return sorted[middle] ?? null;
  return ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

/** Round numbers between two: 1, 2 and 5 times powers of ten, the ones just outside included. */
export function roundNumbers(low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const one of [1, 2, 5]) found.push(Number((one * 10 ** power).toPrecision(1)));
  }
  const first = found.filter((number) => number <= low).length - 1;
  const last = found.findIndex((number) => number >= high);
  return found.slice(Math.max(first, 0), last < 0 ? found.length : last + 1);
}
