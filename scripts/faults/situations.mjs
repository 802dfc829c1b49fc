import { startBlackHole } from './black-hole.mjs';
import { built } from './built.mjs';
import { sleep } from './clock.mjs';

const { startRedis } = await built('testkit/dist/esm/redis-server.js');
const { startTcpProxy } = await built('testkit/dist/esm/tcp-proxy.js');
const { connectTo } = await built('testkit/dist/esm/connect-to.js');

/** A server, proxies before it, and a connection to look around with. */
export async function startPlace() {
  const server = await startRedis();
  const proxy = await startTcpProxy(server);
  const blackHole = await startBlackHole(server);
  const admin = connectTo(server.url);
  return {
    server,
    proxy,
    blackHole,
    admin,
    /** What a store is given that talks to Redis by way of one of these. */
    url: (by) =>
      by === 'server'
        ? server.storeUrl
        : by === 'proxy'
          ? proxy.through(server.storeUrl)
          : blackHole.through(server.storeUrl),
    async end() {
      admin.disconnect();
      await sleep(200); // a connection that is just closing could not be reset
      proxy.close();
      blackHole.end();
      await server.stop();
    },
  };
}

const FLAP_MS = 300;

/** Ten times gone and back, ending with it back; more where the fault shall last longer. */
async function flap(lastsMs, down, up) {
  for (let left = lastsMs; left > 0; left -= 2 * FLAP_MS) {
    await down();
    await sleep(FLAP_MS);
    await up();
    if (left > 2 * FLAP_MS) await sleep(FLAP_MS);
  }
}

const lasting = (begin, heal) => async (place, lastsMs) => {
  await begin(place, lastsMs);
  await sleep(lastsMs);
  await heal(place);
};
const refuse = ({ proxy }) => {
  proxy.refuse();
  proxy.cut();
};

/**
 * What goes wrong, for how long, and how it heals. Each resolves when the server is there again. `by`: whether the
 * servers talk to Redis itself, or by way of a proxy.
 */
export const situations = {
  none: { what: 'nothing happens', by: 'server', run: (_place, lastsMs) => sleep(lastsMs) },
  hung: {
    what: 'SIGSTOP, SIGCONT',
    by: 'server',
    run: lasting(
      ({ server }) => server.pause(),
      ({ server }) => server.resume(),
    ),
  },
  killed: {
    what: 'kill -9, started again empty',
    by: 'server',
    run: lasting(
      ({ server }) => void server.kill(),
      ({ server }) => server.restart(),
    ),
  },
  refused: {
    what: 'connections reset, new ones refused',
    by: 'proxy',
    run: lasting(refuse, ({ proxy }) => proxy.heal()),
  },
  slow: {
    what: '500 ms more, each way',
    by: 'proxy',
    run: lasting(
      ({ proxy }) => proxy.delay(500),
      ({ proxy }) => proxy.heal(),
    ),
  },
  flapping: {
    what: `refused for ${FLAP_MS} ms, there for ${FLAP_MS} ms, again and again`,
    by: 'proxy',
    run: (place, lastsMs) =>
      flap(
        lastsMs,
        () => refuse(place),
        () => place.proxy.heal(),
      ),
  },
  'flapping-hung': {
    what: `hung for ${FLAP_MS} ms, there for ${FLAP_MS} ms, again and again`,
    by: 'server',
    run: ({ server }, lastsMs) =>
      flap(
        lastsMs,
        () => server.pause(),
        () => server.resume(),
      ),
  },
  'half-closed': {
    what: 'FIN to the client; new connections hang, then not',
    by: 'proxy',
    run: lasting(
      ({ proxy }) => {
        proxy.halfClose('to-client');
        proxy.hang();
      },
      ({ proxy }) => proxy.heal(),
    ),
  },
  'black-holed': {
    what: 'nothing goes through; then new connections do, and the old ones stay dead',
    by: 'black hole',
    run: lasting(
      ({ blackHole }) => blackHole.open(),
      ({ blackHole }) => blackHole.close(),
    ),
  },
  paused: {
    what: 'CLIENT PAUSE',
    by: 'server',
    run: async ({ admin }, lastsMs) => {
      await admin.client('PAUSE', lastsMs, 'ALL');
      await sleep(lastsMs);
    },
  },
};

/** For servers that talk to Redis by way of the proxy: what can happen to both, one after the other. */
export const passing = ['hung', 'killed', 'refused', 'slow', 'flapping', 'flapping-hung', 'half-closed', 'paused'];
