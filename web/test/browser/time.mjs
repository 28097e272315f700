// How long a page takes: until it can be worked with, and until the first trial shows.
// usage: node time.mjs CHROMIUM PAGE     prints READY_MS,FIRST_TRIAL_MS (medians of 5)
import { Browser } from './browser.mjs';

const [program, page] = process.argv.slice(2);
const browser = await Browser.start(program);
const found = [];
try {
  for (let turn = 0; turn < 5; turn += 1) {
    const ready = await browser.open(page);
    const first = await browser.evaluate(`new Promise((resolve) => {
      const begun = performance.now();
      document.querySelector('.pin.a').click();
      const look = () => document.querySelector('.timelines, #details table, #details details') ? resolve(performance.now() - begun) : setTimeout(look, 5);
      look();
    })`);
    found.push([ready, Math.round(first)]);
  }
} finally {
  await browser.stop();
}
const median = (index) => found.map((one) => one[index]).sort((a, b) => a - b)[2];
console.log(`${median(0)},${median(1)}`);
