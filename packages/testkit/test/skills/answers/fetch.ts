import { byIp, byRoute, fixedWindow, rateLimit, type Store } from '@sluice/web';

export function createHandler(store: Store): (request: Request, peer: string) => Promise<Response> {
  const limit = rateLimit({
    name: 'notes',
    policy: fixedWindow({ limit: 2, window: '1m' }),
    key: [byIp(), byRoute()],
    routes: ['/notes/:id'],
    address: (_request, peer) => String(peer),
    store,
  });
  return async (request, peer) => limit.handle(() => Response.json({}))(request, peer);
}
