import {
  byIp,
  fixedWindow,
  fromVercel,
  memoryStore,
  rateLimit,
  redisStore,
  slidingWindow,
  type Store,
} from '@sluice/web';

const { REDIS_URL = '' } = process.env;

/** One store for all limits. In memory, each process of Next.js counts for itself. */
export const store: Store =
  REDIS_URL === '' ? memoryStore() : redisStore(REDIS_URL, { prefix: 'sluice:example-nextjs' });

/** Vercel sets the address in a header field. Elsewhere, name the field that your own proxy sets. */
const address = fromVercel;

/** Of all requests together, in the proxy. */
export const everything = rateLimit({
  name: 'everything',
  policy: slidingWindow({ limit: 20, window: '1m' }),
  address,
  store,
});

/** Of new orders alone, in their route handler. */
export const newOrders = rateLimit({
  name: 'orders',
  policy: fixedWindow({ limit: 2, window: '1m' }),
  key: byIp(),
  address,
  store,
});
