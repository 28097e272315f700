// Deflate as the browser has it: nothing of it blocks the page for long.

/** `gzip` for the file, `deflate` (zlib) and `deflate-raw` for its values. */
export async function inflate(bytes: Uint8Array, format: 'gzip' | 'deflate' | 'deflate-raw'): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream(format));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
