import type { IncomingMessage } from 'node:http';
import { Clients } from './clients.ts';
import { RequestProblem } from './request-problem.ts';
import { Waiting, type Waiter, type WaitingBounds } from './waiting.ts';

const MIB = 1024 * 1024;
/**
 * Bodies that are not whole, and their bytes, in a process: clients that send headers and body apart have one for less
 * than a millisecond.
 */
const BOUNDS: WaitingBounds = {
  mostOfClient: 512,
  most: 2048,
  mostBytesOfClient: 8 * MIB,
  mostBytes: 32 * MIB,
};
/** How long a body may take, in milliseconds. */
const LONGEST_MS = 10_000;
const CLOSE = { connection: 'close' };
const SOON = { 'retry-after': '1' };

/** The bodies of a process that are not whole: a gateway's by the gateway's client. */
export class WaitingBodies extends Waiting<WaitingBody> {
  readonly clients: Clients;

  constructor(clients: Clients = new Clients(), bounds: WaitingBounds = BOUNDS) {
    super(bounds);
    this.clients = clients;
  }
}

export interface BodiesOptions {
  /** The longest body, in bytes. */
  readonly longest: number;
  /** Default 10 seconds. */
  readonly longestMs?: number | undefined;
  /** Those of all routes. Default: of these bodies alone. */
  readonly waiting?: WaitingBodies | undefined;
}

/** Reads bodies of requests: bounds the bytes and the time of each, and what is not whole, of each client and of all. */
export class Bodies {
  readonly #longest: number;
  readonly #longestMs: number;
  readonly #waiting: WaitingBodies;

  constructor({ longest, longestMs = LONGEST_MS, waiting = new WaitingBodies() }: BodiesOptions) {
    this.#longest = longest;
    this.#longestMs = longestMs;
    this.#waiting = waiting;
  }

  /**
   * @throws (rejects) RequestProblem: 400 where it ends early, 408, 413 for what is too long, 503 where there are too
   * many. The connection ends with the answer, because what is left of the body is not read; a gateway's does not where
   * its other clients are the reason.
   */
  read(request: IncomingMessage): Promise<Buffer> {
    return new Promise<Buffer>((resolve, reject) => {
      const body = new WaitingBody(request, this.#waiting, { resolve, reject });
      body.read(this.#longest, this.#longestMs);
    });
  }
}

interface Outcome {
  resolve(body: Buffer): void;
  reject(error: RequestProblem): void;
}

/** A body that is read. */
class WaitingBody implements Waiter {
  readonly client: string;
  heldBytes = 0;
  readonly #request: IncomingMessage;
  readonly #all: WaitingBodies;
  readonly #outcome: Outcome;
  #chunks: Buffer[] = [];
  #longest = 0;
  #timer: NodeJS.Timeout | undefined;
  readonly #receive = (chunk: Buffer): void => {
    this.#add(chunk);
  };

  constructor(request: IncomingMessage, all: WaitingBodies, outcome: Outcome) {
    this.client = all.clients.clientOf(request);
    this.#request = request;
    this.#all = all;
    this.#outcome = outcome;
  }

  read(longest: number, longestMs: number): void {
    const request = this.#request;
    this.#longest = longest;
    request.on('error', () => undefined); // 'close' follows
    if (Number(request.headers['content-length'] ?? 0) > longest) {
      this.#failTooLong();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#fail(408, `the body must be there within ${String(longestMs)} ms`, CLOSE);
    }, longestMs);
    request.once('end', () => {
      this.#outcome.resolve(Buffer.concat(this.#chunks));
      this.#end();
    });
    request.once('close', () => {
      this.#fail(400, 'the body has ended early', CLOSE);
    });
    this.#all.add(this);
    request.on('data', this.#receive);
  }

  drop(): void {
    const isOfGateway = this.#all.clients.isGateway(this.#request.socket.remoteAddress);
    this.#fail(503, 'the service reads as many bodies as it can', isOfGateway ? SOON : { ...CLOSE, ...SOON });
    if (isOfGateway) this.#request.resume(); // what is left is dropped: the connection serves other clients
  }

  #add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.heldBytes += chunk.length;
    this.#all.held(this, chunk.length);
    if (this.heldBytes > this.#longest) this.#failTooLong();
  }

  #failTooLong(): void {
    this.#fail(413, `the body has at most ${String(this.#longest)} bytes, got more`, CLOSE);
  }

  #fail(status: 400 | 408 | 413 | 503, detail: string, fields: Readonly<Record<string, string>>): void {
    this.#end();
    this.#request.pause();
    this.#outcome.reject(new RequestProblem(status, detail, {}, fields));
  }

  /** Ends what this body takes. Further calls change nothing. */
  #end(): void {
    this.#request.off('data', this.#receive);
    clearTimeout(this.#timer);
    this.#all.delete(this);
    this.heldBytes = 0;
    this.#chunks = [];
  }
}
