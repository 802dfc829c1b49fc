import { Agent } from 'node:http';
import type { Client } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startTcpProxy, until, useRedis, type TcpProxy } from '@sluice/testkit';
import { ask, connect, descriptor, statusOf } from '../rls/running-service.ts';
import { askEither } from './either-client.ts';
import { Replica } from './replica.ts';

const LIMITS = `
domain: shop
descriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1000000 } }]
limits: { login: { fixedWindow: { limit: 1000000, window: 1d } } }
`;
const requestOf = (user: string) => ({ domain: 'shop', descriptors: [descriptor(`user=${user}`)] });
const redis = useRedis();

const replicas: Replica[] = [];
const clients: { close(): void }[] = [];
let proxy: TcpProxy;
beforeEach(async () => {
  proxy = await startTcpProxy(redis.server);
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await Promise.all(replicas.splice(0).map((replica) => replica.remove()));
  proxy.close();
});

async function replicaOn(url: string): Promise<Replica> {
  const replica = await Replica.start(LIMITS, { redis: url, timeoutMs: 60_000 });
  replicas.push(replica);
  return replica;
}

const kept = (client: Client): Client => {
  clients.push(client);
  return client;
};

/** Calls again and again until it is stopped. */
class Load {
  readonly statuses: string[] = [];
  #hasEnded = false;
  readonly #workers: Promise<void>[];

  constructor(workers: number, call: (worker: number) => Promise<string>) {
    const work = async (worker: number): Promise<void> => {
      while (!this.#hasEnded) this.statuses.push(await call(worker));
    };
    this.#workers = Array.from({ length: workers }, (_, worker) => work(worker));
  }

  async goesOn(calls = 100): Promise<void> {
    const before = this.statuses.length;
    await until('calls are answered', () => this.statuses.length > before + calls);
  }

  async stop(): Promise<Set<string>> {
    this.#hasEnded = true;
    await Promise.all(this.#workers);
    return new Set(this.statuses);
  }
}

describe('a replica that is killed', () => {
  it('fails what was in flight on it at once, as an error of its connection, and others answer all other calls', async () => {
    const [victim, other] = [await replicaOn(proxy.through(redis.server.url)), await replicaOn(redis.server.url)];
    const [ofVictim, ofOther] = [kept(connect(victim.grpc)), kept(connect(other.grpc))];
    expect(await statusOf(ask(ofVictim, requestOf('ann')))).toBe('OK');
    const load = new Load(4, () => statusOf(ask(ofOther, requestOf('bob'))));
    await load.goesOn();

    proxy.hang();
    const lost: string[] = [];
    for (let i = 0; i < 10; i++) {
      void statusOf(ask(ofVictim, requestOf('ann'))).then((status) => lost.push(status));
    }
    await until('some are on their way to Redis', () => proxy.heldBytes > 0);
    await load.goesOn();
    expect(lost).toEqual([]);
    await victim.end('SIGKILL');
    // Sooner than the service, or Redis, would answer.
    await until('all have failed', () => lost.length === 10);
    await load.goesOn();

    expect(lost).toEqual(Array<string>(10).fill('UNAVAILABLE'));
    expect(await load.stop()).toEqual(new Set(['OK']));
    // Each of them may have counted.
    await proxy.heal();
    const { statuses } = await ask(ofOther, requestOf('ann'));
    const used = 1_000_000 - (statuses?.[0]?.limitRemaining ?? 0);
    expect(used).toBeGreaterThanOrEqual(2);
    expect(used).toBeLessThanOrEqual(12);
  });
});

describe('a rolling restart', () => {
  /** So slow that calls are always in flight. */
  const slowly = (): string => {
    proxy.delay(10);
    return proxy.through(redis.server.url);
  };
  /** Each replica once, and one of them again. Returns their exit codes. */
  async function restart(load: Load, isUsed: (replica: Replica) => Promise<void>): Promise<readonly unknown[]> {
    const codes: unknown[] = [];
    for (const i of [0, 1, 0]) {
      const replica = replicas[i] as Replica;
      await Promise.all(replicas.map(isUsed));
      codes.push(await replica.end('SIGTERM'));
      await load.goesOn();
      await replica.startAgain();
    }
    return codes;
  }

  it('costs a client over HTTP that knows two replicas no error', async () => {
    const ports = [(await replicaOn(slowly())).http, (await replicaOn(slowly())).http];
    const agent = new Agent({ keepAlive: true });
    clients.push({
      close: () => {
        agent.destroy();
      },
    });
    const load = new Load(8, (worker) => askEither(agent, ports, worker));

    const codes = await restart(load, () => load.goesOn());

    expect(codes).toEqual([0, 0, 0]);
    expect(await load.stop()).toEqual(new Set(['200']));
  });
});
