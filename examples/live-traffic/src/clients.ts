import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { articles, PASSWORD } from './api.ts';

/** The account that attackers want. */
export const TARGET = 'admin';

/** The clients of a kind, and what became of their requests. */
export interface ClientKind {
  readonly name: string;
  readonly does: string;
  readonly addresses: readonly string[];
  readonly behave: (visitor: Visitor) => Promise<void>;
  sent: number;
  answered: number;
  denied: number;
}

/** One client, with an address of its own, until its life ends. */
type Visitor = ReturnType<typeof createVisitor>;

function createVisitor(
  url: string,
  address: string,
  kind: Pick<ClientKind, 'sent' | 'answered' | 'denied'>,
  life: AbortSignal,
) {
  /** When the server has something left again, by its fields `RateLimit` and `Retry-After`. */
  let freeAtMs = 0;

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: life }).catch(() => undefined);
  }

  async function send(path: string, init: RequestInit = {}): Promise<void> {
    try {
      const response = await fetch(url + path, { ...init, headers: { 'X-Forwarded-For': address } });
      await response.arrayBuffer();
      kind[response.status === 429 ? 'denied' : 'answered']++;
      for (const [, left, seconds] of (response.headers.get('ratelimit') ?? '').matchAll(/;r=(\d+);t=(\d+)/g)) {
        if (left === '0') freeAtMs = Math.max(freeAtMs, performance.now() + Number(seconds) * 1000);
      }
    } catch {
      // The run has ended: the server is closed.
    }
    kind.sent++;
  }

  return {
    pause,
    isActive: (): boolean => !life.aborted,
    /** Waits for the least time, and as long as the server has said that nothing remains. */
    waitAsTold: (leastMs: number) => pause(Math.max(leastMs, freeAtMs - performance.now())),
    get: (path: string) => send(path),
    logIn: (user: string, password: string) =>
      send('/login', { method: 'POST', body: new URLSearchParams({ user, password }) }),
  };
}

/** Logs in, then reads and searches at the pace of a person. */
async function readAround(visitor: Visitor): Promise<void> {
  await visitor.logIn(`reader-${String(Math.random())}`, PASSWORD);
  while (visitor.isActive()) {
    await visitor.waitAsTold(150 + Math.random() * 200);
    await (Math.random() < 0.3 ? visitor.get('/search?q=lock') : visitor.get(anyArticle()));
  }
}

/** Reads as fast as it may: until `RateLimit` says that nothing remains. */
async function crawl(visitor: Visitor): Promise<void> {
  while (visitor.isActive()) {
    await visitor.get(anyArticle());
    await visitor.waitAsTold(10);
  }
}

/** Sends thirty searches at once, then pauses, like a badly written page. */
async function burst(visitor: Visitor): Promise<void> {
  while (visitor.isActive()) {
    await Promise.all(Array.from({ length: 30 }, () => visitor.get('/search?q=weir')));
    await visitor.pause(2500);
  }
}

/** Sends on and on, eighty requests at once, whatever it is told. */
async function hammer(visitor: Visitor): Promise<void> {
  const paths = ['/search?q=canal', '/articles/1', '/articles/2'];
  await repeat(visitor, 500, async () => {
    await Promise.all(Array.from({ length: 80 }, (_, i) => visitor.get(paths[i % paths.length] ?? '/')));
  });
}

/** Repeats a request until its life ends, at most once in this time. */
async function repeat(visitor: Visitor, pauseMs: number, send: (i: number) => Promise<void>): Promise<void> {
  for (let i = 1; visitor.isActive(); i++) {
    await send(i);
    await visitor.pause(pauseMs);
  }
}

function anyArticle(): string {
  return `/articles/${String(Math.floor(Math.random() * articles.length))}`;
}

// All addresses are from the ranges that are set aside for documentation (RFC 5737).
const KINDS: readonly Omit<ClientKind, 'sent' | 'answered' | 'denied'>[] = [
  { name: 'reader', does: 'browses, waits when told', addresses: addresses('192.0.2', 6), behave: readAround },
  { name: 'crawler', does: 'all it may, then waits', addresses: ['192.0.2.200'], behave: crawl },
  { name: 'bursty', does: '30 searches at once', addresses: addresses('198.51.100', 3), behave: burst },
  { name: 'hammer', does: 'asks on and on, reads nothing', addresses: ['203.0.113.1', '203.0.113.2'], behave: hammer },
  {
    name: 'scraper',
    does: '10 pages, on and on',
    addresses: ['203.0.113.3'],
    behave: (visitor) => repeat(visitor, 400, () => visitor.get('/export?pages=10')),
  },
  {
    name: 'sprayer',
    does: 'one password, all accounts',
    addresses: ['203.0.113.4'],
    behave: (visitor) => repeat(visitor, 120, (i) => visitor.logIn(`user-${String(i)}`, '123456')),
  },
  {
    name: 'botnet',
    does: 'one account, 8 addresses',
    addresses: addresses('203.0.113', 8, 101),
    behave: (visitor) => repeat(visitor, 1000, (i) => visitor.logIn(TARGET, `secret${String(i)}`)),
  },
];

function addresses(network: string, count: number, first = 1): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${network}.${String(first + i)}`);
}

/** Sends all clients to an API. `stop` lets each finish the request that it is in. */
export function startTraffic(url: string): { readonly kinds: readonly ClientKind[]; stop(): Promise<void> } {
  const life = new AbortController();
  setMaxListeners(0, life.signal); // every client waits on it
  const kinds = KINDS.map((kind) => ({ ...kind, sent: 0, answered: 0, denied: 0 }));
  const lives = kinds.flatMap((kind) =>
    kind.addresses.map((address) => kind.behave(createVisitor(url, address, kind, life.signal))),
  );
  return {
    kinds,
    async stop() {
      life.abort();
      await Promise.all(lives);
    },
  };
}
