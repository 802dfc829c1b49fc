import type { Impossible } from '@sluice/testkit/contract';

/** What fetch handlers cannot do on a runtime: Node, Bun or Deno. */
export function impossibleOn(runtime: string): Impossible {
  return {
    'key, cost, policy, skip and onDecision are passed the response':
      'a handler returns its response, which is made later',
    'an answer that is cut off gives nothing back':
      'a response has ended when its body has been read, and a server may read it before the client does',
    ...(runtime === 'Bun' && { 'a method override': 'Bun knows no address of a request that is made again' }),
  };
}

/** What Hono cannot do. */
export function impossibleInHono(runtime: string): Impossible {
  const why = 'routes are matched before middleware runs, so that a changed method is a new request';
  return { ...impossibleOn(runtime), 'a method override after': why };
}
