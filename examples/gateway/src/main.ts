import { randomInt } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askRedis } from './ask-redis.ts';
import { nginxConf } from './nginx-conf.ts';
import { accepts, Processes, type RoleProcess } from './processes.ts';
import { MissingProgramError, nginxPath, redisPath } from './programs.ts';
import { onStop } from './role.ts';
import { readSettings, SettingError, type Settings } from './settings.ts';

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
  const isExpected = error instanceof SettingError || error instanceof MissingProgramError;
  console.error(isExpected ? error.message : error);
  await processes.stop();
  process.exit(1);
}

async function start(settings: Settings): Promise<void> {
  const nginx = nginxPath(process.env); // asked first: without it nothing is worth starting
  // Without Redis every gateway would silently count by itself.
  if (settings.redisUrl !== undefined) await askRedis(settings.redisUrl);
  const redisUrl = settings.redisUrl ?? (await startRedis());

  const [orders, catalog] = (await Promise.all(
    ['orders', 'catalog'].map(async (NAME) => processes.startRole(NAME, 'service.js', { NAME, PORT: '0' })),
  )) as [RoleProcess, RoleProcess];

  if (settings.store === 'split') {
    console.log(
      `Starting. Each gateway waits until it has its share of the limit: four seconds, and until a window of ${settings.window} begins.`,
    );
  }
  const total = settings.weights.reduce((sum, weight) => sum + weight);
  const gateways = await Promise.all(
    settings.weights.map(async (weight, index) => {
      const NAME = `gateway-${String(index + 1)}`;
      return processes.startRole(NAME, 'gateway.js', {
        NAME,
        PORT: '0',
        ORDERS_URL: orders.url,
        CATALOG_URL: catalog.url,
        REDIS_URL: redisUrl,
        STORE: settings.store,
        LIMIT: String(settings.limit),
        WINDOW: settings.window,
        WEIGHT: String(weight),
        SHARE: String(weight / total),
      });
    }),
  );

  const port = settings.port === 0 ? await freePort() : settings.port;
  const conf = join(folder, 'nginx.conf');
  const balanced = gateways.map(({ url }, i) => ({ address: new URL(url).host, weight: settings.weights[i] ?? 1 }));
  writeFileSync(conf, nginxConf({ port, gateways: balanced }));
  await processes.startProgram([nginx, '-e', 'stderr', '-p', folder, '-c', conf], port, () => {
    console.error('nginx has ended.');
    void processes.stop().then(() => process.exit(1));
  });

  const url = `http://127.0.0.1:${String(port)}`;
  console.log(
    [
      `Listening on ${url}: nginx, with ${conf}`,
      ...gateways.map(
        ({ name, url, pid }, i) => `  ${name}  ${url}  pid ${String(pid)}, weight ${String(settings.weights[i])}`,
      ),
      ...[orders, catalog].map((service) => `  ${service.name}  ${service.url}  pid ${String(service.pid)}`),
      `An address may send ${String(settings.limit)} requests in ${settings.window} to each service, ${
        settings.store === 'redis'
          ? `counted in the Redis at ${new URL(redisUrl).host} for all gateways`
          : `divided among the gateways, which are listed in the Redis at ${new URL(redisUrl).host}`
      }. Try:`,
      `  curl -si ${url}/orders`,
      `  curl -s -o /dev/null -w '%{http_code} %header{x-gateway} %header{ratelimit}\\n' '${url}/orders?[1-${String(settings.limit + 5)}]'`,
      `  curl -si ${url}/orders -H 'X-Forwarded-For: 203.0.113.9'     # escapes nothing`,
      'Ctrl-C ends all.',
    ].join('\n'),
  );
}

async function startRedis(): Promise<string> {
  const port = await freePort();
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder];
  await processes.startProgram([redisPath(process.env), ...options], port, () => {
    console.error('Redis has ended. Each gateway counts for itself now.');
  });
  return `redis://127.0.0.1:${String(port)}`;
}

/** Below the ports that the system gives to connections and to servers without a port of their own. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_240, 32_768);
    if (!(await accepts(port))) return port;
  }
}
