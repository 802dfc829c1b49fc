import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connectTo, startRedis, startRedisCluster, startTcpProxy, until } from '@sluice/testkit';
import { build } from 'esbuild';
import type { History } from './check.ts';
import { AHEAD, readLog, type ChildOptions } from './log.ts';

/** The Nodes of the processes, by turns: paths with colons between in SLUICE_HISTORY_NODES. Default: the present one. */
const NODES = process.env['SLUICE_HISTORY_NODES']?.split(':') ?? [process.execPath];
const PROCESSES = 4;

type Writable<T> = { -readonly [Key in keyof T]: T[Key] extends readonly (infer Item)[] ? Item[] : T[Key] };
/** What is known of a history beside the logs. */
type Notes = Omit<Writable<History>, 'lives'>;

/** Servers, and what may happen to them. */
interface World {
  /** For each process, how it reaches them. */
  readonly endpoints: readonly Pick<ChildOptions, 'url' | 'client'>[];
  readonly faults: Readonly<Record<string, () => Promise<void>>>;
  stop(): Promise<void>;
}

const below = (max: number): number => Math.floor(Math.random() * max);
const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
const fault = (): Promise<void> => sleep(50 + below(300));

/** A server and its replica, each process behind a proxy. */
async function startServer({ losses, clocks }: Notes): Promise<World> {
  let [main, spare] = [await startRedis(), await startRedis()];
  const target: { host: string; port: number } = { host: main.host, port: main.port };
  const proxies = await Promise.all(Array.from({ length: PROCESSES }, () => startTcpProxy(target)));
  const admins = new Map([main, spare].map((server) => [server, connectTo(server.url)] as const));
  const admin = (server = main) => admins.get(server) as ReturnType<typeof connectTo>;
  const follow = (): Promise<unknown> =>
    until('the replica follows', async () => {
      await admin(spare).replicaof(main.host, main.port);
      return (await admin(spare).info('replication')).includes('master_link_status:up');
    });
  let aheadMs = 5000;
  await admin().set(AHEAD, aheadMs);
  await follow();
  const clients = ['url', 'ioredis', 'node-redis', 'url'] as const;
  return {
    endpoints: proxies.map((proxy, i) => ({ url: proxy.through(main.storeUrl), client: clients[i] as 'url' })),
    faults: {
      async stop() {
        main.pause();
        await fault();
        main.resume();
      },
      async cut() {
        pick(proxies).cut();
        await sleep(20);
      },
      async hang() {
        const proxy = pick(proxies);
        proxy.hang();
        await fault();
        await proxy.heal();
      },
      async forgetScripts() {
        await admin().script('FLUSH');
      },
      async flush() {
        const fromMs = Date.now();
        await admin().multi().flushall().set(AHEAD, aheadMs).exec();
        losses.push({ fromMs, toMs: Date.now(), isWhole: true });
      },
      async stepClock() {
        const fromMs = Date.now();
        const before = aheadMs;
        aheadMs = 3000 + below(4000);
        await admin().set(AHEAD, aheadMs);
        const toMs = Date.now();
        clocks.push({ ...(clocks.pop() as History['clocks'][number]), toMs }, { aheadMs, fromMs, toMs: Infinity });
        if (aheadMs < before) losses.push({ fromMs, toMs, isWhole: false });
      },
      async failOver() {
        const fromMs = Date.now();
        await main.kill();
        await fault();
        await admin(spare).replicaof('NO', 'ONE');
        [main, spare] = [spare, main];
        target.port = main.port;
        for (const proxy of proxies) proxy.cut();
        losses.push({ fromMs, toMs: Date.now(), isWhole: false });
        await spare.restart();
        await follow();
      },
    },
    async stop() {
      for (const proxy of proxies) proxy.close();
      for (const one of admins.values()) one.disconnect();
      await Promise.all([main.stop(), spare.stop()]);
    },
  };
}

/** Three nodes and their replicas. */
async function startCluster({ losses }: Notes): Promise<World> {
  const { nodes, admin, stop } = await startRedisCluster(3, { replicas: 1 });
  const key = (): string => `{${pick(['ann', 'bob', 'cid'])}}`;
  return {
    endpoints: Array.from({ length: PROCESSES }, (_, i) => ({
      ...{ url: nodes[i % 3]?.storeUrl ?? '', client: i === 2 ? 'node-redis cluster' : 'cluster' },
    })),
    faults: {
      async stop() {
        const node = await admin.primaryOf(key());
        node.pause();
        await fault();
        node.resume();
      },
      async forgetScripts() {
        await admin.clientOf(await admin.primaryOf(key())).script('FLUSH');
      },
      async handOver() {
        await admin.failover(key());
      },
      async moveSlot() {
        const moved = key();
        const owner = await admin.primaryOf(moved);
        const others = await Promise.all(['ann', 'bob', 'cid'].map((one) => admin.primaryOf(`{${one}}`)));
        const to = others.find((node) => node !== owner);
        if (to !== undefined) await admin.moveSlot(await admin.slotOf(moved), to, () => sleep(30));
      },
      async failOver() {
        const fromMs = Date.now();
        const killed = await admin.killPrimaryOf(key());
        losses.push({ fromMs, toMs: Date.now(), isWhole: false });
        await killed.restart();
        await until('it follows', async () =>
          (await admin.clientOf(killed).info('replication')).includes('master_link_status:up'),
        );
      },
    },
    stop,
  };
}

/** Lets processes decide for a time, while servers, connections and processes fail one after the other. */
export async function live(
  where: 'server' | 'cluster',
  forMs: number,
  pauseMs = 10,
): Promise<History & { broken: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-history-'));
  const script = join(folder, 'child.mjs');
  const ahead = { aheadMs: where === 'server' ? 5000 : 0, fromMs: 0, toMs: Infinity };
  const notes: Notes = { losses: [], clocks: [ahead], isCluster: where === 'cluster' };
  const world = await (where === 'server' ? startServer : startCluster)(notes);
  const lives: History['lives'][number][] = [];
  const broken: string[] = [];
  const children: ChildProcess[] = [];

  const start = async (i: number): Promise<void> => {
    const number = lives.length;
    const log = join(folder, `${String(number)}.jsonl`);
    const side = i % 2 === 0 ? 0 : 1;
    const options: ChildOptions = {
      ...(world.endpoints[i] as World['endpoints'][number]),
      side,
      number: i,
      log,
      pauseMs,
    };
    const child = spawn(NODES[i % NODES.length] as string, [script, JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    children[i] = child;
    let errors = '';
    child.stderr.on('data', (text: Buffer) => (errors += text.toString()));
    child.on('exit', (code, signal) => {
      const read = readLog(log);
      broken.push(...read.broken);
      if (code !== 0 && signal !== 'SIGKILL') broken.push(`a process ended with ${String(code ?? signal)}: ${errors}`);
      (lives[number] as History['lives'][number]).calls = read.calls;
    });
    lives.push({ side, calls: [] });
    await once(child.stdout, 'data');
  };

  const processes: World['faults'] = {
    async stopProcess() {
      const child = pick(children);
      child.kill('SIGSTOP');
      await fault();
      child.kill('SIGCONT');
    },
    async killProcess() {
      const i = below(PROCESSES);
      const exited = once(children[i] as ChildProcess, 'exit');
      children[i]?.kill('SIGKILL');
      await exited;
      await start(i);
    },
  };

  try {
    await build({
      entryPoints: [fileURLToPath(new URL('child.ts', import.meta.url))],
      ...{ bundle: true, platform: 'node', target: 'node20', format: 'esm', outfile: script, logLevel: 'silent' },
      banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    });
    await Promise.all(Array.from({ length: PROCESSES }, (_, i) => start(i)));
    const endMs = Date.now() + forMs;
    let due: string[] = [];
    while (Date.now() < endMs) {
      await sleep(200 + below(600));
      const all = { ...world.faults, ...processes };
      if (due.length === 0) due = Object.keys(all).sort(() => Math.random() - 0.5);
      await all[due.pop() as string]?.();
    }
    for (const [i, child] of children.entries()) {
      const exited = once(child, 'exit');
      child.stdin?.end();
      const isGone = await Promise.race([exited.then(() => true), sleep(8000, false, { ref: false })]);
      if (!isGone) broken.push(`process ${String(i)} does not end`);
    }
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return { ...notes, lives, broken };
}
