import { burst, guess, hammer, scrape, spray } from './ill-behaved.ts';
import type { Visitor } from './visitor.ts';
import { crawl, readAround } from './well-behaved.ts';

/** Clients that do the same, from addresses of their own. */
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

function addresses(network: string, count: number, first = 1): readonly string[] {
  return Array.from({ length: count }, (_, i) => `${network}.${String(first + i)}`);
}
