// Deflate as the browser has it: nothing of it blocks the page for long.

/** `gzip` for records, `deflate` (zlib) for values as the run file keeps them. */
export async function inflate(bytes: Uint8Array, format: 'gzip' | 'deflate'): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
