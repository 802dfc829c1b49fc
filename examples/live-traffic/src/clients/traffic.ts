import { setMaxListeners } from 'node:events';
import type { ClientStatistics } from '../statistics/counts.ts';
import { burst, crawl, guess, hammer, readAround, scrape, spray } from './behaviours.ts';
import { HttpClient, Visitor, type Answer } from './visitor.ts';

/** Clients of one behaviour, each with its own addresses. */
export interface ClientKind {
  readonly name: string;
  readonly does: string;
  readonly addresses: readonly string[];
  readonly behave: (visitor: Visitor) => Promise<void>;
}

// All addresses are from the ranges that are set aside for documentation (RFC 5737).
export const clientKinds: readonly ClientKind[] = [
  { name: 'reader', does: 'browses, waits when told', addresses: addresses('192.0.2', 6), behave: readAround },
  { name: 'crawler', does: 'all it may, then waits', addresses: ['192.0.2.200'], behave: crawl },
  { name: 'bursty', does: '30 searches at once', addresses: addresses('198.51.100', 3), behave: burst },
  { name: 'hammer', does: 'asks on and on, reads nothing', addresses: ['203.0.113.1', '203.0.113.2'], behave: hammer },
  { name: 'scraper', does: '10 pages, on and on', addresses: ['203.0.113.3'], behave: scrape },
  { name: 'sprayer', does: 'one password, all accounts', addresses: ['203.0.113.4'], behave: spray },
  { name: 'botnet', does: 'one account, 8 addresses', addresses: addresses('203.0.113', 8, 101), behave: guess },
];

export interface Traffic {
  /** Lets every client finish the request it is in. */
  stop(): Promise<void>;
}

/** Sends all clients to the API: some 250 requests a second together. */
export function startTraffic(baseUrl: string, statistics: ClientStatistics): Traffic {
  const http = new HttpClient(baseUrl);
  const life = new AbortController();
  setMaxListeners(0, life.signal); // every client waits on it
  const lives = clientKinds.flatMap(({ name, addresses, behave }) => {
    const record = (answer: Answer | undefined): void => {
      statistics.record(name, answer);
    };
    return addresses.map((address) => behave(new Visitor(address, http, record, life.signal)));
  });
  return {
    stop: async () => {
      life.abort();
      await Promise.all(lives);
      http.close();
    },
  };
}

function addresses(network: string, count: number, first = 1): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${network}.${String(first + i)}`);
}
