import type { Source } from './read/sources.ts';

const EVERY_MS = 200;

/** Writes how far a log is read, on one line of a terminal; on anything else, nothing. */
export class Progress {
  readonly #sources: readonly Source[];
  readonly #startedMs = performance.now();
  readonly #isShown = process.stderr.isTTY;
  #nextMs = 0;

  constructor(sources: readonly Source[]) {
    this.#sources = sources;
  }

  report(lines: number): void {
    if (!this.#isShown) return;
    const nowMs = performance.now();
    if (nowMs < this.#nextMs) return;
    this.#nextMs = nowMs + EVERY_MS;
    const seconds = Math.max((nowMs - this.#startedMs) / 1000, 0.001);
    const size = this.#sources.reduce((sum, source) => sum + (source.size ?? NaN), 0);
    const read = this.#sources.reduce((sum, { readBytes }) => sum + readBytes, 0);
    const part = size > 0 ? `, ${String(Math.floor((read / size) * 100))}%` : '';
    process.stderr.write(
      `\r${String(lines)} lines, ${String(Math.round(lines / seconds / 1000))}k a second${part}\u001b[K`,
    );
  }

  end(): void {
    if (this.#isShown && this.#nextMs > 0) process.stderr.write('\r\u001b[K');
  }
}
