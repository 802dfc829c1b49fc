import type { Server, Socket } from 'node:net';
import { Clients } from './clients.ts';
import { Waiting, type Waiter, type WaitingBounds } from './waiting.ts';

/** Connections over which nothing whole has come yet: a peer opens few in advance. */
const SILENT: WaitingBounds = { mostOfClient: 256, most: 2048 };
/** Connections over which requests have come. */
const KNOWN: WaitingBounds = { mostOfClient: 1024, most: 4096 };

/** How the owner of a listener ends a connection: at once, or with the answer to what runs. */
export type EndConnection = (socket: Socket) => void;

/** A connection, as it was accepted: with TLS it is not the one that requests have. */
interface Connection extends Waiter {
  readonly socket: Socket;
}

type Ends = Pick<Socket, 'remoteAddress' | 'remotePort' | 'localPort'>;

/** One that this class has seen a request of. */
interface KnownSocket extends Socket {
  [IS_KNOWN]?: true;
}

const IS_KNOWN = Symbol('known');

/**
 * The connections of a process: bounds their number, of each peer and of all, apart for those over which nothing whole
 * has come. The oldest one of a peer that has too many is ended. Those of gateways are never ended, and do not count.
 */
export class Connections {
  readonly #clients: Clients;
  readonly #silent: Waiting<Connection>;
  readonly #known: Waiting<Connection>;
  /** Those that have come over silently, by their far ends. */
  readonly #byEnd = new Map<string, Connection>();

  constructor(
    clients: Clients = new Clients(),
    bounds: { readonly silent: WaitingBounds; readonly known: WaitingBounds } = { silent: SILENT, known: KNOWN },
  ) {
    this.#clients = clients;
    this.#silent = new Waiting(bounds.silent);
    this.#known = new Waiting(bounds.known);
  }

  /** Follows the connections of a server. */
  follow(server: Server, end: EndConnection): void {
    server.on('connection', (socket: Socket) => {
      this.#add(socket, end);
    });
  }

  /** Called when something whole has come over a connection: a request, a hello. */
  served(socket: Socket): void {
    const known = socket as KnownSocket;
    if (known[IS_KNOWN] === true) return;
    known[IS_KNOWN] = true;
    const end = endOf(socket);
    const connection = this.#byEnd.get(end);
    if (connection === undefined) return;
    this.#byEnd.delete(end);
    this.#silent.delete(connection);
    this.#known.add(connection);
  }

  isOfGateway({ remoteAddress }: Pick<Socket, 'remoteAddress'>): boolean {
    return this.#clients.isGateway(remoteAddress);
  }

  #add(socket: Socket, end: EndConnection): void {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || this.isOfGateway(socket)) return;
    const far = endOf(socket);
    const connection: Connection = {
      socket,
      client: this.#clients.peerOf(remoteAddress),
      heldBytes: 0,
      drop: () => {
        this.#byEnd.delete(far);
        end(socket);
      },
    };
    this.#byEnd.set(far, connection);
    socket.once('close', () => {
      if (this.#byEnd.get(far) === connection) this.#byEnd.delete(far);
      this.#silent.delete(connection);
      this.#known.delete(connection);
    });
    this.#silent.add(connection);
  }
}

/** Whether two sockets are of one connection: one with TLS has two. */
export function areSame(one: Ends, other: Ends): boolean {
  return one === other || endOf(one) === endOf(other);
}

/** Names the far end. */
function endOf({ remoteAddress, remotePort, localPort }: Ends): string {
  return `${String(remoteAddress)} ${String(remotePort)} ${String(localPort)}`;
}
