// Reads what the report's adaptive binary range coder wrote (crates/report/src/packed/coder.rs).

/** By how much of the way a chance moves, the more was seen the less. */
const SHIFTS = [1, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 5];
const LEAST = 32;
const WHOLE = 65536;
const NARROW = 1 << 24;

/** Chances of a kind of bits: how likely 0 is, of 65,536, and how much was seen. */
export class Chances {
  readonly zero: Uint16Array;
  readonly seen: Uint8Array;

  constructor(count: number) {
    this.zero = new Uint16Array(count).fill(WHOLE / 2);
    this.seen = new Uint8Array(count);
  }
}

export class Reader {
  #range = 0xffffffff;
  #code = 0;
  #at = 0;

  constructor(readonly bytes: Uint8Array) {
    for (let index = 0; index < 4; index++) this.#pull();
  }

  #pull(): void {
    this.#code = ((this.#code << 8) | (this.bytes[this.#at++] ?? 0)) >>> 0;
  }

  #bit(zero: number): boolean {
    const bound = Math.imul(this.#range >>> 16, zero) >>> 0;
    const bit = this.#code >= bound;
    if (bit) {
      this.#code -= bound;
      this.#range -= bound;
    } else {
      this.#range = bound;
    }
    while (this.#range < NARROW) {
      this.#range = (this.#range << 8) >>> 0;
      this.#pull();
    }
    return bit;
  }

  bit(of: Chances, index: number): boolean {
    const zero = of.zero[index]!;
    const bit = this.#bit(zero);
    const seen = of.seen[index]!;
    const shift = SHIFTS[seen]!;
    const next = bit ? zero - (zero >> shift) : zero + ((WHOLE - zero) >> shift);
    of.zero[index] = Math.min(Math.max(next, LEAST), WHOLE - LEAST);
    if (seen < 15) of.seen[index] = seen + 1;
    return bit;
  }

  plain(): boolean {
    return this.#bit(WHOLE / 2);
  }

  byte(): number {
    let byte = 0;
    for (let index = 0; index < 8; index++) byte = byte * 2 + (this.plain() ? 1 : 0);
    return byte;
  }
}

const LENGTHS = 65;
const LEARNT = 3;

/** Kinds of whole numbers: the number of their bits, then the bits, of which the highest are learnt. */
export class Numbers {
  readonly #lengths: Chances;
  readonly #highest: Chances;

  constructor(kinds: number) {
    this.#lengths = new Chances(kinds * LENGTHS);
    this.#highest = new Chances(kinds * LENGTHS * LEARNT);
  }

  read(reader: Reader, kind: number): number {
    const first = kind * LENGTHS;
    let length = 0;
    while (length < 64 && reader.bit(this.#lengths, first + length)) length += 1;
    if (length === 0) return 0;
    const learnt = (first + length) * LEARNT;
    let value = 1;
    for (let done = 1; done < length; done++) {
      const bit = done === 1 ? reader.bit(this.#highest, learnt)
        : done === 2 ? reader.bit(this.#highest, learnt + 1 + (value & 1))
          : reader.plain();
      value = value * 2 + (bit ? 1 : 0);
    }
    return value;
  }
}

/** Bytes from two of 91 letters for 13 bits (crates/report/src/packed/letters.rs). */
export function fromLetters(text: string): Uint8Array<ArrayBuffer> {
  const values = new Uint8Array(128);
  let value = 0;
  for (let code = 0x21; code < 0x7f; code++) {
    if (code !== 0x26 && code !== 0x2d && code !== 0x3c) values[code] = value++;
  }
  const bytes = new Uint8Array(Math.floor((text.length / 2 * 13) / 8));
  let held = 0;
  let count = 0;
  let at = 0;
  for (let index = 0; index + 1 < text.length; index += 2) {
    held |= (values[text.charCodeAt(index)]! + values[text.charCodeAt(index + 1)]! * 91) << count;
    count += 13;
    while (count >= 8) {
      bytes[at++] = held;
      held >>>= 8;
      count -= 8;
    }
  }
  return bytes;
}
