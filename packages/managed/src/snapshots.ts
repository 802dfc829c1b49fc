import { detached, messageOf, warnOnce } from '@sluice/core/spi';
import type { NamedRecord, SnapshotFile } from './snapshot-file.ts';

/** Changes that come together are written once. */
const WRITE_AFTER_MS = 1000;

/** Keeps the copy in a file up to date with what a process knows. */
export class Snapshots {
  readonly #file: SnapshotFile;
  readonly #records: () => Iterable<NamedRecord>;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;

  /** @param records - What the process knows at present. */
  constructor(file: SnapshotFile, records: () => Iterable<NamedRecord>) {
    this.#file = file;
    this.#records = records;
  }

  get path(): string {
    return this.#file.path;
  }

  /** The records of the copy. Undefined without one that can be read: a warning says why. */
  async read(): Promise<readonly NamedRecord[] | undefined> {
    try {
      return await this.#file.read();
    } catch (error) {
      this.#warn('read', error);
      return undefined;
    }
  }

  /** Something has changed: writes it within a second or so. */
  changed(): void {
    this.#timer ??= detached(() => setTimeout(() => void this.#write(), WRITE_AFTER_MS).unref());
  }

  /** Writes what has not been written. */
  async flush(): Promise<void> {
    if (this.#timer !== undefined) await this.#write();
    await this.#writing;
  }

  async #write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const before = this.#writing;
    this.#writing = this.#writeAfter(before);
    await this.#writing;
  }

  async #writeAfter(before: Promise<void> | undefined): Promise<void> {
    await before;
    try {
      await this.#file.write(this.#records());
    } catch (error) {
      this.#warn('written', error);
    }
  }

  #warn(how: 'read' | 'written', error: unknown): void {
    warnOnce(
      'SLUICE_POLICIES_AWAY',
      `the copy of the policies in ${this.path} (snapshotFile) cannot be ${how}: ${messageOf(error)}. A start at which their source is away has no policies.`,
      `${this.path} ${how}`,
    );
  }
}
