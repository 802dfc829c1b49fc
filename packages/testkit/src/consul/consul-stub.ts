import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Entry {
  readonly modifyIndex: number;
  readonly value: string;
}

/** The parts of a registration that matter here. */
interface Registered {
  readonly ID: string;
  readonly Name: string;
  readonly Weights?: { readonly Passing: number; readonly Warning: number };
  readonly Check?: { readonly CheckID: string; readonly TTL: string };
}

interface Instance {
  readonly registered: Registered;
  isPassing: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** What questions that do not wait meet: an answer, or a connection that is cut. */
type Fault = { readonly status: number; readonly body: string } | 'is cut';

type Query = Readonly<Record<string, string>>;

/** A status and a body: a string, or a value to send as JSON. */
type Answer = readonly [status: number, body: unknown];

const KEYS = '/v1/kv/';
const HEALTH = '/v1/health/service/';
const WEAK_TOKEN = 'without-rights';
const DONE: Answer = [200, ''];

/**
 * A stub of Consul: the key-value store, and what an agent and the health endpoint say of services. The tests that use it
 * run on a real one as well: `npm run real -- consul`.
 */
export class ConsulStub {
  /** The requests so far. */
  readonly asked: { readonly path: string; readonly query: Query }[] = [];
  readonly #server: Server;
  readonly #instances = new Map<string, Instance>();
  /** The index of the last change of each service. */
  readonly #serviceIndices = new Map<string, number>();
  readonly #entries = new Map<string, Entry>();
  #lastIndex = 10;
  #fault: Fault | undefined;
  /** The index in answers, instead of the real one. */
  #fixedIndex: string | undefined;
  /** Wakes the queries that wait. */
  readonly #changes = new EventEmitter().setMaxListeners(0);

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#respond(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<ConsulStub> {
    const stub = new ConsulStub();
    stub.#server.listen(0, '127.0.0.1');
    await once(stub.#server, 'listening');
    return stub;
  }

  get address(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** The number of queries that wait for a change. */
  get held(): number {
    return this.#changes.listenerCount('change');
  }

  weakToken(): Promise<string> {
    return Promise.resolve(WEAK_TOKEN);
  }

  befall(fault: Fault | undefined): void {
    this.#fault = fault;
  }

  /** From now on, sends this as `X-Consul-Index` in all answers. */
  sayIndex(index: string | undefined): void {
    this.#fixedIndex = index;
    this.#changes.emit('change');
  }

  async close(): Promise<void> {
    for (const { timer } of this.#instances.values()) clearTimeout(timer);
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.address);
    const query: Query = Object.fromEntries(searchParams);
    this.asked.push({ path: pathname, query });
    const body = await text(request);
    const isWeak = request.headers['x-consul-token'] === WEAK_TOKEN;
    if (request.method !== 'GET') send(response, isWeak ? DENIED : this.#change(request.method, pathname, query, body));
    else if (isWeak) this.#answerWeakly(pathname, response);
    else await this.#answer(pathname, query, response);
  }

  /** Answers like Consul to a token without rights: with the nothing that it may see. */
  #answerWeakly(path: string, response: ServerResponse): void {
    response.setHeader('X-Consul-Index', String(this.#lastIndex));
    response.setHeader('X-Consul-Results-Filtered-By-Acls', 'true');
    send(response, path.startsWith(KEYS) ? [404, ''] : [200, []]);
  }

  #change(method: string | undefined, path: string, query: Query, body: string): Answer {
    if (path.startsWith(KEYS)) {
      const key = decodeURIComponent(path.slice(KEYS.length));
      if (method === 'DELETE') {
        this.#entries.delete(key);
        return [200, true];
      }
      const { modifyIndex = 0 } = this.#entries.get(key) ?? {};
      const isWritten = query['cas'] === undefined || Number(query['cas']) === modifyIndex;
      if (isWritten) this.#entries.set(key, { modifyIndex: this.#next(), value: body });
      return [200, isWritten];
    }
    const [, what, id = ''] = /^\/v1\/agent\/(\w+\/\w+)\/?(.*)$/.exec(path) ?? [];
    if (what === 'service/register') return this.register(JSON.parse(body) as Registered);
    if (what === 'check/pass') return this.#pass(decodeURIComponent(id));
    if (what === 'service/deregister') return this.#remove(decodeURIComponent(id));
    return [404, 'Invalid URL path'];
  }

  async #answer(path: string, query: Query, response: ServerResponse): Promise<void> {
    const isOfKeys = path.startsWith(KEYS);
    const name = decodeURIComponent(path.slice((isOfKeys ? KEYS : HEALTH).length));
    const readIndex = (): number => this.#serviceIndices.get(name) ?? this.#lastIndex;
    const index = Number(query['index'] ?? 0);
    if (index > 0) await this.#hold(readIndex, index, parseMs(query['wait']), response);
    else if (this.#fault === 'is cut') response.destroy();
    else if (this.#fault !== undefined) send(response, [this.#fault.status, this.#fault.body]);
    if (response.writableEnded || response.destroyed) return;
    response.setHeader('X-Consul-Index', this.#fixedIndex ?? String(readIndex()));
    send(response, isOfKeys ? this.#readKeys(name) : [200, this.#readService(name, query)]);
  }

  #readKeys(prefix: string): Answer {
    const found = [...this.#entries].filter(([name]) => name.startsWith(prefix));
    const entries = found.map(([name, { modifyIndex, value }]) => ({
      Key: name,
      Value: value === '' ? null : Buffer.from(value).toString('base64'),
      ModifyIndex: modifyIndex,
    }));
    return entries.length === 0 ? [404, ''] : [200, entries];
  }

  #readService(name: string, { passing }: Query): readonly object[] {
    return [...this.#instances.values()]
      .filter(({ registered, isPassing }) => registered.Name === name && (isPassing || passing === undefined))
      .map(({ registered: { ID, Name, Weights = { Passing: 1, Warning: 1 } } }) => ({
        Node: { Node: 'stub' },
        Service: { ID, Service: Name, Weights },
      }));
  }

  /** Registers an instance of a service, as its agent does. */
  register(registered: Registered): Answer {
    const before = this.#instances.get(registered.ID);
    clearTimeout(before?.timer);
    const instance: Instance = { registered, isPassing: before?.isPassing ?? false, timer: undefined };
    this.#instances.set(registered.ID, instance);
    if (JSON.stringify(before?.registered) !== JSON.stringify(registered)) instance.isPassing = false;
    this.#renew(instance);
    return DONE;
  }

  #pass(checkId: string): Answer {
    const instance = [...this.#instances.values()].find(({ registered }) => registered.Check?.CheckID === checkId);
    if (instance === undefined)
      return [404, `Unknown check ID "${checkId}". Ensure that the check ID is passed, not the check name.`];
    clearTimeout(instance.timer);
    this.#renew(instance);
    return DONE;
  }

  #remove(id: string): Answer {
    const instance = this.#instances.get(id);
    if (instance === undefined)
      return [404, `Unknown service ID "${id}". Ensure that the service ID is passed, not the service name.`];
    clearTimeout(instance.timer);
    this.#instances.delete(id);
    this.#serviceIndices.set(instance.registered.Name, this.#next());
    return DONE;
  }

  /** Its check passes until its ttl has passed. */
  #renew(instance: Instance): void {
    this.#turn(instance, true);
    const { Check } = instance.registered;
    if (Check === undefined) return;
    instance.timer = setTimeout(() => {
      this.#turn(instance, false);
    }, parseMs(Check.TTL));
  }

  #turn(instance: Instance, isPassing: boolean): void {
    if (instance.isPassing === isPassing) return;
    instance.isPassing = isPassing;
    this.#serviceIndices.set(instance.registered.Name, this.#next());
  }

  /** Waits until something is newer than the index, the time ends, or the client disconnects. */
  async #hold(readIndex: () => number, index: number, waitMs: number, response: ServerResponse): Promise<void> {
    const left = new AbortController();
    response.once('close', () => {
      left.abort();
    });
    const signal = AbortSignal.any([left.signal, AbortSignal.timeout(waitMs)]);
    while (readIndex() <= index && this.#fixedIndex === undefined && !signal.aborted) {
      await once(this.#changes, 'change', { signal }).catch(() => undefined);
    }
  }

  /** The index of a change, after which waiting queries look again. */
  #next(): number {
    queueMicrotask(() => {
      this.#changes.emit('change');
    });
    return ++this.#lastIndex;
  }
}

const DENIED: Answer = [403, 'Permission denied: token with AccessorID lacks permission'];

function send(response: ServerResponse, [status, body]: Answer): void {
  response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** A time as Consul writes it, such as `30s`, in milliseconds. */
function parseMs(written = '5m'): number {
  const [, number = '0', unit] = /^([\d.]+)(ms|s|m)$/.exec(written) ?? [];
  return Number(number) * (unit === 'ms' ? 1 : unit === 's' ? 1000 : 60_000);
}
