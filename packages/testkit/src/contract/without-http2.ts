import type { Impossible } from './adapter.ts';

/** The scenarios over HTTP/2, for the table of an adapter whose framework does not speak it. */
export function withoutHttp2(reason: string): Impossible {
  const blocks = ['memory', 'Redis'].flatMap((kind) =>
    ['a limit', 'a limit that paces'].map((what) => `over HTTP/2 and ${kind}, ${what}`),
  );
  return Object.fromEntries([...blocks, 'counts each stream of HTTP/2'].map((title) => [title, reason]));
}
