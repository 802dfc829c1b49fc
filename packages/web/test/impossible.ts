import type { Impossible } from '@sluice/testkit/contract';

/** What no fetch handler can do. */
export const ofFetchHandlers: Impossible = {
  'gives the response to key, cost, policy, skip and onDecision': 'a handler returns its response, which is made later',
  'refunds nothing for a pipelined response that is cut off': 'a response has ended when its body has been read',
};

/** What Hono cannot do besides. */
export const ofHono: Impossible = {
  'a method override after the limiter':
    'routes are matched before middleware runs, so that a changed method is a new request',
};
