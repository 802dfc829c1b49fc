import type { Redis } from 'ioredis';
import type { RedisServer } from './redis-server.ts';
import { until } from './until.ts';

/** A node as listed by another one. */
interface NodeView {
  readonly id: string;
  readonly index: number;
  readonly primaryId: string | undefined;
  readonly isAlive: boolean;
  readonly slots: readonly (readonly [number, number])[];
}

/** Changes and inspects a cluster for tests, as the default user of every node. */
export class ClusterAdmin {
  readonly #nodes: readonly RedisServer[];
  readonly #clients: readonly Redis[];

  constructor(nodes: readonly RedisServer[], clients: readonly Redis[]) {
    this.#nodes = nodes;
    this.#clients = clients;
  }

  /** A connection to this node alone, as its default user. */
  clientOf(node: RedisServer): Redis {
    return this.#clients[this.#nodes.indexOf(node)] as Redis;
  }

  /** The hash slot of a key. */
  async slotOf(key: string): Promise<number> {
    return this.#anyone((client) => client.cluster('KEYSLOT', key));
  }

  /** The node that serves a key at present. */
  async primaryOf(key: string): Promise<RedisServer> {
    const { index } = this.#ownerOf(await this.slotOf(key), await this.#seen());
    return this.#nodes[index] as RedisServer;
  }

  /**
   * Sends kill -9 to the node that serves a key, and waits until its replica takes over and every living node knows.
   *
   * @returns The node that serves the key now, and the killed one.
   */
  async killPrimaryOf(key: string): Promise<{ promoted: RedisServer; killed: RedisServer }> {
    const killed = await this.primaryOf(key);
    await killed.kill();
    return { promoted: await this.#newPrimaryOf(key, killed), killed };
  }

  /**
   * CLUSTER FAILOVER by a replica of the node that serves a key, agreed by both; waits until every living node knows.
   */
  async failover(key: string): Promise<{ promoted: RedisServer; former: RedisServer }> {
    const seen = await this.#seen();
    const owner = this.#ownerOf(await this.slotOf(key), seen);
    const replica = seen.find(({ primaryId, isAlive }) => primaryId === owner.id && isAlive);
    if (replica === undefined) throw new Error('the primary of that key has no replica');
    const former = this.#nodes[owner.index] as RedisServer;
    await this.#clients[replica.index]?.cluster('FAILOVER');
    return { promoted: await this.#newPrimaryOf(key, former), former };
  }

  /**
   * Moves a slot with its keys from its primary to another one, as redis-cli does.
   *
   * @param pause - Awaited while the slot moves: after the move is declared, and after every few keys.
   */
  async moveSlot(slot: number, to: RedisServer, pause: () => Promise<void> = async () => {}): Promise<void> {
    const seen = await this.#seen();
    const owner = this.#ownerOf(slot, seen);
    const source = this.#clients[owner.index] as Redis;
    const target = this.clientOf(to);
    const targetId = String(await target.call('CLUSTER', 'MYID'));
    if (owner.id === targetId) return;
    await target.cluster('SETSLOT', slot, 'IMPORTING', owner.id);
    await source.cluster('SETSLOT', slot, 'MIGRATING', targetId);
    await pause();
    for (;;) {
      const keys = await source.cluster('GETKEYSINSLOT', slot, 5);
      if (keys.length === 0) break;
      await source.migrate(to.host, to.port, '', 0, 5_000, 'KEYS', ...keys);
      await pause();
    }
    // The new owner first, so that the slot always has an owner; then the others, so that they know it at once.
    const primaries = seen.filter(({ primaryId, isAlive }) => primaryId === undefined && isAlive);
    const rest = primaries.map(({ index }) => this.#clients[index] as Redis).filter((client) => client !== target);
    for (const client of [target, source, ...rest]) await client.cluster('SETSLOT', slot, 'NODE', targetId);
  }

  async #newPrimaryOf(key: string, former: RedisServer): Promise<RedisServer> {
    const slot = await this.slotOf(key);
    return until('a replica takes over, and all know', async () => {
      const views = await Promise.all(this.#clients.map((client) => this.#viewOf(client)));
      const living = views.filter((view) => view !== undefined);
      const owners = new Set(living.map(({ seen }) => this.#ownerOf(slot, seen).index));
      const [index = -1] = owners;
      const promoted = this.#nodes[index];
      return owners.size === 1 && promoted !== former && living.every(({ isOk }) => isOk) && promoted;
    });
  }

  #ownerOf(slot: number, seen: readonly NodeView[]): NodeView {
    const owner = seen.find(({ slots }) => slots.some(([from, upTo]) => from <= slot && slot <= upTo));
    if (owner === undefined) throw new Error(`no node serves the slot ${String(slot)}`);
    return owner;
  }

  async #seen(): Promise<readonly NodeView[]> {
    const views = await Promise.all(this.#clients.map((client) => this.#viewOf(client)));
    const view = views.find((one) => one?.isOk) ?? views.find((one) => one !== undefined);
    if (view === undefined) throw new Error('no node of the cluster answers');
    return view.seen;
  }

  /** The cluster as seen by a node, or undefined when the node is away. */
  async #viewOf(client: Redis): Promise<{ seen: readonly NodeView[]; isOk: boolean } | undefined> {
    try {
      const [nodes, info] = await Promise.all([client.call('CLUSTER', 'NODES'), client.call('CLUSTER', 'INFO')]);
      return {
        seen: String(nodes)
          .trim()
          .split('\n')
          .map((line) => this.#read(line)),
        isOk: String(info).includes('cluster_state:ok'),
      };
    } catch {
      return undefined;
    }
  }

  /** A line of CLUSTER NODES: id, address, flags, primary, three numbers, link, slots. */
  #read(line: string): NodeView {
    const [id = '', address = '', flags = '', primaryId = '-', , , , , ...slots] = line.split(' ');
    const port = Number(/:(\d+)@/.exec(address)?.[1]);
    return {
      id,
      index: this.#nodes.findIndex((node) => node.port === port),
      primaryId: primaryId === '-' ? undefined : primaryId,
      isAlive: !/fail|noaddr|handshake/.test(flags),
      slots: slots.flatMap((range) => {
        const [, from, upTo = from] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
        return from === undefined ? [] : [[Number(from), Number(upTo)] as const];
      }),
    };
  }

  /** Asks the first node that answers. */
  async #anyone<T>(ask: (client: Redis) => Promise<T>): Promise<T> {
    let trouble: unknown;
    for (const client of this.#clients) {
      try {
        return await ask(client);
      } catch (error) {
        trouble = error;
      }
    }
    throw trouble;
  }
}
