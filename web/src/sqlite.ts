// Reads tables of an SQLite file that is in memory: only what a run file needs (no index, no
// write-ahead log), following the file format that sqlite.org documents.

export type Cell = number | bigint | string | Uint8Array | null;

/** One row: columns are decoded when they are asked for. */
export class Row {
  #payload: Uint8Array;
  #types: number[] = [];
  #offsets: number[] = [];

  constructor(payload: Uint8Array, readonly rowid: number) {
    this.#payload = payload;
    const [headerSize, begin] = varint(payload, 0);
    let at = begin;
    let offset = headerSize;
    while (at < headerSize) {
      const [type, next] = varint(payload, at);
      this.#types.push(type);
      this.#offsets.push(offset);
      offset += sizeOf(type);
      at = next;
    }
  }

  get length(): number {
    return this.#types.length;
  }

  get(column: number): Cell {
    const type = this.#types[column];
    const offset = this.#offsets[column];
    if (type === undefined || offset === undefined) return null;
    const view = new DataView(this.#payload.buffer, this.#payload.byteOffset + offset);
    switch (type) {
      case 0: return null;
      case 1: return view.getInt8(0);
      case 2: return view.getInt16(0);
      case 3: return (view.getInt8(0) << 16) | view.getUint16(1);
      case 4: return view.getInt32(0);
      case 5: return view.getInt16(0) * 2 ** 32 + view.getUint32(2);
      case 6: {
        const big = view.getBigInt64(0);
        const number = Number(big);
        return Number.isSafeInteger(number) ? number : big;
      }
      case 7: return view.getFloat64(0);
      case 8: return 0;
      case 9: return 1;
      default: {
        const bytes = this.#payload.subarray(offset, offset + sizeOf(type));
        return type % 2 === 1 ? decoder.decode(bytes) : bytes;
      }
    }
  }

  number(column: number): number {
    return Number(this.get(column));
  }

  text(column: number): string {
    const value = this.get(column);
    return value === null ? '' : String(value);
  }

  bytes(column: number): Uint8Array {
    const value = this.get(column);
    if (value instanceof Uint8Array) return value;
    throw new Error(`column ${column} holds no bytes`);
  }
}

const decoder = new TextDecoder();

function sizeOf(type: number): number {
  const fixed = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0][type];
  if (fixed !== undefined) return fixed;
  if (type < 12) throw new Error(`unknown column type ${type}`);
  return (type - (type % 2 === 1 ? 13 : 12)) / 2;
}

/** A number of one to nine bytes, and the offset behind it. */
function varint(bytes: Uint8Array, at: number): [number, number] {
  let value = 0;
  for (let index = 0; index < 8; index++) {
    const byte = bytes[at + index] ?? 0;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return [value, at + index + 1];
  }
  return [value * 256 + (bytes[at + 8] ?? 0), at + 9];
}

interface Page {
  bytes: Uint8Array;
  view: DataView;
  kind: number;
  cells: number[];
  /** Right-most child of an inner page, else 0. */
  right: number;
}

export class Database {
  readonly #pageSize: number;
  readonly #usable: number;
  readonly #roots = new Map<string, number>();

  constructor(readonly file: Uint8Array) {
    if (decoder.decode(file.subarray(0, 15)) !== 'SQLite format 3') {
      throw new Error('this is no run file (it does not begin as an SQLite file does)');
    }
    const view = new DataView(file.buffer, file.byteOffset);
    const size = view.getUint16(16);
    this.#pageSize = size === 1 ? 65536 : size;
    this.#usable = this.#pageSize - (file[20] ?? 0);
    for (const row of this.#walk(1, undefined)) {
      if (row.text(0) === 'table') this.#roots.set(row.text(1), row.number(3));
    }
  }

  has(table: string): boolean {
    return this.#roots.has(table);
  }

  /**
   * Rows of a table in the order of its key. With `key` only those whose row id, or in a table
   * without row ids whose first column, is that number.
   */
  rows(table: string, key?: number): Iterable<Row> {
    const root = this.#roots.get(table);
    if (root === undefined) throw new Error(`the run file has no table ${table}`);
    return this.#walk(root, key);
  }

  #page(number: number): Page {
    const begin = (number - 1) * this.#pageSize;
    const bytes = this.file.subarray(begin, begin + this.#pageSize);
    if (bytes.length < this.#pageSize) throw new Error('the run file is cut off');
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const header = number === 1 ? 100 : 0;
    const kind = bytes[header] ?? 0;
    const inner = kind === 2 || kind === 5;
    const count = view.getUint16(header + 3);
    const first = header + (inner ? 12 : 8);
    const cells = Array.from({ length: count }, (_, index) => view.getUint16(first + 2 * index));
    return { bytes, view, kind, cells, right: inner ? view.getUint32(header + 8) : 0 };
  }

  *#walk(number: number, key: number | undefined): Generator<Row> {
    const page = this.#page(number);
    switch (page.kind) {
      case 13:
        for (const cell of page.cells) {
          const [size, at] = varint(page.bytes, cell);
          const [rowid, body] = varint(page.bytes, at);
          if (key === undefined || rowid === key) {
            yield new Row(this.#payload(page, body, size, this.#usable - 35), rowid);
          }
        }
        return;
      case 5: {
        let above = -Infinity;
        for (const cell of page.cells) {
          const [highest] = varint(page.bytes, cell + 4);
          if (key === undefined || (key > above && key <= highest)) {
            yield* this.#walk(page.view.getUint32(cell), key);
          }
          above = highest;
        }
        if (key === undefined || key > above) yield* this.#walk(page.right, key);
        return;
      }
      case 10:
        for (const cell of page.cells) {
          const row = this.#keyed(page, cell);
          if (key === undefined || row.number(0) === key) yield row;
        }
        return;
      case 2: {
        let above = -Infinity;
        for (const cell of page.cells) {
          const row = this.#keyed(page, cell + 4);
          const first = key === undefined ? 0 : row.number(0);
          if (key === undefined || (key >= above && key <= first)) {
            yield* this.#walk(page.view.getUint32(cell), key);
          }
          if (key === undefined || first === key) yield row;
          above = first;
        }
        if (key === undefined || key >= above) yield* this.#walk(page.right, key);
        return;
      }
      default:
        throw new Error(`the run file is damaged (page ${number})`);
    }
  }

  #keyed(page: Page, at: number): Row {
    const [size, body] = varint(page.bytes, at);
    const most = Math.floor(((this.#usable - 12) * 64) / 255) - 23;
    return new Row(this.#payload(page, body, size, most), 0);
  }

  /** The bytes of a cell, those on overflow pages included; `most` of them fit into the page. */
  #payload(page: Page, at: number, size: number, most: number): Uint8Array {
    if (size <= most) return page.bytes.subarray(at, at + size);
    const least = Math.floor(((this.#usable - 12) * 32) / 255) - 23;
    const fitting = least + ((size - least) % (this.#usable - 4));
    const local = fitting <= most ? fitting : least;
    const whole = new Uint8Array(size);
    whole.set(page.bytes.subarray(at, at + local));
    let filled = local;
    let next = page.view.getUint32(at + local);
    while (filled < size) {
      if (next === 0) throw new Error('the run file is damaged (a value ends early)');
      const begin = (next - 1) * this.#pageSize;
      const take = Math.min(size - filled, this.#usable - 4);
      whole.set(this.file.subarray(begin + 4, begin + 4 + take), filled);
      next = new DataView(this.file.buffer, this.file.byteOffset + begin).getUint32(0);
      filled += take;
    }
    return whole;
  }
}
