import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { msOf } from './duration.ts';
import { StubServices, type StubAnswer } from './stub-services.ts';

interface Entry {
  readonly createIndex: number;
  readonly modifyIndex: number;
  readonly value: string;
}

/** The requests that a fault affects. */
type Which = 'reads' | 'blocking queries' | 'writes';
/** The fault: an answer, none at all, or a connection that is cut. */
type Fault = { readonly status: number; readonly body: string } | 'hangs' | 'is cut';

/** A request to the stub. */
export interface StubRequest {
  readonly which: Which;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

type Query = Readonly<Record<string, string>>;

const KEYS = '/v1/kv/';
const WEAK_TOKEN = 'without-rights';
const LARGEST_VALUE = 512 * 1024;

/**
 * A stub of Consul: the key-value store, and what an agent and the health endpoint say of services. What it answers is
 * compared with what a real one has answered: see `consulTrace`.
 */
export class ConsulStub {
  /** Denies requests that do not name it, if there is one. */
  token: string | undefined;
  readonly asked: StubRequest[] = [];
  readonly services: StubServices = new StubServices(() => this.#next());
  readonly #server: Server;
  #entries = new Map<string, Entry>();
  #deletions = new Map<string, number>();
  #lastIndex = 10;
  #restores = 0;
  readonly #faults = new Map<Which, Fault>();
  /** The index in answers, instead of the real one. */
  #fixedIndex: string | undefined;
  readonly #waiting = new Set<() => void>();

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
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

  /** The number of blocking queries. */
  get held(): number {
    return this.#waiting.size;
  }

  get(key: string): string | undefined {
    return this.#entries.get(key)?.value;
  }

  weakToken(): Promise<string> {
    return Promise.resolve(WEAK_TOKEN);
  }

  /** As `consul kv put` does. */
  put(key: string, value: string): void {
    const before = this.#entries.get(key);
    if (before?.value === value) return; // Consul writes nothing in this case
    const modifyIndex = this.#next();
    this.#entries.set(key, { createIndex: before?.createIndex ?? modifyIndex, modifyIndex, value });
  }

  /** As `consul kv delete` does. */
  delete(key: string): void {
    this.#entries.delete(key);
    this.#deletions.set(key, this.#next());
  }

  /** Replaces all keys, with a low index, as a restored snapshot does. */
  restore(values: Readonly<Record<string, string>>): void {
    this.#lastIndex = 1;
    this.#restores++;
    this.#entries = new Map();
    this.#deletions = new Map();
    for (const [key, value] of Object.entries(values)) this.put(key, value);
    this.#wake();
  }

  befall(which: Which, fault: Fault | undefined): void {
    if (fault === undefined) this.#faults.delete(which);
    else this.#faults.set(which, fault);
    this.#wake();
  }

  /** Puts this into the field `X-Consul-Index` of all answers, from now on. */
  sayIndex(index: string | undefined): void {
    this.#fixedIndex = index;
    this.#wake();
  }

  async close(): Promise<void> {
    this.services.close();
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', this.address);
    const query = Object.fromEntries(searchParams);
    const index = Number(query['index'] ?? 0);
    const which = request.method === 'PUT' ? 'writes' : index > 0 ? 'blocking queries' : 'reads';
    this.asked.push({ which, path: pathname, query });
    const body = await text(request);
    if (this.#meets(which, response)) return;
    if (request.headers['x-consul-token'] === WEAK_TOKEN) {
      this.#answerWeakly(pathname, which, response);
      return;
    }
    if (this.token !== undefined && request.headers['x-consul-token'] !== this.token) {
      response.writeHead(403).end('Permission denied: token with AccessorID lacks permission');
      return;
    }
    const isChange = request.method === 'PUT';
    if (request.method === 'DELETE') {
      this.delete(keyOf(pathname));
      response.end('true');
      return;
    }
    if (pathname.startsWith(KEYS) && isChange) this.#write(keyOf(pathname), body, query['cas'], response);
    else if (pathname.startsWith(KEYS)) await this.#answerKeys(keyOf(pathname), query, response);
    else if (isChange) changed(this.#change(pathname, body), response);
    else await this.#answerHealth(pathname, query, response);
  }

  /** As Consul answers a token without rights: reads are of what it may see, which is nothing. */
  #answerWeakly(path: string, which: Which, response: ServerResponse): void {
    if (which === 'writes') {
      response.writeHead(403).end('Permission denied: token with AccessorID lacks permission');
      return;
    }
    response
      .setHeader('X-Consul-Index', String(this.#lastIndex))
      .setHeader('X-Consul-Results-Filtered-By-Acls', 'true');
    if (path.startsWith(KEYS)) response.writeHead(404).end();
    else response.end('[]');
  }

  async #answerKeys(key: string, query: Query, response: ServerResponse): Promise<void> {
    if (!(await this.#holds(() => this.#indexOf(key), query, response))) return;
    this.#read(key, query['recurse'] !== undefined, response);
  }

  #change(path: string, body: string): StubAnswer {
    const [, what, id = ''] =
      /^\/v1\/agent\/(service\/register|check\/pass|service\/deregister)\/?(.*)$/.exec(path) ?? [];
    if (what === 'service/register') return this.services.register(body);
    if (what === 'check/pass') return this.services.pass(decodeURIComponent(id));
    if (what === 'service/deregister') return this.services.remove(decodeURIComponent(id));
    return [404, 'Invalid URL path'];
  }

  async #answerHealth(path: string, query: Query, response: ServerResponse): Promise<void> {
    const name = decodeURIComponent(path.slice('/v1/health/service/'.length));
    const indexNow = (): number => this.services.indexOf(name) ?? this.#lastIndex;
    if (!(await this.#holds(indexNow, query, response))) return;
    const index = this.#fixedIndex ?? String(indexNow());
    if (index !== '') response.setHeader('X-Consul-Index', index);
    response.setHeader('X-Consul-Knownleader', 'true').setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify(this.services.health(name, query['passing'] !== undefined)));
  }

  /** Holds a blocking query. Returns whether it is to be answered. */
  async #holds(indexNow: () => number, query: Query, response: ServerResponse): Promise<boolean> {
    const index = Number(query['index'] ?? 0);
    if (index === 0) return true;
    await this.#hold(indexNow, index, msOf(query['wait']), response);
    return !this.#meets('blocking queries', response);
  }

  #write(key: string, value: string, cas: string | undefined, response: ServerResponse): void {
    if (Buffer.byteLength(value) > LARGEST_VALUE) {
      response.writeHead(413).end(`Request body too large, max size: ${String(LARGEST_VALUE)} bytes`);
      return;
    }
    const { modifyIndex = 0 } = this.#entries.get(key) ?? {};
    const isWritten = cas === undefined || Number(cas) === modifyIndex;
    if (isWritten) this.put(key, value);
    response.setHeader('Content-Type', 'application/json').end(String(isWritten));
  }

  #read(key: string, recurse: boolean, response: ServerResponse): void {
    const found = [...this.#entries].filter(([name]) => (recurse ? name.startsWith(key) : name === key)).sort();
    const index = this.#fixedIndex ?? String(this.#indexOf(key));
    if (index !== '') response.setHeader('X-Consul-Index', index);
    if (found.length === 0) {
      response.writeHead(404).end();
      return;
    }
    const entries = found.map(([name, { createIndex, modifyIndex, value }]) => ({
      LockIndex: 0,
      Key: name,
      Flags: 0,
      Value: value === '' ? null : Buffer.from(value).toString('base64'),
      CreateIndex: createIndex,
      ModifyIndex: modifyIndex,
    }));
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(entries));
  }

  /** The latest change under a prefix; where there has been none, that of the whole store. */
  #indexOf(prefix: string): number {
    const indices = [...this.#entries].map(([key, { modifyIndex }]) => [key, modifyIndex] as const);
    const below = [...indices, ...this.#deletions].filter(([key]) => key.startsWith(prefix));
    return Math.max(0, ...below.map(([, index]) => index)) || this.#lastIndex;
  }

  /** Waits until something is newer than the index, the time ends, or the client disconnects. */
  async #hold(indexNow: () => number, index: number, waitMs: number, response: ServerResponse): Promise<void> {
    const endsAtMs = performance.now() + waitMs;
    const restores = this.#restores;
    const isHeld = (): boolean =>
      indexNow() <= index &&
      this.#restores === restores && // a restore ends all of them
      this.#fixedIndex === undefined &&
      !this.#faults.has('blocking queries') &&
      !response.destroyed &&
      performance.now() < endsAtMs;
    while (isHeld()) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          response.off('close', wake);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, endsAtMs - performance.now());
        response.once('close', wake);
        this.#waiting.add(wake);
      });
    }
  }

  #next(): number {
    this.#wakeSoon();
    return ++this.#lastIndex;
  }

  /** After the change has been made. */
  #wakeSoon(): void {
    queueMicrotask(() => {
      this.#wake();
    });
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  #meets(which: Which, response: ServerResponse): boolean {
    const fault = this.#faults.get(which);
    if (fault === undefined) return false;
    if (this.#fixedIndex !== undefined) response.setHeader('X-Consul-Index', this.#fixedIndex);
    if (fault === 'is cut') response.destroy();
    else if (fault !== 'hangs') response.writeHead(fault.status).end(fault.body);
    return true;
  }
}

/** The key of a path, in which it is percent-encoded. */
function keyOf(pathname: string): string {
  return decodeURIComponent(pathname.slice(KEYS.length));
}

function changed([status, text]: StubAnswer, response: ServerResponse): void {
  response.writeHead(status).end(text);
}
