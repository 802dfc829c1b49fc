import type { PolicySource } from '@sluice/core/managed';
import { parseRecord } from './record.ts';

/** How long Consul may take for an answer. */
const TIMEOUT_MS = 4000;
const FOLDER = 'sluice/policies/';

/** A key as Consul returns it. */
interface Entry {
  readonly Key: string;
  /** Base64; null if it is empty. */
  readonly Value: string | null;
  readonly ModifyIndex: number;
}

/**
 * Managed policies in Consul's key-value store, one key for each: `createPolicies(consulSource())`. A put is a
 * check-and-set.
 *
 * @param token - Sent as `X-Consul-Token`.
 */
export function consulSource(address = 'http://127.0.0.1:8500', token?: string): PolicySource {
  /** Consul's version of each record that was read: a write names it, so that it replaces only what was read. */
  const versions = new WeakMap<object, number>();

  async function ask(method: 'GET' | 'PUT', name: string, query: string, body?: string): Promise<string> {
    const path = (FOLDER + name).split('/').map(encodeURIComponent).join('/');
    const url = new URL(`/v1/kv/${path}?${query}`, address);
    const headers: Record<string, string> = token === undefined ? {} : { 'X-Consul-Token': token };
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    // The target of a redirect would receive the token and be trusted.
    const request = { method, headers, signal, redirect: 'error', ...(body !== undefined && { body }) } as const;
    const response = await fetch(url, request).catch((error: unknown) => {
      throw new Error(`Consul at ${url.origin} does not answer (${String(error)})`, { cause: error });
    });
    const text = await response.text();
    if (response.headers.get('x-consul-results-filtered-by-acls') === 'true') {
      throw new Error('the token may not read these keys'); // else they would seem to be lost
    }
    // A 404 with an index stands for no keys. One without is not from Consul: as no keys, it would lose all policies.
    const isOfConsul = method === 'PUT' || response.headers.has('x-consul-index');
    if (response.ok && isOfConsul) return text;
    if (response.status === 404 && isOfConsul && method === 'GET') return '[]';
    throw new Error(
      `Consul at ${url.origin} answered ${String(response.status)} ${text.slice(0, 200)} to ${url.pathname}`,
    );
  }

  return {
    name: `the folder ${FOLDER} of Consul`,

    async load() {
      const records: [string, object][] = [];
      for (const { Key, Value, ModifyIndex } of JSON.parse(await ask('GET', '', 'recurse=true')) as readonly Entry[]) {
        const name = Key.slice(FOLDER.length);
        if (name === '' || name.includes('/')) continue; // the folder itself, which Consul's page makes, or another one
        const record = parseRecord(Buffer.from(Value ?? '', 'base64').toString());
        versions.set(record, ModifyIndex);
        records.push([name.replace(/%2F|%25/g, decodeURIComponent), record]);
      }
      return Object.fromEntries(records);
    },

    async put(name, record, before) {
      const version = versions.get(before as object) ?? 0; // 0: there is no such key
      const key = name.replace(/[%/]/g, encodeURIComponent); // overrides of keys such as `org/7` have slashes
      return (await ask('PUT', key, `cas=${String(version)}`, JSON.stringify(record))).trim() === 'true';
    },
  };
}
