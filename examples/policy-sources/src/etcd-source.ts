import type { PolicySource } from '@sluice/core/managed';
import { parseRecord } from './record.ts';

/** How long etcd may take for an answer. */
const TIMEOUT_MS = 4000;
const PREFIX = 'sluice/policies/';
/** All keys that begin with the prefix: 0 follows the slash. */
const RANGE = { key: encode(PREFIX), range_end: encode('sluice/policies0') };

interface KeyValue {
  readonly key: string;
  readonly value?: string;
  readonly mod_revision: string;
}

/**
 * Managed policies in etcd, over its JSON gateway: `createPolicies(etcdSource())`. Each record is a key below
 * `sluice/policies/`. A put is a transaction that compares the key's revision.
 */
export function etcdSource(address = 'http://127.0.0.1:2379'): PolicySource {
  /** The revision of each record that was read: a write compares it, so that it replaces only what was read. */
  const revisions = new WeakMap<object, string>();

  async function ask(path: string, body: object): Promise<unknown> {
    const request = { method: 'POST', body: JSON.stringify(body), signal: AbortSignal.timeout(TIMEOUT_MS) };
    const response = await fetch(`${address}/v3/kv/${path}`, request);
    if (response.ok) return response.json();
    throw new Error(`etcd at ${address} answered ${String(response.status)} ${await response.text()}`);
  }

  return {
    name: `the keys ${PREFIX} of etcd`,

    async load() {
      const { kvs = [] } = (await ask('range', RANGE)) as { readonly kvs?: readonly KeyValue[] };
      const records: Record<string, object> = {};
      for (const { key, value = '', mod_revision } of kvs) {
        const record = parseRecord(decode(value));
        revisions.set(record, mod_revision);
        records[decode(key).slice(PREFIX.length)] = record;
      }
      return records;
    },

    async put(name, record, before) {
      const key = encode(PREFIX + name);
      const mod_revision = revisions.get(before as object) ?? '0'; // 0: there is no such key
      const compare = [{ key, target: 'MOD', result: 'EQUAL', mod_revision }];
      const success = [{ request_put: { key, value: encode(JSON.stringify(record)) } }];
      return ((await ask('txn', { compare, success })) as { readonly succeeded?: boolean }).succeeded === true;
    },
  };
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

function decode(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
}
