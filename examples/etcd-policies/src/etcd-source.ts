import type { PolicySource } from '@sluice/core/managed';
import { setTimeout as sleep } from 'node:timers/promises';

/** How long etcd may take for an answer. */
const TIMEOUT_MS = 4000;
/** After a watch that ended or failed. Meanwhile, polling finds changes. */
const PAUSE_MS = 1000;

interface KeyValue {
  readonly key: string;
  readonly value?: string;
  readonly mod_revision: string;
}

/**
 * Managed policies in etcd, over its JSON gateway: `createPolicies(etcdSource())`. Each record is a key below `prefix`. A
 * put is a transaction that compares the key's revision, and a watch reports changes.
 */
export function etcdSource(address = 'http://127.0.0.1:2379', prefix = 'sluice/policies/'): PolicySource {
  // All keys that begin with the prefix: up to the same text with a last character that is one greater.
  const range = {
    key: encode(prefix),
    range_end: encode(prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)),
  };
  /** The revision of each record that was read: a write compares it, so that it replaces only what was read. */
  const revisions = new WeakMap<object, string>();

  async function ask(path: string, body: object, signal: AbortSignal): Promise<Response> {
    const response = await fetch(`${address}/v3/${path}`, { method: 'POST', body: JSON.stringify(body), signal });
    if (response.ok) return response;
    throw new Error(`etcd at ${address} answered ${String(response.status)} ${await response.text()}`);
  }

  return {
    name: `the keys ${prefix} of etcd`,

    async load() {
      const response = await ask('kv/range', range, AbortSignal.timeout(TIMEOUT_MS));
      const { kvs = [] } = (await response.json()) as { readonly kvs?: readonly KeyValue[] };
      const records: Record<string, object> = {};
      for (const { key, value = '', mod_revision } of kvs) {
        const record = parseRecord(decode(value));
        revisions.set(record, mod_revision);
        records[decode(key).slice(prefix.length)] = record;
      }
      return records;
    },

    async put(name, record, before) {
      const key = encode(prefix + name);
      const mod_revision = revisions.get(before as object) ?? '0'; // 0: there is no such key
      const compare = [{ key, target: 'MOD', result: 'EQUAL', mod_revision }];
      const success = [{ request_put: { key, value: encode(JSON.stringify(record)) } }];
      const response = await ask('kv/txn', { compare, success }, AbortSignal.timeout(TIMEOUT_MS));
      return ((await response.json()) as { readonly succeeded?: boolean }).succeeded === true;
    },

    watch(changed) {
      const watching = new AbortController();
      const { signal } = watching;
      const follow = async (): Promise<void> => {
        const { body } = await ask('watch', { create_request: range }, signal);
        await body?.pipeTo(
          new WritableStream({
            write: () => {
              changed();
            },
          }),
        );
      };
      void (async () => {
        while (!signal.aborted) {
          await follow().catch(() => undefined); // a load rejects with the reason
          await sleep(PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined);
        }
      })();
      return () => {
        watching.abort();
      };
    },
  };
}

function encode(text: string): string {
  return Buffer.from(text).toString('base64');
}

function decode(base64: string): string {
  return Buffer.from(base64, 'base64').toString();
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
