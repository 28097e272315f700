// The row that gives the page away: a link to the view, and the first picture as a file.

import type { Address } from './address';
import { byId, el, fill } from './dom';
import { picture, saveElement, saveSvg } from './save';

export class Share {
  readonly #said = el('span', { class: 'faint', live: 'polite' });

  constructor(address: Address) {
    const row = byId('share');
    if (!row) return;
    const forest = byId('forest');
    const button = (id: string, text: string, action: () => unknown): HTMLElement => el('button', { type: 'button', id, class: 'link', on: { click: () => {
      void Promise.resolve(action()).catch((error: unknown) => { this.#said.textContent = `That failed: ${String(error)}`; });
    } } }, text);
    row.append(...[
      button('copy-link', 'Copy link to this view', () => {
        address.write();
        return this.#copy(location.href);
      }),
      forest && button('forest-svg', 'Picture as SVG', () => saveSvg(picture(forest), 'stacks')),
      forest && button('forest-png', 'Picture as PNG', () => saveElement(forest, 'stacks')),
      this.#said,
    ].filter((one): one is HTMLElement => one !== null));
  }

  async #copy(text: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      this.#said.textContent = 'Copied.';
    } catch {
      // Without permission for the clipboard the reader copies it.
      const field = el('input', { type: 'text', label: 'link to this view', value: text });
      field.readOnly = true;
      fill(this.#said, field);
      field.select();
    }
  }
}
