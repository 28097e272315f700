// Clicks through every control of a page and fails on anything that a reader would call broken.
// usage: node click.mjs CHROMIUM PAGE RUN-FILE OTHER-PAGE [--most N]
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Browser } from './browser.mjs';

const [program, page, runFile, other] = process.argv.slice(2);
const most = Number(process.argv[process.argv.indexOf('--most') + 1]) || Infinity;
const hostile = process.argv.includes('--hostile');
const problems = [];
const check = (right, what) => { if (!right) problems.push(what); };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const browser = await Browser.start(program);
try {
  await browser.send('Emulation.setDeviceMetricsOverride', { width: 1280, height: 900, deviceScaleFactor: 1, mobile: false });
  const ready = await browser.open(page);
  await idle();
  const counts = await clickAll();
  await keyboard();
  if (!hostile) {
    await brush();
    await filters();
    await compare();
  }
  await looks();
  const violations = await browser.evaluate('violations');
  problems.push(...browser.complaints, ...violations);
  const requests = browser.requests.filter((url) => !url.startsWith('file:') || !url.includes(encodeURIComponent(page.split('/').at(-1))));
  problems.push(...requests.map((url) => `request: ${url}`));
  console.log(JSON.stringify({ ready_ms: ready, clicked: counts, problems }, null, 1));
} catch (error) {
  console.log(JSON.stringify({ problems: [...problems, ...browser.complaints, String(error.stack ?? error)] }, null, 1));
  problems.push('stopped');
} finally {
  await browser.stop();
}
process.exitCode = problems.length > 0 ? 1 : 0;

/** Waits until what was begun (unpacking, drawing) has ended. */
async function idle() {
  await browser.evaluate(`new Promise((resolve) => {
    let quiet = 0;
    let before = '';
    const look = () => {
      const now = document.body.innerText.length + ' ' + document.querySelectorAll('*').length;
      quiet = now === before && !document.body.innerText.includes('unpacking') ? quiet + 1 : 0;
      before = now;
      if (quiet >= 3) resolve(); else setTimeout(look, 30);
    };
    look();
  })`);
}

/** Every button, choice, slider, field and fold, also those that a click made. */
async function clickAll() {
  await browser.evaluate("document.getElementById('closer').scrollIntoView()");
  await idle();
  const kinds = await browser.evaluate(`(async () => {
    const most = ${most};
    const done = new Map();
    const counts = {};
    const pause = () => new Promise((resolve) => setTimeout(resolve, 15));
    const path = (element) => element.closest('[id]')?.id + ' ' + element.tagName + '.' + element.className + ' ' + (element.ariaLabel ?? '') + '|' + (element.textContent.slice(0, 60)) + '|' + (element.closest('tr')?.rowIndex ?? '') + ',' + (element.closest('td')?.cellIndex ?? '') + ',' + (element.closest('.side')?.className ?? '') + ',' + (element.closest('.axis-filter')?.textContent ?? '');
    const group = (element) => element.closest('[id]')?.id + ' ' + element.tagName + '.' + element.className;
    const act = async (element) => {
      if (element.id === 'other-run') return;
      if (element.tagName === 'SELECT') {
        const values = [...element.options].map((one) => one.value);
        const chosen = element.value;
        // A choice may draw its part of the page anew, itself included.
        const name = (one) => one.closest('label').querySelector('span').textContent + '|' + (one.closest('.side')?.className ?? '');
        const named = name(element);
        for (const value of [...new Set([values[0], values[1], values.at(-1), chosen])]) {
          const now = element.isConnected ? element : [...document.querySelectorAll('select')].find((one) => name(one) === named);
          if (!now || value === undefined) break;
          now.value = value;
          now.dispatchEvent(new Event('change', { bubbles: true }));
          await pause();
        }
      } else if (element.type === 'range') {
        for (const value of [30, 60, element.id === 'zoom-from' ? 0 : 100]) {
          element.value = value;
          element.dispatchEvent(new Event('input', { bubbles: true }));
          await pause();
        }
      } else if (element.tagName === 'INPUT') {
        for (const text of ['ext', 'no such stack', '']) {
          element.value = text;
          element.dispatchEvent(new Event('input', { bubbles: true }));
          await pause();
        }
      } else element.click();
    };
    for (let turn = 0; turn < 12; turn += 1) {
      const all = [...document.querySelectorAll('button, select, input, summary')].filter((element) => !element.closest('dialog'));
      const fresh = all.filter((element) => !done.has(path(element)));
      if (fresh.length === 0) break;
      for (const element of fresh) {
        const key = path(element);
        if (done.has(key) || !element.isConnected) continue;
        done.set(key, true);
        const kind = group(element);
        counts[kind] = (counts[kind] ?? 0) + 1;
        if (counts[kind] > most) continue;
        await act(element);
        const dialog = document.querySelector('dialog[open]');
        if (dialog) {
          dialog.querySelector('#copy').click();
          await pause();
          dialog.querySelector('#close-command').click();
          if (dialog.open) violations.push('the dialog does not close');
        }
        if (counts[kind] % 20 === 0) await pause();
      }
      await new Promise((resolve) => setTimeout(resolve, 150));
    }
    return counts;
  })()`);
  await idle();
  const total = Object.values(kinds).reduce((sum, count) => sum + count, 0);
  check(total > 30, `only ${total} controls were found`);
  return kinds;
}

/** Tab reaches controls one after the other, and Enter works them. */
async function keyboard() {
  await browser.evaluate("document.activeElement?.blur(); document.querySelector('#search')?.focus()");
  const seen = new Set();
  for (let step = 0; step < 12; step += 1) {
    await browser.key('Tab', 9);
    seen.add(await browser.evaluate("(() => { const a = document.activeElement; return a.tagName + ' ' + a.className + ' ' + a.textContent.slice(0, 40) + ' ' + [...document.querySelectorAll('*')].indexOf(a); })()"));
  }
  check(seen.size >= 11, `Tab reaches only ${seen.size} of 12 places`);
  await browser.evaluate("document.querySelector('#stacks tbody tr:not([hidden]) button.plain').focus()");
  await browser.key('Enter', 13);
  check(await browser.evaluate("document.querySelector('dialog').open"), 'Enter on a number opens no dialog');
  const command = await browser.evaluate("document.querySelector('dialog textarea').value");
  check(/^(sqlite3 -readonly|seekwell report) /.test(command), `no command: ${command}`);
  await browser.key('Escape', 27);
  check(!(await browser.evaluate("document.querySelector('dialog').open")), 'Escape does not close the dialog');
}

/** Dragging over one chart zooms all of them, on both sides. */
async function brush() {
  await browser.evaluate("document.querySelectorAll('.pin.a')[0].click(); document.querySelectorAll('.pin.b')[1].click()");
  await idle();
  await browser.evaluate("document.getElementById('zoom-all').click(); document.querySelector('.timelines').scrollIntoView({ block: 'center' })");
  await idle();
  const box = await browser.evaluate("(() => { const { x, y, width } = document.querySelector('.timelines').getBoundingClientRect(); return { x, y, width }; })()");
  await browser.drag(box.x + box.width * 0.3, box.x + box.width * 0.6, box.y + 60);
  await pause(100);
  const zooms = await browser.evaluate("[...document.querySelectorAll('.timelines')].map((one) => one.dataset.zoom)");
  const from = Number(await browser.evaluate("document.getElementById('zoom-from').value"));
  check(zooms.length === 2 && zooms[0] === zooms[1], `the charts show different times: ${zooms}`);
  check(from > 10 && from < 50, `dragging zoomed to ${from}`);
  await browser.mouse('mouseMoved', box.x + box.width / 2, box.y + 60);
  await browser.evaluate("document.getElementById('zoom-all').click()");
  check(await browser.evaluate("[...document.querySelectorAll('.timelines')].every((one) => one.dataset.zoom === '0 100')"), 'whole time does not show it');
}

/** Switching a value off hides its stacks, and sorting by name sorts. */
async function filters() {
  const rows = "[...document.querySelectorAll('#stacks tbody tr:not([hidden]) td.label')].map((cell) => cell.textContent)";
  const before = await browser.evaluate(rows);
  const chip = "document.querySelector('.axis-filter .chip')";
  const value = await browser.evaluate(`${chip}.textContent`);
  await browser.evaluate(`${chip}.click()`);
  const after = await browser.evaluate(rows);
  check(after.length < before.length && after.every((label) => !label.split('/').includes(value)), `the filter for ${value} leaves ${after}`);
  await browser.evaluate("document.querySelector('.axis-filter .all').click()");
  await browser.evaluate("(() => { const s = document.getElementById('sort'); s.value = 'stack'; s.dispatchEvent(new Event('change')); })()");
  const sorted = await browser.evaluate(rows);
  check(sorted.length === before.length && sorted.every((label, index) => index === 0 || sorted[index - 1].localeCompare(label, 'en', { numeric: true }) <= 0), `not sorted: ${sorted}`);
}

/** Another run, and a file that is none. */
async function compare() {
  for (const [path, expected] of [[other, 'there / here'], [runFile, 'cannot be compared']]) {
    const { root } = await browser.send('DOM.getDocument');
    const { nodeId } = await browser.send('DOM.querySelector', { nodeId: root.nodeId, selector: '#other-run' });
    await browser.send('DOM.setFileInputFiles', { nodeId, files: [path] });
    await pause(50);
    await idle();
    const text = await browser.evaluate("document.getElementById('compared').innerText");
    check(text.includes(expected), `comparing with ${path} says ${text.slice(0, 200)}`);
  }
}

/** Narrow, dark, printed: nothing overflows and nothing fails. */
async function looks() {
  for (const [width, scheme] of [[1280, 'dark'], [700, 'light'], [400, 'light'], [1280, 'light']]) {
    await browser.send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: false });
    await browser.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    await idle();
    const wide = await browser.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    check(wide <= 0, `${wide} pixels too wide at ${width}`);
    const out = await browser.evaluate(`[...document.querySelectorAll('main *')].filter((one) => { const box = one.getBoundingClientRect(); return box.width > 0 && box.right > innerWidth + 1 && !one.closest('.scroll, pre, .tall, svg, .chart, textarea'); }).slice(0, 3).map((one) => one.outerHTML.slice(0, 120))`);
    check(out.length === 0, `outside of the window at ${width}: ${out}`);
  }
  await paper();
  const { data } = await browser.send('Page.printToPDF', { printBackground: true });
  check(data.length > 10000, 'printing gives nothing');
  const titles = await browser.evaluate("[...document.querySelectorAll('main h2')].map((one) => one.textContent)");
  check(titles.includes('The evidence: every trial') && titles.includes('The raw data'), `the structure is ${titles}`);
}

/** Paper is light also where the screen is dark, pictures included. */
async function paper() {
  const dark = { features: [{ name: 'prefers-color-scheme', value: 'dark' }] };
  const look = () => browser.evaluate(`(() => {
    const style = getComputedStyle(document.documentElement);
    let marks = 0;
    for (const canvas of document.querySelectorAll('.timelines canvas')) {
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
      for (let at = 0; at < data.length; at += 4) {
        if (data[at] === 0x7d && data[at + 1] === 0xb5 && data[at + 2] === 0xf5) marks += 1;
      }
    }
    return { page: style.getPropertyValue('--page').trim(), marks };
  })()`);
  await browser.send('Emulation.setEmulatedMedia', { media: '', ...dark });
  await idle();
  const screen = await look();
  await browser.send('Emulation.setEmulatedMedia', { media: 'print', ...dark });
  await idle();
  const print = await look();
  const pictures = await browser.evaluate("document.querySelectorAll('.timelines canvas').length");
  check(screen.page !== '#fff' && screen.page !== '#ffffff', `a dark screen is ${screen.page}`);
  check(pictures === 0 || screen.marks > 0, 'no line of the dark palette on a dark screen');
  check(['#fff', '#ffffff'].includes(print.page) && print.marks === 0, `paper is ${print.page} with ${print.marks} points of the dark palette`);
  await browser.send('Emulation.setEmulatedMedia', { media: '', features: [] });
}
