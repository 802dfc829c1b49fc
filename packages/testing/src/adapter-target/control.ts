import { createLimiter, createPolicies, silenceWarnings, type Policy } from '@sluice/core';
import type { AppDescription, ControlAnswer, ControlMessage, Described } from './descriptions.ts';
import { describedHandler } from './handler.ts';
import { shown, type NameContext } from './names.ts';
import { readDescription } from './read-description.ts';
import { Scene } from './scene.ts';
import { RedisClients } from './stores.ts';
import type { AdapterTarget, RunningApp, SuiteApp, SuiteOptions } from './target.ts';

/** The control of a target: does what the messages of the driver say. */
export class Control {
  readonly #target: AdapterTarget;
  readonly #clients = new RedisClients();
  #scene = new Scene();

  constructor(target: AdapterTarget) {
    this.#target = target;
  }

  async answer(message: ControlMessage): Promise<ControlAnswer> {
    try {
      return { value: await this.#do(message) };
    } catch (error) {
      const { name, message: text, code, field } = error as Error & { code?: string; field?: string };
      return { error: { name, message: text, code, field } };
    }
  }

  /** Ends the scenario and all connections. */
  async close(): Promise<void> {
    await this.#end();
    this.#clients.close();
  }

  async #do(message: ControlMessage): Promise<unknown> {
    const scene = this.#scene;
    switch (message.do) {
      case 'start':
        return { port: (await this.#start(message.app, message.described, message.http2 === true)).port };
      case 'stop':
        await scene.apps.get(message.app)?.close();
        scene.apps.delete(message.app);
        return undefined;
      case 'clock':
        scene.clock(message.clock, message.atMs).atMs = message.atMs;
        return undefined;
      case 'limiter':
        scene.limiters.set(message.limiter, createLimiter(this.#read(message.options as Described) as never));
        return undefined;
      case 'call': {
        const limiter = known(scene.limiters, message.limiter) as unknown as Record<
          string,
          (...args: unknown[]) => unknown
        >;
        return limiter[message.method]?.(...message.args);
      }
      case 'acquire': {
        const acquisition = await known(scene.limiters, message.limiter).acquire(message.key);
        scene.slots.set(message.slot, acquisition);
        return shown(acquisition.decision);
      }
      case 'release':
        return known(scene.slots, message.slot).release();
      case 'put': {
        const policies = createPolicies(scene.source(message.source));
        await policies.put(message.name, this.#read(message.policy) as Policy, { apps: message.apps });
        return undefined;
      }
      case 'remove':
        await createPolicies(scene.source(message.source)).remove(message.name);
        return undefined;
      case 'open':
        for (const gate of message.gates) scene.gate(gate).open();
        return undefined;
      case 'records':
        return scene.records.of(`${message.of}/${message.list}`);
      case 'count':
        return scene.records.of(`${message.of}/${message.list}`).length;
      case 'reach':
        return scene.records.reaches(`${message.of}/${message.list}`, message.count);
      case 'now':
        return { nowMs: performance.now(), originMs: performance.timeOrigin };
      case 'timers':
        return process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
      case 'silence':
        silenceWarnings(...(message.codes as readonly never[]));
        return undefined;
      case 'end':
        return this.#end();
    }
  }

  async #end(): Promise<void> {
    const ended = this.#scene;
    this.#scene = new Scene();
    await ended.end();
  }

  async #start(app: string, described: AppDescription, http2: boolean): Promise<RunningApp> {
    const suiteApp = this.#appOf(app, described);
    const running = await (http2 ? this.#target.startHttp2?.(suiteApp) : this.#target.start(suiteApp));
    if (running === undefined) throw new Error(`${this.#target.name} does not speak HTTP/2`);
    this.#scene.apps.set(app, running);
    return running;
  }

  #appOf(app: string, { limits = [], routes, ...rest }: AppDescription): SuiteApp {
    const context = this.#contextOf(app);
    const running = new Set<object>();
    const read = (limit: Described): SuiteOptions => readDescription(limit, context) as SuiteOptions;
    return {
      ...rest,
      limits: limits.map((limit) => read(limit as Described)),
      routes: routes.map(({ limit, handle, ...route }) => ({
        ...route,
        ...(limit !== undefined && { limit: read(limit as Described) }),
        handle: describedHandler(handle, context, running),
      })),
    };
  }

  #read(described: Described): unknown {
    return readDescription(described, this.#contextOf(''));
  }

  #contextOf(app: string): NameContext {
    return { scene: this.#scene, app, target: this.#target, clients: this.#clients };
  }
}

function known<T>(map: ReadonlyMap<string, T>, name: string): T {
  const found = map.get(name);
  if (found === undefined) throw new Error(`this scenario has no ${name}`);
  return found;
}
