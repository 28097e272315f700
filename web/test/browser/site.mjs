// Opens pages of the atlas in sizes and colours of readers, and filters the matrix.
// usage: node site.mjs CHROMIUM FOLDER PAGE…
import { Browser } from './browser.mjs';

const [program, folder, ...pages] = process.argv.slice(2);
const problems = [];
const check = (right, what) => { if (!right) problems.push(what); };
const browser = await Browser.start(program);

/** Opens a page of the folder and waits until it is loaded. */
async function open(page, hash = '') {
  const url = `file://${folder}/${page}${hash}`;
  await browser.send('Page.navigate', { url: 'about:blank' });
  await browser.send('Page.navigate', { url });
  const loaded = `new Promise((resolve) => {
    const look = () => document.readyState === 'complete' && location.href !== 'about:blank' ? resolve() : setTimeout(look, 10);
    look();
  })`;
  for (let attempt = 0; ; attempt += 1) {
    try {
      await browser.evaluate(loaded);
      return;
    } catch (error) {
      // The document from before may still have been there.
      if (attempt >= 5 || !/context|navigat/i.test(String(error))) throw error;
    }
  }
}

/** The contrast of text with what is behind it, as WCAG computes it; the lowest of the page. */
const contrast = `(() => {
  // Mixed colours come as color(srgb 0.9 0.8 0.7).
  const rgb = (text) => {
    const [r, g, b, alpha] = text.match(/[\\d.]+/g).map(Number);
    const scale = text.startsWith('color(') ? 255 : 1;
    return alpha === undefined ? [r * scale, g * scale, b * scale] : [r * scale, g * scale, b * scale, alpha];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = rgb(getComputedStyle(one).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
  };
  let worst = [99, ''];
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || element.checkVisibility?.() === false) continue;
    const [a, b] = [rgb(getComputedStyle(element).color), behind(element)].map(light).sort((x, y) => y - x);
    const found = (a + 0.05) / (b + 0.05);
    if (found < worst[0]) worst = [found, element.outerHTML.slice(0, 80)];
  }
  return worst;
})()`;

/** What a page looks like in every size and colour. */
async function looks(page) {
  for (const scheme of ['light', 'dark']) {
    await browser.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }] });
    await open(page);
    const [ratio, of] = await browser.evaluate(contrast);
    check(ratio >= 4.5, `${page} ${scheme}: contrast ${ratio.toFixed(2)} of ${of}`);
    for (const width of [360, 768, 1400, 2560]) {
      await browser.send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: width < 500 });
      const wide = await browser.evaluate('document.scrollingElement.scrollWidth');
      check(wide <= width, `${page} ${scheme}: ${wide} wide at ${width}`);
    }
  }
  const unnamed = await browser.evaluate(`[...document.querySelectorAll('a, button, input, th')].filter((one) =>
    !(one.textContent.trim() || one.labels?.[0]?.textContent.trim() || one.ariaLabel)).map((one) => one.outerHTML)`);
  check(unnamed.length === 0, `${page}: without a name: ${unnamed.slice(0, 3)}`);
  check(await browser.evaluate("document.documentElement.lang !== '' && document.title !== '' && document.querySelectorAll('h1').length === 1"), `${page}: language, title or heading`);
}

/** The filter keeps its words in the address and finds cells by load, device and pick. */
async function filter() {
  await open('index.html');
  const shown = "document.querySelectorAll('td[data-text]:not(.off)').length";
  const all = await browser.evaluate(shown);
  const took = await browser.evaluate(`(() => {
    const begun = performance.now();
    const field = document.forms[0].q;
    field.value = 'database nvme';
    field.dispatchEvent(new Event('input', { bubbles: true }));
    document.body.offsetHeight;
    return performance.now() - begun;
  })()`);
  const few = await browser.evaluate(shown);
  check(few > 0 && few < all, `the filter shows ${few} of ${all}`);
  const hash = await browser.evaluate('location.hash');
  check(decodeURIComponent(hash) === '#q=database nvme', `address ${hash}`);
  await open('index.html', hash);
  check(await browser.evaluate(shown) === few, 'an address shows other cells');
  // The first link that the Tab key reaches after the field opens a cell.
  await browser.evaluate('document.forms[0].q.focus()');
  await browser.key('Tab', 9);
  const reached = await browser.evaluate("document.activeElement.closest('td[data-text]:not(.off)') !== null || document.activeElement.className");
  check(reached === true, `Tab reaches ${reached}`);
  return took;
}

let filter_ms;
try {
  for (const page of pages) await looks(page);
  filter_ms = await filter();
  problems.push(...browser.complaints, ...browser.requests.filter((url) => !url.startsWith('file:') && url !== 'about:blank').map((url) => `request: ${url}`));
} catch (error) {
  problems.push(String(error.stack ?? error));
} finally {
  await browser.stop();
}
console.log(JSON.stringify({ filter_ms, problems }, null, 1));
process.exitCode = problems.length > 0 ? 1 : 0;
