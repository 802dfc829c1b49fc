import { pollMembership, type Membership } from '@sluice/split';

export interface EtcdMembershipOptions {
  /** The URL of etcd, such as `http://127.0.0.1:2379`. */
  readonly url: string;
  /** The beginning of the keys of all members, such as `gateways/`. */
  readonly prefix: string;
  readonly id: string;
  readonly weight?: number;
}

/** How long a process that was killed stays a member, in seconds. */
const LEASE_S = 5;

/**
 * The keys below a prefix in etcd: each member keeps its own under a lease, which it renews with every request, and its
 * weight is the value. Over the JSON gateway of etcd 3.4 and later.
 */
export function etcdMembership({ url, prefix, id, weight = 1 }: EtcdMembershipOptions): Membership {
  let lease: string | undefined;
  const members = async (signal: AbortSignal): Promise<Record<string, number>> => {
    const call = (path: string, body: object): Promise<Reply> => ask(`${url}/v3/${path}`, body, signal);
    const kept = lease === undefined ? undefined : await call('lease/keepalive', { ID: lease });
    if (kept?.result?.TTL === undefined) {
      const { ID } = await call('lease/grant', { TTL: LEASE_S });
      await call('kv/put', { key: encode(prefix + id), value: encode(String(weight)), lease: ID });
      lease = ID;
    }
    const { kvs = [] } = await call('kv/range', { key: encode(prefix), range_end: encode(after(prefix)) });
    return Object.fromEntries(kvs.map(({ key, value }) => [decode(key).slice(prefix.length), Number(decode(value))]));
  };
  return pollMembership({ id, members });
}

interface Reply {
  readonly ID?: string;
  readonly result?: { readonly TTL?: string };
  readonly kvs?: readonly { readonly key: string; readonly value: string }[];
}

async function ask(url: string, body: object, signal: AbortSignal): Promise<Reply> {
  const response = await fetch(url, { method: 'POST', body: JSON.stringify(body), signal });
  if (!response.ok) throw new Error(`etcd answered ${String(response.status)}: ${await response.text()}`);
  return (await response.json()) as Reply;
}

const encode = (text: string): string => Buffer.from(text).toString('base64');
const decode = (text: string): string => Buffer.from(text, 'base64').toString();
/** The end of the range of all keys with a prefix. */
const after = (prefix: string): string =>
  prefix.slice(0, -1) + String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1);
