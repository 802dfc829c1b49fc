import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startRedis, startTcpProxy, type RedisServer, type TcpProxy } from '@sluice/testkit';
import { startClient, type AlteredScript, type ClientProcess } from './client-process.ts';
import type { Call, Cut, History } from './history.ts';
import { policyOf, type Fault, type Plan, type ProcessPlan } from './plan.ts';

/** The delay until a process stops or continues. */
const SIGNAL_MS = 5;

interface Seat {
  readonly plan: ProcessPlan;
  readonly proxy: TcpProxy | undefined;
  client: ClientProcess;
}

/** A server, the processes that use it, and their faults. */
export class World {
  readonly #plan: Plan;
  readonly #script: AlteredScript | undefined;
  readonly #server: RedisServer;
  readonly #admin: Redis;
  readonly #folder: string = mkdtempSync(join(tmpdir(), 'sluice-history-'));
  readonly #seats: Seat[] = [];
  readonly #ended: ClientProcess[] = [];
  readonly #cuts: Cut[] = [];
  readonly #stopped: { fromMs: number; toMs: number }[] = [];
  #sinceMs = 0;
  #processes = 0;

  private constructor(plan: Plan, server: RedisServer, script: AlteredScript | undefined) {
    this.#plan = plan;
    this.#server = server;
    this.#script = script;
    this.#admin = new Redis(server.url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    this.#admin.on('error', () => undefined);
  }

  static async of(plan: Plan, script?: AlteredScript): Promise<World> {
    const world = new World(plan, await startRedis(), script);
    const seats = plan.processes.map(async (processPlan) => {
      const proxy = processPlan.proxied ? await startTcpProxy(world.#server) : undefined;
      return { plan: processPlan, proxy, client: await world.#start(processPlan, proxy) };
    });
    world.#seats.push(...(await Promise.all(seats)));
    world.#sinceMs = Date.now();
    for (const { client } of world.#seats) client.begin();
    return world;
  }

  async suffer(fault: Fault): Promise<void> {
    switch (fault.what) {
      case 'stop':
        this.#server.pause();
        await this.#still(fault.forMs);
        this.#server.resume();
        break;
      case 'kill':
        await this.#server.kill();
        // All decisions so far have earlier instants, and the next instant has not begun.
        this.#cuts.push({ atMs: Date.now(), lostMs: Number(process.hrtime.bigint()) / 1e6 });
        await this.#still(fault.forMs);
        await this.#server.restart();
        break;
      case 'script flush':
        await this.#admin.script('FLUSH');
        break;
      case 'client pause': {
        const askedMs = Date.now();
        await this.#admin.client('PAUSE', fault.forMs, 'ALL');
        this.#stopped.push({ fromMs: Date.now() + 1, toMs: askedMs + fault.forMs - 1 });
        await sleep(fault.forMs);
        break;
      }
      case 'client kill':
        await this.#admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
        break;
      case 'cut':
        this.#seats[fault.process]?.proxy?.cut();
        break;
      case 'hang':
      case 'lose answers': {
        const proxy = this.#seats[fault.process]?.proxy;
        if (fault.what === 'hang') proxy?.hang();
        else proxy?.delay(fault.forMs / 4); // so that requests arrive, and replies do not
        await sleep(fault.forMs);
        if (fault.what === 'lose answers') proxy?.cut();
        await proxy?.heal();
        break;
      }
      case 'kill process': {
        const seat = this.#seats[fault.process] as Seat;
        await seat.client.kill();
        this.#ended.push(seat.client);
        seat.client = await this.#start(seat.plan, seat.proxy);
        seat.client.begin();
        break;
      }
    }
  }

  /** How many calls the processes that run have made so far. Throws when one has ended by itself. */
  made(): number {
    return this.#seats.reduce((sum, { client }) => sum + client.made(), 0);
  }

  /** Lets all processes finish, and returns their history. */
  async history(): Promise<History> {
    const clients = this.#seats.map(({ client }) => client);
    await Promise.all(clients.map((client) => client.stop()));
    const calls = [...this.#ended, ...clients].flatMap((client): readonly Call[] => client.calls());
    return {
      policies: Object.fromEntries(this.#plan.keys.map((texts, key) => [String(key), texts.map(policyOf)])),
      sinceMs: this.#sinceMs,
      calls,
      cuts: this.#cuts,
      stopped: this.#stopped,
    };
  }

  /** Ends all that runs. */
  async end(): Promise<void> {
    this.#admin.disconnect();
    await Promise.all(this.#seats.map(({ client }) => client.kill()));
    for (const { proxy } of this.#seats) proxy?.close();
    await this.#server.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Waits while the server does nothing. */
  async #still(forMs: number): Promise<void> {
    const fromMs = Date.now() + SIGNAL_MS;
    await sleep(forMs);
    this.#stopped.push({ fromMs, toMs: Date.now() - 1 });
  }

  #start({ client }: ProcessPlan, proxy: TcpProxy | undefined): Promise<ClientProcess> {
    const number = this.#processes++;
    const { storeUrl } = this.#server;
    return startClient(number, {
      client,
      url: proxy?.through(storeUrl) ?? storeUrl,
      store: { breaker: { failures: 3, probeEveryMs: 50 } },
      timeoutMs: this.#plan.timeoutMs ?? 80,
      keys: this.#plan.keys,
      together: this.#plan.together ?? 3,
      seed: this.#plan.seed * 100 + number,
      log: join(this.#folder, `${String(number)}.log`),
      script: this.#script,
    });
  }
}
