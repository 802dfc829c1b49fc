import type { PolicyRecord, PolicySource } from '@sluice/core/managed';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ConsulSourceOptions {
  /** The http or https URL of an agent. Default `http://127.0.0.1:8500`. */
  readonly address?: string | undefined;
  /** The folder of the policies, with a key for each. Default `sluice/policies`. */
  readonly folder?: string | undefined;
  /** Sent as `X-Consul-Token`. Default: none. */
  readonly token?: string | undefined;
  /** The time limit of an answer, in milliseconds. Default 4000. */
  readonly timeoutMs?: number | undefined;
  /** The longest wait of a blocking query, in milliseconds. Default 30 000. */
  readonly waitMs?: number | undefined;
}

/** A key as Consul returns it. */
interface Entry {
  readonly Key: string;
  /** Base64; null if it is empty. */
  readonly Value: string | null;
  readonly ModifyIndex: number;
}

/** Between two blocking queries, also with many changes; after failures, longer. */
const PAUSE_MS = 100;
const MAX_PAUSE_MS = 10_000;

/**
 * Managed policies in Consul's key-value store, one key for each: `createPolicies(consulSource())`. A put is a
 * check-and-set; a blocking query reports changes.
 */
export function consulSource(options: ConsulSourceOptions = {}): PolicySource {
  const { address = 'http://127.0.0.1:8500', token, timeoutMs = 4000, waitMs = 30_000 } = options;
  const folder = `${(options.folder ?? 'sluice/policies').replace(/^\/+|\/+$/g, '')}/`;
  /** Consul's version of each record that was read: a write names it, so that it replaces only what was read. */
  const versions = new WeakMap<object, number>();

  async function ask(method: 'GET' | 'PUT', name: string, query: object, signal: AbortSignal, body?: string) {
    const path = (folder + name).split('/').map(encodeURIComponent).join('/');
    const url = new URL(`/v1/kv/${path}?${new URLSearchParams({ ...query }).toString()}`, address);
    const headers: Record<string, string> = token === undefined ? {} : { 'X-Consul-Token': token };
    // The target of a redirect would receive the token and be trusted.
    const request = { method, headers, signal, redirect: 'error', ...(body !== undefined && { body }) } as const;
    const response = await fetch(url, request).catch((error: unknown) => {
      throw new Error(`Consul at ${url.origin} does not answer (${String(error)})`, { cause: error });
    });
    const text = await response.text();
    const index = response.headers.get('x-consul-index');
    if (response.headers.get('x-consul-results-filtered-by-acls') === 'true') {
      throw new Error('the token may not read these keys'); // else they would seem to be lost
    }
    // A 404 with an index stands for no keys. One without is not from Consul: as no keys, it would lose all policies.
    const isEmpty = response.status === 404 && index !== null && method === 'GET';
    if (response.ok && (index !== null || method === 'PUT')) return { text, index: Number(index) || 0 };
    if (isEmpty) return { text: '[]', index: Number(index) || 0 };
    throw new Error(
      `Consul at ${url.origin} answered ${String(response.status)} ${text.slice(0, 200)} to ${url.pathname}`,
    );
  }

  async function follow(changed: () => void, signal: AbortSignal): Promise<void> {
    let index = 0;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const query = { recurse: 'true', index: String(index), wait: `${String(waitMs / 1000)}s` };
        // Consul adds up to a sixteenth of the wait, so that clients do not all ask again at once.
        const patience = AbortSignal.timeout(waitMs + waitMs / 16 + timeoutMs);
        const answer = await ask('GET', '', query, AbortSignal.any([signal, patience]));
        if (answer.index !== index) changed();
        // By Consul's documentation: 0 would not block; start again if the index goes back, as after a restored snapshot.
        const next = answer.index < index ? 0 : answer.index;
        index = answer.index < 1 ? 1 : next;
        failures = 0;
      } catch {
        failures++; // a load rejects with the reason; meanwhile polling finds changes
        index = 0;
      }
      const pauseMs = Math.min(PAUSE_MS * 2 ** failures, MAX_PAUSE_MS);
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  return {
    name: `the folder ${folder} of Consul`,

    async load() {
      const { text } = await ask('GET', '', { recurse: 'true' }, AbortSignal.timeout(timeoutMs));
      const records: [string, object][] = [];
      for (const { Key, Value, ModifyIndex } of JSON.parse(text) as readonly Entry[]) {
        const name = Key.slice(folder.length);
        if (name === '' || name.includes('/')) continue; // the folder itself, which Consul's page makes, or another one
        const record = parseRecord(Buffer.from(Value ?? '', 'base64').toString());
        versions.set(record, ModifyIndex);
        records.push([name.replace(/%2F|%25/g, decodeURIComponent), record]);
      }
      return Object.fromEntries(records);
    },

    async put(name: string, record: PolicyRecord, before: unknown) {
      const cas = String(versions.get(before as object) ?? 0); // 0: there is no such key
      const key = name.replace(/[%/]/g, encodeURIComponent); // overrides of keys such as `org/7` have slashes
      const { text } = await ask('PUT', key, { cas }, AbortSignal.timeout(timeoutMs), JSON.stringify(record));
      return text.trim() === 'true';
    },

    watch(changed) {
      const watching = new AbortController();
      void follow(changed, watching.signal);
      return () => {
        watching.abort();
      };
    },
  };
}

/** Text that is no JSON is still a record, of a policy that is unusable and can be put again. */
function parseRecord(text: string): object {
  try {
    const record: unknown = JSON.parse(text);
    if (typeof record === 'object' && record !== null) return record;
  } catch {
    // Not what Sluice wrote.
  }
  return { unreadable: text };
}
