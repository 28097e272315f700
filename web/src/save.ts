// A part of the page as a file: SVG with its text where it is on the screen, or the same as PNG.

import { el, harmless } from './dom';

const STYLES = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-opacity', 'stroke-linecap', 'opacity', 'font-size', 'font-family', 'font-weight', 'text-anchor', 'overflow', 'vector-effect'];
/** Parts of a picture that are there to be clicked. */
const SKIPPED = '.save, .tip, .tools, .share, .skip, button, select, input, script, style';
const PAD = 16;
const SVG = 'http://www.w3.org/2000/svg';

export interface Saved { text: string; width: number; height: number }

/** What an element shows, as one SVG that needs no style sheet. */
export function picture(element: Element): Saved {
  const edge = element.getBoundingClientRect();
  const [width, height] = [Math.ceil(edge.width) + 2 * PAD, Math.ceil(edge.height) + 2 * PAD];
  const root = document.createElementNS(SVG, 'svg');
  put(root, { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` });
  root.append(shape('rect', { width, height, fill: getComputedStyle(document.body).backgroundColor }));
  collect(element, root, PAD - edge.left, PAD - edge.top);
  return { text: new XMLSerializer().serializeToString(root), width, height };
}

function put(element: Element, attributes: Record<string, string | number>): void {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
}

function shape(name: string, attributes: Record<string, string | number>): Element {
  const made = document.createElementNS(SVG, name);
  put(made, attributes);
  return made;
}

function collect(element: Element, into: Element, dx: number, dy: number): void {
  const style = getComputedStyle(element);
  if (style.display === 'none' || style.visibility === 'hidden' || element.matches(SKIPPED)) return;
  const box = element.getBoundingClientRect();
  if (element instanceof SVGSVGElement) {
    const copy = element.cloneNode(true) as SVGSVGElement;
    inline(element, copy);
    put(copy, { x: box.left + dx, y: box.top + dy, width: box.width, height: box.height });
    into.append(copy);
    return;
  }
  if (!/^(transparent|rgba\(.*, 0\))$/.test(style.backgroundColor)) {
    into.append(shape('rect', { x: box.left + dx, y: box.top + dy, width: box.width, height: box.height, fill: style.backgroundColor }));
  }
  for (const node of element.childNodes) {
    if (node instanceof Element) collect(node, into, dx, dy);
    else if (node instanceof Text && node.data.trim()) lines(node, style, into, dx, dy);
  }
}

/** The lines of a text as the browser broke them. */
function lines(node: Text, style: CSSStyleDeclaration, into: Element, dx: number, dy: number): void {
  const range = document.createRange();
  let line: { text: string; box: DOMRect; right: number } | null = null;
  const end = (): void => {
    if (!line) return;
    const size = parseFloat(style.fontSize);
    const text = shape('text', {
      x: line.box.left + dx, y: line.box.top + dy + line.box.height / 2 + size * 0.35, fill: style.color, 'font-size': size,
      'font-family': style.fontFamily, 'font-weight': style.fontWeight, textLength: Math.max(1, line.right - line.box.left), lengthAdjust: 'spacingAndGlyphs',
    });
    text.textContent = harmless(line.text);
    into.append(text);
    line = null;
  };
  for (const word of node.data.matchAll(/\S+/g)) {
    range.setStart(node, word.index);
    range.setEnd(node, word.index + word[0].length);
    const box = range.getBoundingClientRect();
    if (box.width === 0) continue;
    if (line && Math.abs((line as { box: DOMRect }).box.top - box.top) > 2) end();
    line = line ? { ...(line as { text: string; box: DOMRect }), text: `${(line as { text: string }).text} ${word[0]}`, right: box.right } : { text: word[0], box, right: box.right };
  }
  end();
}

/** Copies what the style sheet says into attributes. */
function inline(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  for (const name of STYLES) to.setAttribute(name, style.getPropertyValue(name));
  to.removeAttribute('class');
  [...from.children].forEach((child, index) => inline(child, to.children[index]!));
}

function download(name: string, blob: Blob): void {
  const link = el('a', {});
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** A name that every file system takes. */
export function fileName(text: string, ending: string): string {
  const words = `${document.title.split(':')[0]} ${text}`.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '');
  return `${words.slice(0, 60) || 'picture'}.${ending}`;
}

export function saveSvg({ text }: Saved, name: string): void {
  download(fileName(name, 'svg'), new Blob([text], { type: 'image/svg+xml' }));
}

/** Draws an SVG and saves the pixels. */
async function savePng(address: string, width: number, height: number, scale: number, name: string): Promise<void> {
  const image = new Image(width, height);
  image.src = address;
  await image.decode();
  const canvas = el('canvas', {});
  [canvas.width, canvas.height] = [width * scale, height * scale];
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/png'));
  if (!blob) throw new Error('the browser makes no PNG');
  download(fileName(name, 'png'), blob);
}

/** Twice the pixels of the screen, so that it stays sharp in a document. */
export async function saveElement(element: Element, name: string): Promise<void> {
  const { text, width, height } = picture(element);
  await savePng(`data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`, width, height, 2, name);
}

/** Buttons that save an element as a picture. */
export function saveButtons(element: Element, name: string): HTMLElement {
  return el('p', { class: 'save' },
    el('button', { type: 'button', class: 'small', label: `save as SVG: ${name}`, on: { click: () => saveSvg(picture(element), name) } }, 'SVG'),
    el('button', { type: 'button', class: 'small', label: `save as PNG: ${name}`, on: { click: () => void saveElement(element, name) } }, 'PNG'));
}
