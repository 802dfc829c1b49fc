import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Call {
  readonly ID?: string;
  readonly TTL?: number;
  readonly key?: string;
  readonly range_end?: string;
  readonly value?: string;
  readonly lease?: string;
}

/** The calls of etcd's JSON gateway that the recipe makes. The row `etcd` of the matrix runs the same tests on a real one. */
export class EtcdStub {
  readonly #server: Server;
  readonly #leases = new Map<string, { ttlMs: number; endsAtMs: number }>();
  readonly #keys = new Map<string, { value: string; lease: string }>();
  #lastLease = 0;

  private constructor() {
    this.#server = createServer((request, response) => {
      void text(request).then((body) => {
        response.setHeader('Content-Type', 'application/json');
        response.end(JSON.stringify(this.#answer(request.url ?? '', JSON.parse(body) as Call)));
      });
    });
  }

  static async start(): Promise<EtcdStub> {
    const stub = new EtcdStub();
    stub.#server.listen(0, '127.0.0.1');
    await once(stub.#server, 'listening');
    return stub;
  }

  get url(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #answer(path: string, { ID = '', TTL = 0, key = '', range_end: end = '', value = '', lease = '' }: Call): object {
    for (const [id, { endsAtMs }] of this.#leases) if (performance.now() > endsAtMs) this.#revoke(id);
    switch (path) {
      case '/v3/lease/grant': {
        const id = String(++this.#lastLease);
        this.#leases.set(id, { ttlMs: TTL * 1000, endsAtMs: performance.now() + TTL * 1000 });
        return { ID: id, TTL: String(TTL) };
      }
      case '/v3/lease/keepalive': {
        const found = this.#leases.get(ID);
        if (found === undefined) return { result: { ID } };
        found.endsAtMs = performance.now() + found.ttlMs;
        return { result: { ID, TTL: String(found.ttlMs / 1000) } };
      }
      case '/v3/lease/revoke':
        this.#revoke(ID);
        return {};
      case '/v3/kv/put':
        this.#keys.set(decode(key), { value, lease });
        return {};
      default: {
        const found = [...this.#keys].filter(([name]) => name >= decode(key) && name < decode(end));
        return { kvs: found.map(([name, { value: kept }]) => ({ key: encode(name), value: kept })) };
      }
    }
  }

  #revoke(id: string): void {
    this.#leases.delete(id);
    for (const [name, { lease }] of this.#keys) if (lease === id) this.#keys.delete(name);
  }
}

const encode = (plain: string): string => Buffer.from(plain).toString('base64');
const decode = (encoded: string): string => Buffer.from(encoded, 'base64').toString();
