import type { Impossible } from '@sluice/testkit/contract';

/** What no fetch handler can do. */
export const ofFetchHandlers: Impossible = {
  'key, cost, policy, skip and onDecision are passed the response':
    'a handler returns its response, which is made later',
  'an answer that is cut off gives nothing back, also if it is pipelined (B16)':
    'a response has ended when its body has been read, and a server may read it before the client does',
};

const NO_OVERRIDE = 'routes are matched before middleware runs, so that a changed method is a new request';

/** What Hono cannot do either. */
export const ofHono: Impossible = {
  ...ofFetchHandlers,
  'a method override after the limiter does not escape the limit of PUT (B2)': NO_OVERRIDE,
  'a method override after the limiter does not escape the limit of POST (B2)': NO_OVERRIDE,
  'a method override after the limiter gives no second budget for a path with both methods (B2)': NO_OVERRIDE,
};
