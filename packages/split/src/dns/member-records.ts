import type { SrvRecord } from 'node:dns';
import { isIPv4, isIPv6 } from 'node:net';

/** The kinds of records that list members. */
export type MemberRecord = 'SRV' | 'A' | 'AAAA';

/** The id of a member by what its user writes of it; undefined if that is no record of this kind. */
export function readSelf(type: MemberRecord, text: string): string | undefined {
  if (type === 'A') return isIPv4(text) ? text : undefined;
  if (type === 'AAAA') return isIPv6(text) ? canonical(text) : undefined;
  const [, target, port] = /^([^:\s]+):(\d{1,5})$/.exec(text) ?? [];
  return target === undefined ? undefined : memberId(target, Number(port));
}

/** The members of an answer, all of equal weight. */
export function membersByAddress(addresses: readonly string[]): Record<string, number> {
  return Object.fromEntries(addresses.map((address) => [isIPv6(address) ? canonical(address) : address, 1]));
}

/**
 * The members of an answer with the weights of their records. A weight of 0 is what a registry without weights writes.
 * Records of every priority count, because all of them may get requests.
 */
export function membersByTarget(records: readonly SrvRecord[]): Record<string, number> {
  return Object.fromEntries(records.map(({ name, port, weight }) => [memberId(name, port), Math.max(weight, 1)]));
}

/** Names of the DNS have no case, and may end in a dot. */
function memberId(target: string, port: number): string {
  return `${target.toLowerCase().replace(/\.$/, '')}:${String(port)}`;
}

/** An address has several forms in IPv6. */
function canonical(address: string): string {
  return new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
}
