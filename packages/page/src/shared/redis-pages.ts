import { runScript, type RedisConnection } from '@sluice/old-core/spi';
import { cutChange, readChange, readRecord, type PageRecord, type SharedChange } from './page-record.ts';
import { getTexts, putLine } from './scripts.generated.ts';

/** What the pages of other processes have written. */
export interface SharedPages {
  readonly pages: readonly SharedPage[];
  /** The last one first. */
  readonly changes: readonly SharedChange[];
  /** Records that no page of this version has written. */
  readonly unreadable: number;
}

export interface SharedPage {
  /** The same for all records of a page. */
  readonly id: string;
  /** How long ago it was written, by the clock of Redis. */
  readonly ageMs: number;
  readonly record: PageRecord;
}

type Client = Awaited<ReturnType<RedisConnection['open']>>;

/** How often a page writes its record. */
export const WRITE_EVERY_S = 5;
/** How long a record is there after a page was killed. */
const KEPT_MS = 30_000;
const CHANGES_KEPT_MS = 7 * 86_400_000;
const MOST_PAGES = 200;
const MOST_CHANGES = 100;

/**
 * What pages share in Redis, below `PREFIX:page:{page}:`: a record of each, a list of those that live, and a list of
 * changes. It takes the rights that every limiter has: `GET` and `SET` in scripts. All texts are in one slot of a cluster.
 */
export class RedisPages {
  readonly #connection: RedisConnection;

  constructor(connection: RedisConnection) {
    this.#connection = connection;
  }

  /**
   * Writes the record of a page, for half a minute.
   *
   * @param id - Without spaces.
   */
  async put(id: string, record: PageRecord): Promise<void> {
    const args = [id, String(KEPT_MS), String(MOST_PAGES), '', JSON.stringify(record)];
    await runScript(await this.#connection.open(), putLine, [this.#key('live'), this.#key(`of:${id}`)], args);
  }

  /** Adds a change to the hundred that are kept, for a week, and the beginning of its texts that are longer than pages read. `id`: another one for each change. */
  async addChange(id: string, change: SharedChange): Promise<void> {
    const args = [id, String(CHANGES_KEPT_MS), String(MOST_CHANGES), JSON.stringify(cutChange(change))];
    await runScript(await this.#connection.open(), putLine, [this.#key('changes')], args);
  }

  async read(): Promise<SharedPages> {
    const client = await this.#connection.open(); // once: it may be closed meanwhile, and would open again
    const [live = '', changes = ''] = await this.#texts(client, ['live', 'changes']);
    const ids = linesOf(live).slice(0, MOST_PAGES);
    const texts =
      ids.length === 0
        ? ['0']
        : await this.#texts(
            client,
            ids.map(({ name }) => `of:${name}`),
          );
    const nowMs = Number(texts.at(-1));
    const found = ids.map(({ name, untilMs }, i) => ({
      id: name,
      ageMs: Math.max(0, KEPT_MS - (untilMs - nowMs)),
      text: texts[i] ?? '',
    }));
    const there = found.filter(({ text }) => text !== ''); // the rest have ended
    const pages = there.flatMap(({ text, id, ageMs }) => {
      const record = readRecord(text);
      return record === undefined ? [] : [{ id, ageMs, record }];
    });
    return {
      pages,
      changes: linesOf(changes).flatMap(({ text }) => readChange(text) ?? []),
      unreadable: there.length - pages.length,
    };
  }

  /** The texts of these names, and the present instant. */
  async #texts(client: Client, names: readonly string[]): Promise<readonly string[]> {
    const keys = names.map((name) => this.#key(name));
    return ((await runScript(client, getTexts, keys, [])) as readonly unknown[]).map(String);
  }

  #key(name: string): string {
    return `${this.#connection.prefix}:page:{page}:${name}`;
  }
}

function linesOf(text: string): readonly { readonly untilMs: number; readonly name: string; readonly text: string }[] {
  return text.split('\n').flatMap((line) => {
    const [, untilMs, name, rest = ''] = /^(\d{1,15}) (\S{1,100}) (.*)$/s.exec(line) ?? [];
    return name === undefined ? [] : [{ untilMs: Number(untilMs), name, text: rest }];
  });
}
