// Building the document: text from a run becomes text nodes, never markup.

export type Child = Node | string | number | null | undefined | Child[];

type Props = {
  class?: string;
  title?: string;
  type?: string;
  value?: string;
  for?: string;
  id?: string;
  name?: string;
  hidden?: boolean;
  checked?: boolean;
  disabled?: boolean;
  tabindex?: number;
  role?: string;
  label?: string;
  pressed?: boolean;
  live?: string;
  scope?: 'row' | 'col';
  on?: Partial<Record<'click' | 'change' | 'input' | 'keydown' | 'toggle', (event: Event) => void>>;
};

/** Controls and characters that reorder the text around them; the same set as in the rest of the report. */
const HARMFUL = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u061c\u2028-\u202e\u2066-\u2069\ufeff]/g;

export function harmless(text: string): string {
  return text.replace(HARMFUL, '\ufffd');
}

export function el<K extends keyof HTMLElementTagNameMap>(
  name: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || key === 'on') continue;
    if (key === 'label') element.setAttribute('aria-label', harmless(String(value)));
    else if (key === 'pressed') element.setAttribute('aria-pressed', String(value));
    else if (key === 'live') element.setAttribute('aria-live', String(value));
    else if (key === 'value') (element as unknown as HTMLInputElement).value = String(value);
    else if (typeof value === 'boolean') element.toggleAttribute(key, value);
    else element.setAttribute(key, harmless(String(value)));
  }
  for (const [event, listener] of Object.entries(props.on ?? {})) element.addEventListener(event, listener);
  append(element, children);
  return element;
}

function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined) continue;
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.append(child);
    else parent.append(harmless(String(child)));
  }
}

/** A labelled choice; options are [value, text]. */
export function select(
  label: string,
  options: [string, string][],
  chosen: string,
  changed: (value: string) => void,
): HTMLLabelElement {
  const list = el('select', { on: { change: () => changed(list.value) } }, options.map(([value, text]) => option(value, text)));
  list.value = chosen;
  return el('label', { class: 'choice' }, el('span', {}, label), list);
}

/** A choice of a list. */
export function option(value: string, text: string): HTMLOptionElement {
  const one = document.createElement('option');
  one.value = value;
  one.textContent = harmless(text) || '\u2014';
  return one;
}

export function byId(id: string): HTMLElement | null {
  return document.getElementById(id);
}

/** Replaces the content of an element. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}
