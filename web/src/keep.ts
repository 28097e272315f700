// What the page holds, and how to get it out.

import { byId, el, fill } from './dom';
import { quantity } from './number';
import { runFile, shell } from './reproduce';
import type { App } from './main';

export class Keep {
  constructor(app: App) {
    const box = byId('inside');
    if (!box) return;
    const { file } = app.summary;
    const said = el('p', { class: 'faint', live: 'polite' });
    const save = async (): Promise<void> => {
      said.textContent = 'unpacking \u2026';
      const run = await app.run();
      if (!run) return;
      const address = URL.createObjectURL(new Blob([run.bytes as Uint8Array<ArrayBuffer>], { type: 'application/vnd.sqlite3' }));
      const link = document.createElement('a');
      link.href = address;
      link.download = runFile(app.summary);
      link.click();
      URL.revokeObjectURL(address);
      said.textContent = `${quantity('B', run.bytes.length)} as ${link.download}`;
    };
    if (file.inside === 'whole') {
      fill(box, el('h2', {}, 'The raw data'),
        el('p', {}, `The run file (${quantity('B', file.bytes)}) is inside this page, byte by byte.`),
        el('pre', {}, `seekwell extract REPORT.html -o ${shell(runFile(app.summary))}`),
        el('p', { class: 'buttons' }, el('button', { type: 'button', id: 'save', on: { click: () => void save() } }, 'Save the run file')), said);
    }
  }
}
