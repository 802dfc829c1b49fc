import { closeSync, openSync, writeFileSync } from 'node:fs';
import { cannotWrite } from './output-files.ts';
import type { OnDecision } from './replay/replay.ts';

const BUFFERED = 256 * 1024;

/** Writes each decision as a JSON object on a line, in the order in which they were made. */
export class DecisionsFile {
  readonly #path: string;
  readonly #file: number;
  #text = '';

  /** @throws UsageError for a file that cannot be written. */
  constructor(path: string) {
    this.#path = path;
    try {
      this.#file = openSync(path, 'w');
    } catch (error) {
      throw cannotWrite('--decisions', path, error);
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
    try {
      writeFileSync(this.#file, this.#text); // all of it: a pipe may take a part at a time
    } catch (error) {
      throw cannotWrite('--decisions', this.#path, error);
    }
    this.#text = '';
  }
}
