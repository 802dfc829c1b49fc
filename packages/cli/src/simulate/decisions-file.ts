import { closeSync, openSync, writeFileSync } from 'node:fs';
import { UsageError } from '../failure.ts';
import type { OnDecision } from './replay/replay.ts';

const BUFFERED = 256 * 1024;

/** Writes each decision as a JSON object on a line, in the order in which they were made. */
export class DecisionsFile {
  readonly #file: number;
  #text = '';

  /** @throws UsageError for a file that cannot be written. */
  constructor(path: string) {
    try {
      this.#file = openSync(path, 'w');
    } catch (error) {
      throw new UsageError(`cannot write --decisions ${path}: ${(error as Error).message}`, { cause: error });
    }
  }

  readonly add: OnDecision = ({ line, atMs }, key, candidate, allowed) => {
    this.#text += `${JSON.stringify({ line, atMs, key: key ?? null, candidate, allowed })}\n`;
    if (this.#text.length > BUFFERED) this.#flush();
  };

  close(): void {
    this.#flush();
    closeSync(this.#file);
  }

  #flush(): void {
    writeFileSync(this.#file, this.#text); // all of it: a pipe may take a part at a time
    this.#text = '';
  }
}
