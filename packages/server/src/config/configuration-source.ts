import type { Configuration } from './configuration.ts';
import { fingerprintOf, readFiles } from './configuration-files.ts';
import { FolderWatch } from './folder-watch.ts';
import { configurationSteps, type ConfigurationFile, type ReadOptions } from './read-configuration.ts';
import { inTurns } from './steps.ts';

/**
 * Writers change a file in several steps: it is read after this time without a change, at the latest after the second
 * one.
 */
const QUIET_MS = 50;
const LONGEST_MS = 1_000;
const POLL_MS = 10_000;

export interface SourceOptions extends ReadOptions {
  /**
   * Gets each configuration, the first one too, before it becomes the current one. An error that it throws counts as a
   * wrong file.
   */
  readonly onLoad?: (configuration: Configuration) => void;
  /**
   * Gets why the files could not be used: a ConfigurationError, or what could not be read or watched. Once for one
   * content.
   */
  readonly onError?: (error: Error) => void;
  /**
   * Whether changes are watched for. Default true. False for file systems that do not tell, where `pollMs` has to do.
   */
  readonly watch?: boolean;
  /** How often the files are read in any case, in milliseconds. Default 10 000; 0: never. */
  readonly pollMs?: number;
}

/**
 * The configuration of a file or a folder, read again after each change: a write, a rename over it, a swapped symbolic
 * link. Files that cannot be used change nothing: the last good configuration stays.
 */
export class ConfigurationSource {
  readonly #path: string;
  readonly #options: SourceOptions;
  readonly #watch: FolderWatch | undefined;
  readonly #poll: NodeJS.Timeout | undefined;
  #current: Configuration | undefined;
  /** The last attempt: the fingerprint of the files, or why they could not be read. */
  #tried: string | undefined;
  #loads = 0;
  #errors = 0;
  #timer: NodeJS.Timeout | undefined;
  #firstChangeMs: number | undefined;
  #checking: Promise<void> | undefined;
  #isClosed = false;

  /**
   * Loads the configuration for the first time, and follows it from then on.
   *
   * @throws (rejects) ConfigurationError, what could not be read, or what `onLoad` throws.
   */
  static async open(path: string, options: SourceOptions): Promise<ConfigurationSource> {
    const source = new ConfigurationSource(path, options);
    try {
      await source.#watch?.refresh();
      // A change that comes meanwhile waits, so that what is older does not come last.
      await source.#alone(async () => source.#load(await readFiles(path)));
    } catch (error) {
      source.close();
      throw error;
    }
    return source;
  }

  private constructor(path: string, options: SourceOptions) {
    const { watch = true, pollMs = POLL_MS } = options;
    this.#path = path;
    this.#options = options;
    if (watch) {
      this.#watch = new FolderWatch(
        path,
        () => {
          this.#changed();
        },
        (error) => options.onError?.(error),
      );
    }
    if (pollMs > 0) this.#poll = setInterval(() => void this.check(), pollMs).unref();
  }

  /** The last good configuration. */
  get current(): Configuration {
    return this.#current as Configuration;
  }

  /** How often a configuration was loaded, the first time included. */
  get loads(): number {
    return this.#loads;
  }

  /** How often the files could not be used. */
  get errors(): number {
    return this.#errors;
  }

  /** Reads the files now, and loads what they say if that is new. Never rejects. */
  async check(): Promise<void> {
    while (this.#checking !== undefined) await this.#checking.catch(() => undefined);
    if (!this.#isClosed) await this.#alone(() => this.#check());
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    this.#checking = work();
    try {
      await this.#checking;
    } finally {
      this.#checking = undefined;
    }
  }

  /** Follows the files no longer. */
  close(): void {
    this.#isClosed = true;
    this.#watch?.close();
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
  }

  #changed(): void {
    if (this.#isClosed) return;
    const nowMs = performance.now();
    this.#firstChangeMs ??= nowMs;
    clearTimeout(this.#timer);
    const waitMs = Math.min(QUIET_MS, Math.max(this.#firstChangeMs + LONGEST_MS - nowMs, 0));
    this.#timer = setTimeout(() => {
      this.#firstChangeMs = undefined;
      void this.check();
    }, waitMs).unref();
  }

  async #check(): Promise<void> {
    const files = await this.#read();
    if (files === undefined || this.#isClosed || fingerprintOf(files) === this.#tried) return;
    try {
      await this.#load(files);
    } catch (error) {
      this.#report(error as Error);
    }
  }

  /** Undefined where the files cannot be read, which is reported once. */
  async #read(): Promise<readonly ConfigurationFile[] | undefined> {
    try {
      // First the folders, then the files: a change after the first look is reported.
      await this.#watch?.refresh();
      return await readFiles(this.#path);
    } catch (error) {
      const failure = error as Error;
      if (this.#tried !== failure.message && !this.#isClosed) this.#report(failure);
      this.#tried = failure.message;
      return undefined;
    }
  }

  async #load(files: readonly ConfigurationFile[]): Promise<void> {
    this.#tried = fingerprintOf(files);
    const configuration = await inTurns(configurationSteps(files, this.#options));
    if (this.#isClosed) return;
    this.#options.onLoad?.(configuration);
    this.#current = configuration;
    this.#loads++;
  }

  #report(error: Error): void {
    if (this.#isClosed) return;
    this.#errors++;
    this.#options.onError?.(error);
  }
}
