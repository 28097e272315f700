// Reads tables of an SQLite file (https://sqlite.org/fileformat2.html): rows of b-trees whose key
// is the row's number. No index, no SQL.

export type Cell = null | number | bigint | string | Uint8Array;

export class Database {
  readonly #view: DataView;
  readonly #page: number;
  readonly #usable: number;

  constructor(readonly bytes: Uint8Array) {
    if (new TextDecoder().decode(bytes.subarray(0, 15)) !== 'SQLite format 3') throw new Error('the run file in this page is damaged');
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const page = this.#view.getUint16(16);
    this.#page = page === 1 ? 65536 : page;
    this.#usable = this.#page - bytes[20]!;
  }

  /** Major version of the run file's format. */
  format(): number {
    return this.#view.getUint16(60);
  }

  /** Rows of a table in the order of their numbers, as objects by column. */
  table(name: string): Map<number, Record<string, Cell>> {
    for (const [kind, own, , root, sql] of this.#rows(1).values()) {
      if (kind !== 'table' || own !== name) continue;
      const columns = namesOf(String(sql));
      const rows = new Map<number, Record<string, Cell>>();
      for (const [id, cells] of this.#rows(Number(root))) {
        rows.set(id, Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? null])));
      }
      return rows;
    }
    throw new Error(`the run file in this page has no table '${name}'`);
  }

  #rows(root: number): Map<number, Cell[]> {
    const rows = new Map<number, Cell[]>();
    const pages = [root];
    for (let seen = 0; pages.length > 0; seen++) {
      if (seen > this.bytes.length / this.#page) throw new Error('the run file in this page is damaged');
      const number = pages.pop()!;
      const start = (number - 1) * this.#page;
      const head = number === 1 ? start + 100 : start;
      const kind = this.bytes[head];
      const count = this.#view.getUint16(head + 3);
      const cell = (index: number): number => start + this.#view.getUint16(head + (kind === 5 ? 12 : 8) + 2 * index);
      if (kind === 5) {
        // The last child first: the stack turns them round.
        pages.push(this.#view.getUint32(head + 8));
        for (let index = count - 1; index >= 0; index--) pages.push(this.#view.getUint32(cell(index)));
      } else if (kind === 13) {
        for (let index = 0; index < count; index++) {
          const [length, behind] = this.#varint(cell(index));
          const [id, at] = this.#varint(behind);
          rows.set(Number(id), this.#record(this.#payload(at, Number(length))));
        }
      } else {
        throw new Error('the run file in this page is damaged');
      }
    }
    return rows;
  }

  #varint(at: number, bytes = this.bytes): [bigint | number, number] {
    let value = 0;
    for (let index = 0; index < 6; index++) {
      const byte = bytes[at + index]!;
      value = value * 128 + (byte & 0x7f);
      if (byte < 0x80) return [value, at + index + 1];
    }
    let large = BigInt(value);
    for (let index = 6; index < 9; index++) {
      const byte = BigInt(bytes[at + index]!);
      large = index === 8 ? (large << 8n) | byte : (large << 7n) | (byte & 0x7fn);
      if (index < 8 && byte < 0x80n) return [large, at + index + 1];
    }
    return [large, at + 9];
  }

  /** The content of a row, gathered from the pages on which it continues. */
  #payload(at: number, length: number): Uint8Array {
    const most = this.#usable - 35;
    if (length <= most) return this.bytes.subarray(at, at + length);
    const least = Math.floor(((this.#usable - 12) * 32) / 255) - 23;
    const wanted = least + ((length - least) % (this.#usable - 4));
    const local = wanted <= most ? wanted : least;
    const out = new Uint8Array(length);
    out.set(this.bytes.subarray(at, at + local));
    let page = this.#view.getUint32(at + local);
    for (let done = local; done < length; done += this.#usable - 4) {
      const start = (page - 1) * this.#page;
      out.set(this.bytes.subarray(start + 4, start + 4 + Math.min(length - done, this.#usable - 4)), done);
      page = this.#view.getUint32(start);
    }
    return out;
  }

  #record(bytes: Uint8Array): Cell[] {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const [length, first] = this.#varint(0, bytes);
    let [kindAt, at] = [first, Number(length)];
    const cells: Cell[] = [];
    while (kindAt < Number(length)) {
      const [raw, next] = this.#varint(kindAt, bytes);
      const kind = Number(raw);
      kindAt = next;
      const size = kind >= 12 ? (kind - (kind % 2 === 0 ? 12 : 13)) / 2 : [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0][kind]!;
      cells.push(cellOf(kind, bytes.subarray(at, at + size), view, at));
      at += size;
    }
    return cells;
  }
}

function cellOf(kind: number, bytes: Uint8Array, view: DataView, at: number): Cell {
  switch (kind) {
    case 0: return null;
    case 1: return view.getInt8(at);
    case 2: return view.getInt16(at);
    case 3: return view.getInt8(at) * 65536 + view.getUint16(at + 1);
    case 4: return view.getInt32(at);
    case 5: return view.getInt16(at) * 4294967296 + view.getUint32(at + 2);
    case 6: return view.getBigInt64(at);
    case 7: return view.getFloat64(at);
    case 8: return 0;
    case 9: return 1;
    default: return kind % 2 === 0 ? bytes : new TextDecoder().decode(bytes);
  }
}

/** Columns by the table's definition: the first word of each line that is no constraint. */
function namesOf(sql: string): string[] {
  const body = sql.slice(sql.indexOf('(') + 1).replace(/--[^\n]*/g, '').replace(/\([^)]*\)/g, '');
  return body.split(',').map((part) => part.trim().split(/\s+/)[0] ?? '').filter((name) => name !== '' && name !== ')');
}
