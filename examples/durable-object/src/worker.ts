import { durableObjectStore, type ObjectNamespace } from '@sluice/core/durable-object';
import { fromCloudflare, rateLimit, slidingWindow, tokenBucket } from '@sluice/web';

export { SluiceObject } from '@sluice/core/durable-object';

interface Env {
  /** The binding of wrangler.toml. */
  readonly LIMITS: ObjectNamespace;
}

const hello = (): Response => new Response('hello\n');
let limited: ((request: Request) => Response | Promise<Response>) | undefined;

function limit({ LIMITS }: Env): (request: Request) => Response | Promise<Response> {
  const { handle } = rateLimit({
    address: fromCloudflare,
    limits: [
      {
        name: 'country',
        policy: slidingWindow({ limit: 1000, window: '1m' }),
        key: (request: Request) => request.headers.get('cf-ipcountry') ?? 'unknown',
      },
      {
        name: 'user',
        policy: tokenBucket({ capacity: 5, refill: 1, every: '1m' }),
        key: (request: Request) => request.headers.get('authorization') ?? undefined, // Your authentication.
        onMissingKey: 'skip',
      },
    ],
    store: durableObjectStore(LIMITS, { prefix: 'shop' }),
  });
  return handle(hello);
}

export default {
  fetch(request: Request, env: Env): Response | Promise<Response> {
    limited ??= limit(env);
    return limited(request);
  },
};
