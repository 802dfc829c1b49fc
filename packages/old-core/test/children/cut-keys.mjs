// Prints by how many megabytes keys that are cut from long texts make the heap grow, per part of the built package
// that keeps keys.
import { createLimiter, fixedWindow, memoryStore, slidingWindow } from '@sluice/old-core';
import { DenialCache, Invalidations } from '@sluice/old-core/spi';

const heapMegabytes = () => {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed / 1e6;
};

/** A key as an application cuts it from a URL of 100 kB: for V8 it is a view of that URL. */
const keyOf = (i) => `/path/of/the/client-${String(i)}?${'x'.repeat(100_000)}`.split('?')[0];

const store = memoryStore();
const packed = createLimiter({ name: 'packed', policy: fixedWindow({ limit: 2, window: '1d' }), store });
const unpacked = createLimiter({
  name: 'unpacked',
  policy: [fixedWindow({ name: 'a', limit: 2, window: '1d' }), slidingWindow({ name: 'b', limit: 2, window: '1d' })],
  store,
});
const blocked = createLimiter({ name: 'blocked', policy: fixedWindow({ limit: 2, window: '1d' }), store });
const denials = new DenialCache(10_000, new Invalidations());
const denied = { limit: { policies: [], keySuffix: ':denied:2f', denialAgeMs: 3_600_000 }, cost: 1 };
const nowMs = performance.now();
const sent = { sentMs: nowMs, sentDateMs: Date.now(), receivedMs: nowMs };

const places = {
  'a state of two numbers': async (key) => packed.consume(key),
  'an entry': async (key) => unpacked.consume(key),
  'a block': async (key) => blocked.block(key, '1d'),
  'a denial': (key) => denials.remember({ ...denied, subject: key }, { blockedUntilMs: Infinity, states: [] }, 0, sent),
};

const grown = {};
for (const [what, keep] of Object.entries(places)) {
  const before = heapMegabytes();
  for (let i = 0; i < 1_000; i++) await keep(keyOf(i));
  grown[what] = Math.round(heapMegabytes() - before);
}
process.stdout.write(JSON.stringify({ grown, kept: store.size + denials.size }));
