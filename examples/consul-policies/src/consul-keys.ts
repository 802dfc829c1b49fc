/** The agent, the folder, and the access to them. */
export interface ConsulKeysOptions {
  readonly address: string;
  /** With or without slashes around it. */
  readonly folder: string;
  readonly token: string | undefined;
  /** The time limit of an answer, beyond the requested wait. */
  readonly timeoutMs: number;
}

/** A key of the folder. */
export interface Key {
  /** Without the folder. */
  readonly name: string;
  readonly text: string;
  /** Consul's `ModifyIndex`. */
  readonly version: number;
}

/** All keys of the folder at an index. */
export interface Folder {
  readonly keys: readonly Key[];
  readonly index: number;
}

/** A key as returned by the endpoint. */
interface Entry {
  readonly Key: string;
  /** Base64; null for an empty value. */
  readonly Value: string | null;
  readonly ModifyIndex: number;
}

interface ConsulCall {
  readonly method: 'GET' | 'PUT';
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly withinMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface Answer {
  readonly url: string;
  readonly status: number;
  readonly text: string;
  readonly index: number;
}

/** One folder of Consul's key-value store, over the two forms of its endpoint `/v1/kv` that policies need. */
export class ConsulKeys {
  readonly #options: ConsulKeysOptions;

  /** @throws TypeError for an invalid address. */
  constructor(options: ConsulKeysOptions) {
    const url = URL.canParse(options.address) ? new URL(options.address) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '') {
      throw new TypeError('address must be the http or https URL of an agent; secrets go into token');
    }
    this.#options = { ...options, folder: options.folder.replace(/^\/+|\/+$/g, '') };
  }

  async read(): Promise<Folder> {
    return this.#read({}, 0);
  }

  /** Resolves when something changes after this index, or when the wait ends without a change. */
  async readAfter(index: number, waitMs: number, signal: AbortSignal): Promise<Folder> {
    // Consul adds up to a sixteenth of the wait, so that clients do not all ask again at once.
    return this.#read({ index: String(index), wait: `${String(waitMs / 1000)}s` }, waitMs + waitMs / 16, signal);
  }

  /** Resolves to false when the key has another version by now, or exists where version 0 is given. */
  async checkAndSet(name: string, text: string, version: number): Promise<boolean> {
    const { folder, timeoutMs } = this.#options;
    const key = `${folder}/${storedName(name)}`;
    const query = { cas: String(version) };
    const answer = await this.#ask({ method: 'PUT', key, query, body: text, withinMs: timeoutMs });
    return answer.text.trim() === 'true';
  }

  async #read(query: Readonly<Record<string, string>>, waitMs: number, signal?: AbortSignal): Promise<Folder> {
    const { folder, timeoutMs } = this.#options;
    const key = `${folder}/`;
    const answer = await this.#ask({
      method: 'GET',
      key,
      query: { recurse: 'true', ...query },
      withinMs: waitMs + timeoutMs,
      signal,
    });
    const keys = entriesOf(answer)
      .map(({ Key, Value, ModifyIndex }) => ({
        stored: Key.slice(key.length),
        text: Buffer.from(Value ?? '', 'base64').toString('utf8'),
        version: ModifyIndex,
      }))
      // The folder itself, which the pages of Consul create, and folders in it.
      .filter(({ stored }) => stored !== '' && !stored.includes('/'))
      .map(({ stored, ...rest }) => ({ name: nameOf(stored), ...rest }));
    return { keys, index: answer.index };
  }

  async #ask({ method, key, query, body, withinMs, signal }: ConsulCall): Promise<Answer> {
    const { address, token } = this.#options;
    const path = key.split('/').map(encodeURIComponent).join('/');
    const url = new URL(`/v1/kv/${path}?${new URLSearchParams(query).toString()}`, address);
    const asking = new AbortController();
    const end = (): void => {
      asking.abort(new Error('it was closed'));
    };
    signal?.addEventListener('abort', end);
    if (signal?.aborted === true) end();
    const timer = setTimeout(() => {
      asking.abort(new Error(`no answer within ${String(Math.round(withinMs))} ms`));
    }, withinMs);
    try {
      const response = await fetch(url, {
        method,
        headers: token === undefined ? {} : { 'X-Consul-Token': token },
        signal: asking.signal,
        redirect: 'error', // the target of a redirect would receive the token and be trusted
        ...(body !== undefined && { body }),
      });
      const text = await response.text();
      const { status } = response;
      const index = response.headers.get('x-consul-index');
      if (response.headers.get('x-consul-results-filtered-by-acls') === 'true') {
        throw new Error('the token may not read these keys'); // else they would seem to be lost
      }
      // A 404 also stands for no keys. A 404 without an index is not from Consul: read as no keys, it would lose all
      // policies.
      const isFolder = method === 'GET' && index !== null && (status === 200 || status === 404);
      if (!isFolder && !(method === 'PUT' && status === 200)) {
        throw new Error(`answered ${String(status)} ${text.slice(0, 200)}`.trim());
      }
      return { url: url.href, status, text, index: Number(index) || 0 };
    } catch (error) {
      throw new Error(`Consul at ${url.origin}, ${method} ${url.pathname}: ${reasonOf(error)}`, { cause: error });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }
}

/** A name as the last part of a key: overrides of keys such as `org/7` have names with slashes. */
function storedName(name: string): string {
  return name.replace(/[%/]/g, encodeURIComponent);
}

function nameOf(stored: string): string {
  return stored.replace(/%2F|%25/g, decodeURIComponent);
}

/** The keys of an answer; there is none where there are none. */
function entriesOf({ url, status, text }: Answer): readonly Entry[] {
  if (status === 404) return [];
  try {
    const entries: unknown = JSON.parse(text);
    if (Array.isArray(entries)) return entries as readonly Entry[];
  } catch {
    // Reported below.
  }
  throw new Error(`${url} answered no list of keys: ${text.slice(0, 200)}`);
}

/** `fetch` puts the reason into the cause of its error. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  if (!(cause instanceof Error)) return message;
  // When a name has several addresses and none answers, the error has a code and no message.
  return `${message} (${cause.message === '' ? String((cause as NodeJS.ErrnoException).code) : cause.message})`;
}
