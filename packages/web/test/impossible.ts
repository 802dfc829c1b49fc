import type { Impossible } from '@sluice/testkit/target';

/** What no fetch handler can do. */
export const ofFetchHandlers: Impossible = {
  'gives the response to key, cost, policy, skip and onDecision': 'a handler returns its response, which is made later',
  'refunds nothing for a pipelined response that is cut off': 'a response has ended when its body has been read',
};

const PIPELINING = 'its server does not answer, or end, requests that are pipelined behind others';

/** What the server of Bun cannot do. */
export const ofBun: Impossible = {
  'allows exactly 5 of 8 requests that are pipelined on one connection': PIPELINING,
  'notices the end of a connection with several pipelined requests': PIPELINING,
  'a method override before the limiter': 'the server knows the address only of the request that it has made itself',
  'a method override after the limiter': 'the server knows the address only of the request that it has made itself',
};

/** What the server of Deno cannot do. */
export const ofDeno: Impossible = {
  'notices the end of a connection with several pipelined requests': PIPELINING,
};

/** What Hono cannot do besides. */
export const ofHono: Impossible = {
  'preflights of an application-wide limit by route': 'its router is asked for the routes of the method OPTIONS alone',
  'a method override after the limiter':
    'routes are matched before middleware runs, so that a changed method is a new request',
};
