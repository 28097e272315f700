// Clicks through every control of a page and fails on anything that a reader would call broken.
// usage: node click.mjs CHROMIUM PAGE [--most N]
import { mkdtemp, readFile, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Browser } from './browser.mjs';

const [program, page] = process.argv.slice(2);
const most = Number(process.argv[process.argv.indexOf('--most') + 1]) || Infinity;
const hostile = process.argv.includes('--hostile');
const problems = [];
const check = (right, what) => { if (!right) problems.push(what); };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const browser = await Browser.start(program);
const downloads = await mkdtemp(join(tmpdir(), 'seekwell-downloads-'));
try {
  await browser.keepDownloads(downloads);
  await browser.send('Emulation.setDeviceMetricsOverride', { width: 1280, height: 900, deviceScaleFactor: 1, mobile: false });
  const ready = await browser.open(page);
  await idle();
  await controls();
  const counts = await clickAll();
  await keyboard();
  if (!hostile) {
    await brush();
    await filters();
    await state();
    await pictures();
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

/** Waits until what was begun (unpacking, drawing) has ended; three looks take longer than the address waits. */
async function idle() {
  await browser.evaluate(`new Promise((resolve) => {
    let quiet = 0;
    let before = '';
    const look = () => {
      const now = document.body.innerText.length + ' ' + document.querySelectorAll('*').length;
      quiet = now === before && !document.body.innerText.includes('unpacking') ? quiet + 1 : 0;
      before = now;
      if (quiet >= 3) resolve(); else setTimeout(look, 50);
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
  await browser.evaluate(`document.querySelector('#stacks td[tabindex="0"]').focus()`);
  await browser.key('Enter', 13);
  check(await browser.evaluate("document.querySelector('dialog').open"), 'Enter on a number opens no dialog');
  const command = await browser.evaluate("document.querySelector('dialog textarea').value");
  check(/^(sqlite3 -readonly|seekwell report) /.test(command), `no command: ${command}`);
  await browser.key('Escape', 27);
  check(!(await browser.evaluate("document.querySelector('dialog').open")), 'Escape does not close the dialog');
  const cell = "(() => { const a = document.activeElement; return a.tagName + a.parentElement.rowIndex + ' ' + a.cellIndex; })()";
  await browser.evaluate("document.querySelector('#stacks td[tabindex=\"0\"]').focus()");
  const from = await browser.evaluate(cell);
  await browser.key('ArrowDown', 40);
  const to = await browser.evaluate(cell);
  check(from !== to && to.startsWith('TD'), `the arrow moves from ${from} to ${to}`);
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

/** At first view there are few controls, however many stacks. */
async function controls() {
  const count = await browser.evaluate("document.querySelectorAll('button, select, input, textarea, summary, a[href], [tabindex=\"0\"]').length");
  const stacks = await browser.evaluate("document.querySelectorAll('#stacks tbody tr').length");
  check(count < 300, `${count} controls for ${stacks} stacks`);
  const unscoped = await browser.evaluate("[...document.querySelectorAll('th:not([scope])')].slice(0, 3).map((one) => one.outerHTML.slice(0, 80))");
  check(unscoped.length === 0, `th without scope: ${unscoped}`);
}

/** The address has what was filtered, sorted, compared and opened, and gives it back. */
async function state() {
  await browser.evaluate("document.querySelector('.axis-filter .chip').click(); document.querySelectorAll('#stacks tbody tr:not([hidden]) .pin.b')[2].click()");
  await browser.evaluate("document.querySelector('#state details')?.querySelector('summary').click()");
  await idle();
  const seen = "({ hash: location.hash, rows: [...document.querySelectorAll('#stacks tbody tr:not([hidden]) th.label')].map((one) => one.textContent), pinned: [...document.querySelectorAll('tr:not([hidden]) .pin[aria-pressed=\"true\"]')].map((one) => one.ariaLabel), sort: document.getElementById('sort').value, open: [...document.querySelectorAll('details[id][open]')].map((one) => one.id) })";
  const before = await browser.evaluate(seen);
  check(/sort=stack/.test(before.hash) && /no-\w+=/.test(before.hash) && /b=/.test(before.hash), `the address is ${before.hash}`);
  await browser.send('Page.navigate', { url: 'about:blank' });
  await browser.open(page, before.hash);
  await idle();
  const after = await browser.evaluate(seen);
  check(JSON.stringify(after) === JSON.stringify(before), `the address gives back ${JSON.stringify(after)} for ${JSON.stringify(before)}`);
  await browser.evaluate("document.querySelector('.share a[href=\"#decision\"]').click()");
  await idle();
  const place = await browser.evaluate("document.getElementById('decision').getBoundingClientRect().top");
  check(place < 900 && (await browser.evaluate('location.hash')).includes('at=decision'), `the link leads to ${place}`);
  await browser.evaluate("location.hash = ''");
  await idle();
  check(await browser.evaluate("document.querySelectorAll('#stacks tbody tr[hidden]').length === 0"), 'an empty address still filters');
}

/** Every kind of picture is saved, as SVG that is well formed and as PNG of its size. */
async function pictures() {
  await browser.evaluate("document.getElementById('closer').scrollIntoView()");
  await idle();
  const wanted = ['#forest-svg', '#forest-png', '#evidence .save button:first-child', '.timelines .save button:last-child', '.timelines .save button:first-child'];
  for (const one of wanted) {
    // A picture that was saved before has the same name.
    for (const name of await readdir(downloads)) await rm(join(downloads, name));
    await browser.evaluate(`document.querySelector(${JSON.stringify(one)}).click()`);
    for (let turn = 0; turn < 100 && (await finished()).length === 0; turn += 1) await pause(50);
    const [name] = await finished();
    check(name !== undefined, `${one} saves nothing`);
    if (name === undefined) continue;
    const bytes = await readFile(join(downloads, name));
    if (name.endsWith('.png')) {
      const size = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
      check(bytes.subarray(1, 4).toString() === 'PNG' && size[0] > 500 && size[1] > 200, `${name} is ${size}`);
    } else {
      const found = await browser.evaluate(`(() => { const read = new DOMParser().parseFromString(${JSON.stringify(bytes.toString())}, 'image/svg+xml'); return { root: read.documentElement.nodeName, texts: read.querySelectorAll('text').length, classes: read.querySelectorAll('[class]').length }; })()`);
      check(found.root === 'svg' && found.texts > 5 && found.classes === 0, `${name}: ${JSON.stringify(found)}`);
    }
  }
}

/** Pictures that are written whole: before that their names are there with nothing in them. */
async function finished() {
  const names = await readdir(downloads);
  if (names.some((name) => name.endsWith('.crdownload'))) return [];
  const pictures = names.filter((name) => /\.(svg|png)$/.test(name));
  const sizes = await Promise.all(pictures.map(async (name) => (await stat(join(downloads, name))).size));
  return pictures.filter((_, at) => sizes[at] > 0);
}

/** Switching a value off hides its stacks, and sorting by name sorts. */
async function filters() {
  const rows = "[...document.querySelectorAll('#stacks tbody tr:not([hidden]) th.label')].map((cell) => cell.textContent)";
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

/** Narrow, dark, printed: nothing overflows and nothing fails. */
async function looks() {
  if (!hostile) await first();
  for (const [width, scheme] of [[1280, 'dark'], [700, 'light'], [400, 'light'], [1280, 'light']]) {
    await browser.send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: false });
    await browser.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    await idle();
    const wide = await browser.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
    check(wide <= 0, `${wide} pixels too wide at ${width}`);
    const out = await browser.evaluate(`[...document.querySelectorAll('main *')].filter((one) => { const box = one.getBoundingClientRect(); return box.width > 0 && box.right > innerWidth + 1 && !one.closest('.scroll, pre, .tall, svg, .chart, textarea'); }).slice(0, 3).map((one) => one.outerHTML.slice(0, 120))`);
    check(out.length === 0, `outside of the window at ${width}: ${out}`);
    if (hostile) continue;
    const side = await browser.evaluate("[...document.querySelectorAll('#answer .scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1).length");
    check(side === 0, `the first screen scrolls sideways at ${width}`);
  }
  await paper();
  const { data } = await browser.send('Page.printToPDF', { printBackground: true });
  check(data.length > 10000, 'printing gives nothing');
  const titles = await browser.evaluate("[...document.querySelectorAll('main h2')].map((one) => one.textContent)");
  check(titles.includes('Every trial') && titles.includes('The raw data'), `the structure is ${titles}`);
}

/** On a narrow screen the forest is there without scrolling; on a wide one the page is not wider than can be read. */
async function first() {
  await browser.send('Emulation.setDeviceMetricsOverride', { width: 400, height: 900, deviceScaleFactor: 1, mobile: false });
  await idle();
  const ends = await browser.evaluate("(() => { document.getElementById('all-stacks')?.removeAttribute('open'); scrollTo(0, 0); const box = document.querySelector('table.forest').getBoundingClientRect(); return [box.top, box.bottom]; })()");
  check(ends[0] < 450 && ends[1] <= 900, `at 400 pixels the forest is from ${ends}`);
  const broken = await browser.evaluate("[...document.querySelectorAll('table.forest th[scope=\"row\"] > *')].filter((one) => one.getBoundingClientRect().height > 24).length");
  check(broken === 0, `${broken} words of the axes are broken`);
  await browser.send('Emulation.setDeviceMetricsOverride', { width: 1400, height: 900, deviceScaleFactor: 1, mobile: false });
  await idle();
  const wide = await browser.evaluate("document.querySelector('main').getBoundingClientRect().width");
  check(wide <= 1296, `the page is ${wide} wide`);
}

/** Paper is light also where the screen is dark, pictures included. */
async function paper() {
  const dark = { features: [{ name: 'prefers-color-scheme', value: 'dark' }] };
  const look = () => browser.evaluate(`(() => {
    const style = getComputedStyle(document.documentElement);
    const marks = [...document.querySelectorAll('.timelines path.line')].filter((one) => getComputedStyle(one).stroke === 'rgb(125, 181, 245)').length;
    return { page: style.getPropertyValue('--page').trim(), marks };
  })()`);
  await browser.send('Emulation.setEmulatedMedia', { media: '', ...dark });
  await idle();
  const screen = await look();
  await browser.send('Emulation.setEmulatedMedia', { media: 'print', ...dark });
  await idle();
  const print = await look();
  const pictures = await browser.evaluate("document.querySelectorAll('.timelines path.line').length");
  check(screen.page !== '#fff' && screen.page !== '#ffffff', `a dark screen is ${screen.page}`);
  check(pictures === 0 || screen.marks > 0, 'no line of the dark palette on a dark screen');
  check(['#fff', '#ffffff'].includes(print.page) && print.marks === 0, `paper is ${print.page} with ${print.marks} lines of the dark palette`);
  await browser.send('Emulation.setEmulatedMedia', { media: '', features: [] });
}
