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

/** A number with three digits. */
export function threeDigits(value: number): string {
  return Number(value.toPrecision(3)).toString();
}

/** The smallest and the largest of these values. */
export function extent(values: number[]): [number, number] {
  return [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
}
