import type { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.ts';
import { until } from './until.ts';

/** A node as another one sees it. */
interface NodeView {
  readonly id: string;
  readonly index: number;
  readonly primaryId: string;
  readonly isAlive: boolean;
  readonly slots: readonly (readonly [number, number])[];
}

const NO_PRIMARY = '-';

/** Changes and inspects a cluster for tests, as the default user of every node. */
export class ClusterAdmin {
  readonly #nodes: readonly RedisServer[];
  readonly #clients: readonly Redis[];

  constructor(nodes: readonly RedisServer[], clients: readonly Redis[]) {
    this.#nodes = nodes;
    this.#clients = clients;
  }

  /** A connection to only this node, as its default user. */
  clientOf(node: RedisServer): Redis {
    return this.#clients[this.#nodes.indexOf(node)] as Redis;
  }

  /** The hash slot of a key. */
  async slotOf(key: string): Promise<number> {
    return Promise.any(this.#clients.map((client) => client.cluster('KEYSLOT', key)));
  }

  /** The node that currently serves a key. */
  async primaryOf(key: string): Promise<RedisServer> {
    const { index } = findOwner(await this.slotOf(key), await this.#seen());
    return this.#nodes[index] as RedisServer;
  }

  /**
   * Sends kill -9 to the node that serves a key, and waits until its replica takes over and every other node knows.
   *
   * @returns The killed node.
   */
  async killPrimaryOf(key: string): Promise<RedisServer> {
    const killed = await this.primaryOf(key);
    await killed.kill();
    await this.#hasOtherPrimary(key, killed, this.#nodes.length - 1);
    return killed;
  }

  /** CLUSTER FAILOVER by a replica of the node that serves a key, agreed by both; waits until every node knows. */
  async failover(key: string): Promise<void> {
    const seen = await this.#seen();
    const owner = findOwner(await this.slotOf(key), seen);
    const replica = seen.find(({ primaryId, isAlive }) => primaryId === owner.id && isAlive);
    if (replica === undefined) throw new Error('the primary of that key has no replica');
    await this.#clients[replica.index]?.cluster('FAILOVER');
    await this.#hasOtherPrimary(key, this.#nodes[owner.index] as RedisServer, this.#nodes.length);
  }

  /**
   * Moves a slot with its keys from its primary to another one, as redis-cli does.
   *
   * @param pause - Awaited while the slot moves: after the move is declared, and after every few keys.
   */
  async moveSlot(slot: number, to: RedisServer, pause: () => Promise<void>): Promise<void> {
    const seen = await this.#seen();
    const owner = findOwner(slot, seen);
    const source = this.#clients[owner.index] as Redis;
    const target = this.clientOf(to);
    const targetId = String(await target.call('CLUSTER', 'MYID'));
    await target.cluster('SETSLOT', slot, 'IMPORTING', owner.id);
    await source.cluster('SETSLOT', slot, 'MIGRATING', targetId);
    await pause();
    for (;;) {
      const keys = await source.cluster('GETKEYSINSLOT', slot, 5);
      if (keys.length === 0) break;
      await source.migrate(to.host, to.port, '', 0, 5_000, 'KEYS', ...keys);
      await pause();
    }
    // The new owner first, so that the slot always has an owner; then the others, so that they know at once.
    const primaries = seen.filter(({ primaryId, isAlive }) => primaryId === NO_PRIMARY && isAlive);
    const rest = primaries.map(({ index }) => this.#clients[index] as Redis).filter((client) => client !== target);
    for (const client of [target, source, ...rest]) await client.cluster('SETSLOT', slot, 'NODE', targetId);
  }

  /** Waits until this number of nodes agree on a new primary of a key. */
  async #hasOtherPrimary(key: string, former: RedisServer, living: number): Promise<void> {
    const slot = await this.slotOf(key);
    await until('a replica takes over, and all know', async () => {
      const views = await Promise.allSettled(this.#clients.map((client) => this.#viewOf(client)));
      const seen = views.flatMap((view) => (view.status === 'fulfilled' ? [findOwner(slot, view.value).index] : []));
      return seen.length === living && new Set(seen).size === 1 && this.#nodes[seen[0] ?? -1] !== former;
    });
  }

  /** The cluster as seen by the first node that answers. */
  async #seen(): Promise<readonly NodeView[]> {
    return Promise.any(this.#clients.map((client) => this.#viewOf(client)));
  }

  /** Rejects while the node is down, or sees that part of the cluster is. */
  async #viewOf(client: Redis): Promise<readonly NodeView[]> {
    const [nodes, info] = await Promise.all([client.call('CLUSTER', 'NODES'), client.call('CLUSTER', 'INFO')]);
    if (!String(info).includes('cluster_state:ok')) throw new Error('the cluster is not whole');
    // A line is: id, address, flags, primary, three numbers, link, slots.
    return (nodes as string)
      .trim()
      .split('\n')
      .map((line) => {
        const [id = '', address = '', flags = '', primaryId = NO_PRIMARY, , , , , ...slots] = line.split(' ');
        const port = Number(/:(\d+)@/.exec(address)?.[1]);
        return {
          id,
          primaryId,
          index: this.#nodes.findIndex((node) => node.port === port),
          isAlive: !/fail|noaddr|handshake/.test(flags),
          slots: slots.flatMap((range) => {
            const [, from, upTo = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
            return from === undefined ? [] : [[Number(from), Number(upTo)] as const];
          }),
        };
      });
  }
}

function findOwner(slot: number, seen: readonly NodeView[]): NodeView {
  const owner = seen.find(({ slots }) => slots.some(([from, upTo]) => from <= slot && slot <= upTo));
  if (owner === undefined) throw new Error(`no node serves the slot ${String(slot)}`);
  return owner;
}
