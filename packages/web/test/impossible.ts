import type { Impossible } from '@sluice/testkit/contract';

const overrides = (when: 'before' | 'after', why: string): Impossible => ({
  [`a method override ${when} the limiter does not escape the limit of PUT (B2)`]: why,
  [`a method override ${when} the limiter does not escape the limit of POST (B2)`]: why,
  [`a method override ${when} the limiter gives no second budget for a path with both methods (B2)`]: why,
});
const NO_ADDRESS = 'Bun knows no address of a request that is made again';

/** What fetch handlers cannot do on a runtime: Node, Bun or Deno. */
export function impossibleOn(runtime: string): Impossible {
  return {
    'key, cost, policy, skip and onDecision are passed the response':
      'a handler returns its response, which is made later',
    'an answer that is cut off gives nothing back, also if it is pipelined (B16)':
      'a response has ended when its body has been read, and a server may read it before the client does',
    ...(runtime === 'Bun' ? { ...overrides('before', NO_ADDRESS), ...overrides('after', NO_ADDRESS) } : {}),
  };
}

/** What Hono cannot do. */
export function impossibleInHono(runtime: string): Impossible {
  const why = 'routes are matched before middleware runs, so that a changed method is a new request';
  return { ...impossibleOn(runtime), ...overrides('after', why) };
}
