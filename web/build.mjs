// Bundles the page's program and style sheet into dist/, or with `test` the unit tests into
// dist/test/. Both are plain files: crates/report/build.rs takes them from there.
import { build } from 'esbuild';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';

const common = {
  bundle: true,
  target: ['es2022'],
  charset: 'ascii',
  logLevel: 'warning',
  absWorkingDir: import.meta.dirname ?? process.cwd(),
};

if (process.argv[2] === 'test') {
  await rm('dist/test', { recursive: true, force: true });
  const tests = (await readdir('test')).filter((name) => name.endsWith('.test.ts'));
  await build({
    ...common,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: 'dist/test',
    outExtension: { '.js': '.mjs' },
    format: 'esm',
    platform: 'node',
  });
} else {
  await mkdir('dist', { recursive: true });
  const program = await build({
    ...common,
    entryPoints: ['src/main.ts'],
    format: 'iife',
    platform: 'browser',
    minify: true,
    legalComments: 'none',
    define: { 'process.env.NODE_ENV': '"production"' },
    write: false,
  });
  const style = await build({ ...common, entryPoints: ['src/page.css'], minify: true, write: false });
  const js = program.outputFiles[0].text.trimEnd();
  const css = style.outputFiles[0].text.trimEnd();
  for (const [name, text] of [['page.js', js], ['page.css', css]]) {
    // Nothing may end the element that holds it, nor open a comment in it.
    if (/<\/(script|style)|<!--/i.test(text)) throw new Error(`${name} cannot stand in a page`);
    if (/https?:\/\/(?!www\.w3\.org\/)/.test(text) && name === 'page.css') {
      throw new Error(`${name} names an address`);
    }
    const path = `dist/${name}`;
    // Untouched when it is the same, so that cargo has nothing to build.
    const before = await readFile(path, 'utf8').catch(() => undefined);
    if (before !== text) await writeFile(path, text);
  }
  console.log(`page.js ${Math.ceil(js.length / 1024)} KiB, page.css ${Math.ceil(css.length / 1024)} KiB`);
}
