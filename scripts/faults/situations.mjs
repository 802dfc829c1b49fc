import { startBlackHole } from './black-hole.mjs';
import { built } from './built.mjs';
import { sleep } from './clock.mjs';

const { startRedis } = await built('testkit/dist/redis-server.js');
const { startTcpProxy } = await built('testkit/dist/tcp-proxy.js');
const { connectTo } = await built('testkit/dist/connect-to.js');

/** A server, proxies before it, and a connection for administration. */
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
    /** The URL for a store that connects through one of these. */
    url: (by) =>
      by === 'server'
        ? server.storeUrl
        : by === 'proxy'
          ? proxy.through(server.storeUrl)
          : blackHole.through(server.storeUrl),
    async end() {
      admin.disconnect();
      await sleep(200); // a connection that is closing cannot be reset
      proxy.close();
      blackHole.end();
      await server.stop();
    },
  };
}

const FLAP_MS = 300;

/** Goes down and up in turns for as long as the fault lasts, and ends up. */
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
const deny = ({ proxy }) => {
  proxy.deny();
  proxy.cut();
};

/**
 * Each fault: what happens, and how it begins and ends. `run` resolves when the server is reachable again. `by`:
 * whether the applications connect to Redis itself or through a proxy.
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
  unreachable: {
    what: 'connections reset, new ones rejected',
    by: 'proxy',
    run: lasting(deny, ({ proxy }) => proxy.heal()),
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
    what: `unreachable for ${FLAP_MS} ms, there for ${FLAP_MS} ms, again and again`,
    by: 'proxy',
    run: (place, lastsMs) =>
      flap(
        lastsMs,
        () => deny(place),
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

/** The faults that applications behind the proxy can meet one after the other. */
export const passing = ['hung', 'killed', 'unreachable', 'slow', 'flapping', 'flapping-hung', 'half-closed', 'paused'];
