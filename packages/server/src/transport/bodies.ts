import type { IncomingMessage } from 'node:http';
import { RequestProblem } from './request-problem.ts';

/** Bytes of incomplete bodies at most, in a process. */
const MOST_BYTES: number = 64 * 1024 * 1024;
/** How long a body may take, in milliseconds. */
const LONGEST_MS = 10_000;
const SOON = { 'retry-after': '1' };

export interface BodiesOptions {
  /** The longest body, in bytes. */
  readonly longest: number;
  /** Default 10 seconds. */
  readonly longestMs?: number | undefined;
  /** Bytes of incomplete bodies at most. Default 64 MiB. */
  readonly mostBytes?: number | undefined;
}

/** Reads bodies of requests: bounds the bytes and the time of each, and the bytes of all that are not complete. */
export class Bodies {
  readonly #longest: number;
  readonly #longestMs: number;
  readonly #mostBytes: number;
  #heldBytes = 0;

  constructor({ longest, longestMs = LONGEST_MS, mostBytes = MOST_BYTES }: BodiesOptions) {
    this.#longest = longest;
    this.#longestMs = longestMs;
    this.#mostBytes = mostBytes;
  }

  /**
   * @throws (rejects) RequestProblem: 400 where it ends early, 408, 413 for what is too long, 503 where there are too
   * many. The connection ends with the answer, because what is left of the body is not read.
   */
  read(request: IncomingMessage): Promise<Buffer> {
    const chunks: Buffer[] = [];
    let length = 0;
    const tooLong = (): string => `the body has at most ${String(this.#longest)} bytes, got more`;
    return new Promise<Buffer>((resolve, reject) => {
      /** Ends what this body takes. Further calls change nothing. */
      const end = (): void => {
        request.off('data', receive);
        clearTimeout(timer);
        this.#heldBytes -= length;
        length = 0;
        chunks.length = 0;
      };
      const fail = (status: 400 | 408 | 413 | 503, detail: string): void => {
        end();
        request.pause();
        reject(new RequestProblem(status, detail, {}, { connection: 'close', ...(status === 503 ? SOON : {}) }));
      };
      const receive = (chunk: Buffer): void => {
        length += chunk.length;
        this.#heldBytes += chunk.length;
        chunks.push(chunk);
        if (length > this.#longest) fail(413, tooLong());
        else if (this.#heldBytes > this.#mostBytes) fail(503, 'the service reads as many bodies as it can');
      };
      const timer = setTimeout(() => {
        fail(408, `the body must be there within ${String(this.#longestMs)} ms`);
      }, this.#longestMs);
      request.once('end', () => {
        resolve(Buffer.concat(chunks));
        end();
      });
      request.once('close', () => {
        fail(400, 'the body has ended early');
      });
      request.on('error', () => undefined); // 'close' follows
      if (Number(request.headers['content-length'] ?? 0) > this.#longest) fail(413, tooLong());
      else request.on('data', receive);
    });
  }
}
