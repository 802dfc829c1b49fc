import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nginxConf } from './nginx-conf.ts';
import { accepts, Processes, type RoleProcess } from './processes.ts';
import { onStop } from './role.ts';
import { readSettings, type Settings } from './settings.ts';

// Starts everything: two services, the gateways, nginx in front of them and, unless one is given, a Redis.
const folder = mkdtempSync(join(tmpdir(), 'sluice-gateway-'));
const processes = new Processes();
process.once('exit', () => {
  rmSync(folder, { recursive: true, force: true });
});
onStop(async () => {
  console.log('Stopping.');
  await processes.stop();
});

try {
  await start(readSettings(process.argv.slice(2)));
} catch (error) {
  const { code, path, message } = error as NodeJS.ErrnoException;
  const help = `${String(path)} is not installed. Debian, Ubuntu: apt-get install nginx redis-server; macOS: brew install nginx redis`;
  console.error(code === 'ENOENT' ? help : message);
  await processes.stop();
  process.exit(1);
}

async function start({ store, redisUrl, weights, limit, window, port: wanted }: Settings): Promise<void> {
  const REDIS_URL = redisUrl ?? (await startRedis());
  const [orders, catalog] = (await Promise.all(
    ['orders', 'catalog'].map(async (NAME) => processes.startRole(NAME, 'service.js', { NAME })),
  )) as [RoleProcess, RoleProcess];

  if (store === 'split')
    console.log(`Starting. Each gateway waits for its share: four seconds, and until a window of ${window} begins.`);
  const total = weights.reduce((sum, weight) => sum + weight);
  const shared = {
    ORDERS_URL: orders.url,
    CATALOG_URL: catalog.url,
    REDIS_URL,
    STORE: store,
    LIMIT: limit,
    WINDOW: window,
  };
  const gateways = await Promise.all(
    weights.map(async (weight, i) => {
      const NAME = `gateway-${String(i + 1)}`;
      const env = { ...shared, NAME, WEIGHT: String(weight), SHARE: String(weight / total) };
      return { weight, ...(await processes.startRole(NAME, 'gateway.js', env)) };
    }),
  );

  const port = wanted === 0 ? await freePort() : wanted;
  const conf = join(folder, 'nginx.conf');
  const balanced = gateways.map(({ url, weight }) => ({ address: new URL(url).host, weight }));
  writeFileSync(conf, nginxConf({ port, gateways: balanced }));
  await processes.startProgram('nginx', ['-e', 'stderr', '-p', folder, '-c', conf], port);

  const url = `http://127.0.0.1:${String(port)}`;
  console.log(
    [
      `Listening on ${url}: nginx, with ${conf}`,
      ...[...gateways, orders, catalog].map((one) => `  ${one.name}  ${one.url}  pid ${String(one.pid)}`),
      `An address may send ${limit} requests in ${window} to each service. Try:`,
      `  curl -si ${url}/orders`,
      `  curl -s -o /dev/null -w '%{http_code} %header{x-gateway} %header{ratelimit}\\n' '${url}/orders?[1-${String(Number(limit) + 5)}]'`,
      'Ctrl-C ends all.',
    ].join('\n'),
  );
}

async function startRedis(): Promise<string> {
  const port = await freePort();
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  await processes.startProgram('redis-server', options, port);
  return `redis://127.0.0.1:${String(port)}`;
}

/** Below the ports that the system gives to connections and to servers without a port of their own. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_240, 32_768);
    if (!(await accepts(port))) return port;
  }
}
