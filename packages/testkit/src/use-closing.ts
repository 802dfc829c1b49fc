import { afterEach } from '@jest/globals';

type Closable = (() => unknown) | { close(): unknown };

/** Closes after each test what it has opened, the last first. Returns what takes a function, or an object with close(). */
export function useClosing(): <Opened extends Closable>(opened: Opened) => Opened {
  const all: Closable[] = [];
  afterEach(async () => {
    for (const one of all.splice(0).reverse()) await (typeof one === 'function' ? one() : one.close());
  });
  return (opened) => {
    all.push(opened);
    return opened;
  };
}
