// A headless Chromium, spoken to over a pipe: no port, no package.
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class Browser {
  #child;
  #next = 0;
  #waiting = new Map();
  #folder;
  #session;
  /** What the page did: requests, console, violations, dialogs. */
  requests = [];
  complaints = [];

  static async start(program) {
    const browser = new Browser();
    browser.#folder = await mkdtemp(join(tmpdir(), 'seekwell-browser-'));
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-breakpad',
      '--disable-crash-reporter', '--hide-scrollbars', '--remote-debugging-pipe', `--user-data-dir=${browser.#folder}`, 'about:blank'];
    browser.#child = spawn(program, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: browser.#folder } });
    browser.#listen();
    const { targetInfos } = await browser.#call('Target.getTargets');
    const page = targetInfos.find((target) => target.type === 'page');
    ({ sessionId: browser.#session } = await browser.#call('Target.attachToTarget', { targetId: page.targetId, flatten: true }));
    for (const domain of ['Page', 'Runtime', 'Log', 'Network', 'DOM']) await browser.send(`${domain}.enable`);
    await browser.send('Page.addScriptToEvaluateOnNewDocument', { source: `
      window.violations = [];
      document.addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample));
      for (const name of ['alert', 'confirm', 'prompt']) window[name] = () => violations.push('hostile text ran: ' + name);
    ` });
    return browser;
  }

  #listen() {
    let rest = Buffer.alloc(0);
    this.#child.stdio[4].on('data', (data) => {
      rest = Buffer.concat([rest, data]);
      for (let end = rest.indexOf(0); end >= 0; end = rest.indexOf(0)) {
        this.#got(JSON.parse(rest.subarray(0, end).toString()));
        rest = rest.subarray(end + 1);
      }
    });
    this.#child.on('exit', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the browser ended'));
    });
  }

  #got(message) {
    if (message.id) {
      const { resolve, reject, method } = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.error) reject(new Error(`${method}: ${message.error.message}`));
      else resolve(message.result);
      return;
    }
    const { method, params } = message;
    if (method === 'Network.requestWillBeSent' && !/^(blob|data):/.test(params.request.url)) this.requests.push(params.request.url);
    if (method === 'Runtime.exceptionThrown') this.complaints.push(`exception: ${params.exceptionDetails.exception?.description ?? params.exceptionDetails.text}`);
    if (method === 'Runtime.consoleAPICalled' && ['error', 'warning', 'assert'].includes(params.type)) {
      this.complaints.push(`console ${params.type}: ${params.args.map((one) => one.value ?? one.description).join(' ')}`);
    }
    if (method === 'Log.entryAdded' && ['error', 'warning'].includes(params.entry.level)) this.complaints.push(`log: ${params.entry.text}`);
    if (method === 'Page.javascriptDialogOpening') {
      this.complaints.push(`dialog: ${params.message}`);
      void this.send('Page.handleJavaScriptDialog', { accept: true });
    }
  }

  #call(method, params = {}, sessionId = undefined) {
    const id = ++this.#next;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject, method });
      this.#child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  /** Puts what the page saves into this folder. */
  keepDownloads(downloadPath) {
    return this.#call('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath });
  }

  send(method, params = {}) {
    return this.#call(method, params, this.#session);
  }

  /** Opens a file and waits until its program says that it is ready; returns after how many ms. */
  async open(path, hash = '') {
    await this.send('Page.navigate', { url: `file://${path.split('/').map(encodeURIComponent).join('/')}${hash}` });
    const ready = `new Promise((resolve, reject) => {
      const begun = Date.now();
      const look = () => document.documentElement?.dataset.ready !== undefined ? resolve(Number(document.documentElement.dataset.ready))
        : Date.now() - begun > 60000 ? reject(new Error('the page does not get ready')) : setTimeout(look, 20);
      look();
    })`;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.evaluate(ready);
      } catch (error) {
        // The document from before may still have been there.
        if (attempt >= 5 || !/context|navigat/i.test(String(error))) throw error;
      }
    }
  }

  async evaluate(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true, userGesture: true });
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  async key(key, code, modifiers = 0) {
    for (const type of ['keyDown', 'keyUp']) {
      await this.send('Input.dispatchKeyEvent', { type, key, code: key, windowsVirtualKeyCode: code, modifiers, ...(key === 'Enter' && type === 'keyDown' ? { text: '\r' } : {}) });
    }
  }

  async mouse(type, x, y) {
    await this.send('Input.dispatchMouseEvent', { type, x, y, button: type === 'mouseMoved' ? 'none' : 'left', buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1 });
  }

  async drag(from, to, y) {
    await this.mouse('mouseMoved', from, y);
    await this.mouse('mousePressed', from, y);
    for (let step = 1; step <= 8; step += 1) {
      await this.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: from + ((to - from) * step) / 8, y, button: 'left', buttons: 1 });
    }
    await this.mouse('mouseReleased', to, y);
  }

  async stop() {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#call('Browser.close').catch(() => {});
    const late = setTimeout(() => this.#child.kill('SIGKILL'), 10000);
    await ended;
    clearTimeout(late);
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10 });
  }
}
