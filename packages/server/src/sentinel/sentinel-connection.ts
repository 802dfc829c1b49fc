import type { Socket } from 'node:net';
import { isPending } from '@sluice/old-core/spi';
import { PipelinedSocket } from '../transport/pipelined-socket.ts';
import { MessageReader, readMessage, writePong, writeResult } from './codec.ts';
import { TYPE, type FlowRequest, type ParamFlowRequest, type Ping, type TokenResult } from './messages.ts';
import type { TokenService } from './token-service.ts';

/** Above this number of requests in flight the connection is not read, until half of them are answered. */
const MOST_IN_FLIGHT = 4_096;
/** A client that says nothing is gone, as for Sentinel's server. */
const IDLE_MS = 600_000;

/** One connection of a client of Sentinel. Whatever it sends is bounded, and costs no other connection anything. */
export class SentinelConnection {
  readonly #socket: PipelinedSocket;
  readonly #tokens: TokenService;
  readonly #reader = new MessageReader();
  /** Whether nothing has come. */
  #isNew = true;
  #inFlight = 0;
  #namespace: string | undefined;
  #isLeaving = false;

  /** @param ended - Called once, when it has ended or is about to. */
  constructor(socket: Socket, tokens: TokenService, ended: () => void) {
    this.#tokens = tokens;
    this.#socket = new PipelinedSocket(socket, {
      mostInFlight: MOST_IN_FLIGHT,
      inFlight: () => this.#inFlight,
      read: (chunk) => {
        if (this.#isNew && isOfBrowser(chunk)) {
          socket.destroy();
          return;
        }
        this.#isNew = false;
        this.#reader.push(chunk, (message) => {
          this.#receive(message);
        });
      },
      ended: () => {
        if (this.#namespace !== undefined) tokens.clients.remove(this.#namespace);
        ended();
      },
    });
    socket.setTimeout(IDLE_MS, () => {
      socket.destroy();
    });
  }

  /** Answers what was asked, and ends. The client connects again in two seconds. */
  leave(): void {
    this.#isLeaving = true;
    this.#socket.hold();
    this.#endIfAnswered();
  }

  #receive(bytes: Buffer): void {
    const message = readMessage(bytes);
    if (message === undefined) return;
    if (message.type === TYPE.ping) this.#ping(message);
    else this.#decide(message);
  }

  /** If a client pings several times, the last ping counts. */
  #ping({ xid, namespace }: Ping): void {
    const { clients } = this.#tokens;
    if (namespace === undefined) {
      this.#socket.write(writePong(xid, undefined));
      return;
    }
    if (this.#namespace !== namespace) {
      if (this.#namespace !== undefined) clients.remove(this.#namespace);
      this.#namespace = namespace;
      clients.add(namespace);
    }
    this.#socket.write(writePong(xid, clients.count(namespace)));
  }

  #decide(request: FlowRequest | ParamFlowRequest): void {
    const result = this.#tokens.decide(request);
    if (!isPending(result)) {
      this.#answer(request, result);
      return;
    }
    this.#inFlight++;
    void result.then((decided) => {
      this.#inFlight--;
      this.#answer(request, decided);
      if (this.#isLeaving) this.#endIfAnswered();
      else this.#socket.resume();
    });
  }

  #answer({ xid, type }: FlowRequest | ParamFlowRequest, result: TokenResult): void {
    this.#socket.write(writeResult(xid, type, result));
  }

  #endIfAnswered(): void {
    if (this.#inFlight === 0 && !this.#socket.isEnded) this.#socket.endSoon();
  }
}

/**
 * Whether a connection begins as a request of HTTP does. A page reaches the loopback of its browser's machine: its first
 * line would be skipped as a message of 20 kB, and the body behind it could use units up.
 */
function isOfBrowser(chunk: Buffer): boolean {
  return isCapital(chunk[0]) && isCapital(chunk[1]);
}

function isCapital(byte = 0): boolean {
  return byte >= 65 && byte <= 90;
}
