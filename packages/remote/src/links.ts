import { detached, kindOf } from '@sluice/old-core/spi';
import { StoreError } from '@sluice/old-core';
import { connect, type Attempt } from './connect.ts';
import type { Link } from './link.ts';
import type { RemoteSettings } from './options.ts';
import type { ServerAddress } from './server-url.ts';

/** The pause after a round of attempts that all failed. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;

/**
 * The connection to one of several servers, which share a store: made on first use, and again whenever it has ended, to
 * the next server first. Sends nothing twice, and keeps no process alive.
 */
export class Links {
  readonly #addresses: readonly ServerAddress[];
  readonly #settings: RemoteSettings;
  #link: Link | undefined;
  #at: number;
  /** Ends with the first attempt at each server: calls wait for it. */
  #firstRound: Promise<void> | undefined;
  #attempt: Attempt | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failed = 0;
  #trouble: Error | undefined;

  constructor(addresses: readonly ServerAddress[], settings: RemoteSettings) {
    this.#addresses = addresses;
    this.#settings = settings;
    this.#at = Math.floor(Math.random() * addresses.length); // so that processes spread over the servers
  }

  /** The open connection, if there is one. */
  get current(): Link | undefined {
    return this.#link;
  }

  /**
   * The open connection.
   *
   * @throws (rejects) StoreError `SLUICE_STORE_FAILED` when there is none. Only the first calls wait for an attempt.
   */
  async open(): Promise<Link> {
    // A promise that is kept would keep what the application stores for the request that made it, as a timer does.
    this.#firstRound ??= detached(
      () =>
        new Promise((resolve) => {
          this.#connect(resolve);
        }),
    );
    await this.#firstRound;
    if (this.#link !== undefined) return this.#link;
    throw new StoreError('SLUICE_STORE_FAILED', `there is no connection to ${this.#names()}${this.#reason()}`, {
      kind: this.#trouble !== undefined && kindOf(this.#trouble) === 'denied' ? 'denied' : 'connection',
      ...(this.#trouble === undefined ? {} : { cause: this.#trouble }),
    });
  }

  /** Closes all at once. The next use opens it again. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#firstRound = undefined;
    this.#failed = 0;
    const [attempt, link] = [this.#attempt, this.#link];
    this.#attempt = undefined;
    this.#link = undefined;
    attempt?.end();
    link?.destroy();
  }

  /** @param tried - Called when there is a connection, or each server has been tried. */
  #connect(tried: () => void = () => undefined): void {
    // With what follows: the timer between two rounds would belong to the request that made the first attempt.
    detached(() => {
      this.#tryServer(tried);
    });
  }

  #tryServer(tried: () => void): void {
    const address = this.#addresses[this.#at] as ServerAddress;
    const attempt = connect(address, this.#settings, {
      onLeaving: (link) => {
        if (link === this.#link) this.#connectToNext();
      },
      onEnd: (link, error) => {
        this.#ended(link, error);
      },
    });
    this.#attempt = attempt;
    attempt.link.then(
      (link) => {
        if (this.#attempt !== attempt) {
          link.destroy();
          return;
        }
        this.#attempt = undefined;
        this.#failed = 0;
        this.#trouble = undefined;
        this.#link?.leave(); // the server asked for it
        this.#link = link;
        tried();
      },
      (error: unknown) => {
        if (this.#attempt !== attempt) {
          tried();
          return;
        }
        this.#attempt = undefined;
        this.#trouble = error as Error;
        this.#failed++;
        this.#at = (this.#at + 1) % this.#addresses.length;
        const { length } = this.#addresses;
        if (this.#failed % length !== 0) {
          this.#connect(tried);
          return;
        }
        tried();
        const pauseMs = Math.min((this.#failed / length) * FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
        this.#timer = setTimeout(() => {
          this.#timer = undefined;
          this.#connect();
        }, pauseMs).unref();
      },
    );
  }

  #connectToNext(): void {
    if (this.#attempt !== undefined || this.#timer !== undefined) return;
    this.#at = (this.#at + 1) % this.#addresses.length;
    this.#connect();
  }

  #ended(link: Link, error: Error): void {
    if (link !== this.#link) return;
    this.#link = undefined;
    this.#trouble = error;
    this.#connectToNext();
  }

  #names(): string {
    return this.#addresses.map(({ written }) => written).join(', ');
  }

  /** When a name has several addresses and none of them responds, the error has a code and no message. */
  #reason(): string {
    if (this.#trouble === undefined) return '';
    const { message, code } = this.#trouble as NodeJS.ErrnoException;
    return `: ${message === '' ? String(code) : message.replace(/ \[SLUICE_[A-Z_]+\]$/, '')}`;
  }
}
