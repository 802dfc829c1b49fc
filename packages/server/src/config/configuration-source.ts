import type { Configuration } from './configuration.ts';
import { loadConfiguration, readStamp, type LoadOptions } from './load-configuration.ts';

/** How often the files are checked. */
const LOOK_MS = 250;

export interface SourceOptions extends LoadOptions {
  /**
   * Called with each configuration, including the first, before it becomes the current one. If it throws, the file
   * counts as wrong.
   */
  readonly onLoad?: (configuration: Configuration) => void;
  /**
   * Called with the reason why the files could not be used, once per content: a ConfigurationError, or the error of
   * reading them.
   */
  readonly onError?: (error: Error) => void;
}

/**
 * The configuration of a file or a folder, reloaded after each change: a write, a rename over it, a swapped symbolic
 * link. Files that cannot be used change nothing: the last good configuration stays.
 */
export class ConfigurationSource {
  readonly #path: string;
  readonly #options: SourceOptions;
  #current: Configuration | undefined;
  /** The state of the files at the last check, and at the last load. */
  #seen: string | undefined;
  #loaded: string | undefined;
  #looking: NodeJS.Timeout | undefined;
  /** Loads run one after another, so that an older one never finishes last. */
  #last: Promise<void> = Promise.resolve();
  #isClosed = false;

  private constructor(path: string, options: SourceOptions) {
    this.#path = path;
    this.#options = options;
  }

  /**
   * Loads the configuration for the first time, and follows its files from then on.
   *
   * @throws (rejects) ConfigurationError, what could not be read, or what `onLoad` throws.
   */
  static async open(path: string, options: SourceOptions): Promise<ConfigurationSource> {
    const source = new ConfigurationSource(path, options);
    await source.#load(await readStamp(path));
    source.#looking = setInterval(() => void source.#look(), LOOK_MS).unref();
    return source;
  }

  /** The last good configuration. */
  get current(): Configuration {
    return this.#current as Configuration;
  }

  /** Loads the files now, whether they have changed or not. Never rejects. */
  reload(): Promise<void> {
    this.#last = this.#last.then(async () => this.#tryToLoad(await readStamp(this.#path)));
    return this.#last;
  }

  /** Stops following the files, and ignores a read in progress. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#looking);
  }

  /** Loads changed files once two checks in a row find them equal, because writers may take several steps. */
  async #look(): Promise<void> {
    const stamp = await readStamp(this.#path);
    const isQuiet = stamp === this.#seen;
    this.#seen = stamp;
    if (!isQuiet || stamp === this.#loaded) return;
    this.#last = this.#last.then(() => this.#tryToLoad(stamp));
  }

  async #tryToLoad(stamp: string): Promise<void> {
    try {
      await this.#load(stamp);
    } catch (error) {
      if (!this.#isClosed) this.#options.onError?.(error as Error);
    }
  }

  async #load(stamp: string): Promise<void> {
    this.#loaded = this.#seen = stamp;
    const configuration = await loadConfiguration(this.#path, this.#options);
    if (this.#isClosed) return;
    this.#options.onLoad?.(configuration);
    this.#current = configuration;
  }
}
