// The state of the page in its address: what a reader filtered, sorted, compared and opened, as a link.

/** The part of an address behind `#`: `at=closer&a=ext4%2Fnone&sort=-median`; a bare name is an anchor. */
export class Address {
  #values = Address.#read();
  #late: ReturnType<typeof setTimeout> | undefined;

  static #read(): URLSearchParams {
    const text = location.hash.slice(1);
    return new URLSearchParams(text.includes('=') || !text ? text : `at=${text}`);
  }

  get(name: string): string | null {
    return this.#values.get(name);
  }

  all(name: string): string[] {
    return this.#values.getAll(name);
  }

  /** Sets a value; what is as it was at first has none. */
  set(name: string, value: string | string[] | null): void {
    this.#values.delete(name);
    for (const one of typeof value === 'string' ? [value] : value ?? []) this.#values.append(name, one);
    // Browsers refuse more than some hundred changes in a few seconds.
    this.#late ??= setTimeout(() => this.write(), 100);
  }

  /** Writes what is not yet in the address. */
  write(): void {
    clearTimeout(this.#late);
    this.#late = undefined;
    // The same state has the same address.
    this.#values.sort();
    const text = this.#values.toString();
    history.replaceState(null, '', text ? `#${text}` : location.pathname + location.search);
  }

  /** Follows links inside the page, and says when the address was changed by hand. */
  listen(changed: () => void): void {
    document.addEventListener('click', (event) => {
      const link = (event.target as Element).closest<HTMLAnchorElement>('a[href^="#"]');
      if (!link) return;
      event.preventDefault();
      this.set('at', link.hash.slice(1));
      this.show();
    });
    document.addEventListener('toggle', (event) => {
      const fold = event.target as HTMLDetailsElement;
      if (fold.id) this.set('open', [...document.querySelectorAll<HTMLDetailsElement>('details[id][open]')].map((one) => one.id));
    }, true);
    addEventListener('hashchange', () => {
      this.#values = Address.#read();
      changed();
      this.show();
    });
  }

  /** Opens and scrolls to what the address names. */
  show(): void {
    for (const id of this.all('open')) document.getElementById(id)?.setAttribute('open', '');
    const place = document.getElementById(this.get('at') ?? '');
    if (!place) return;
    for (let one: Element | null = place; one; one = one.parentElement) if (one instanceof HTMLDetailsElement) one.open = true;
    place.scrollIntoView({ block: 'start' });
  }
}
