import { ClientList } from './client-list.ts';

const MAX_KNOWN = 256;
/** The proxies whose header fields are believed. */
export class TrustedProxies {
  readonly #list: ClientList;
  /** Spellings of addresses that are trusted. */
  readonly #known = new Set<string>();

  /**
   * @param ranges - Addresses and CIDR ranges.
   * @param field - The option that has them, for errors.
   * @throws PolicyError for a malformed address.
   */
  constructor(ranges: readonly string[], field: string) {
    this.#list = new ClientList(ranges, field);
  }

  trusts(address: string | undefined): boolean {
    if (address === undefined) return false;
    if (this.#known.has(address)) return true;
    if (!this.#list.hasAddress(address)) return false;
    if (this.#known.size >= MAX_KNOWN) this.#known.clear(); // one address has many spellings
    this.#known.add(address);
    return true;
  }

  /**
   * The address of the client: the last one in the list that is not that of a trusted proxy, or else the first one.
   * Without a list it is that of the peer.
   *
   * @param peer - A trusted proxy, which has written the last entry.
   * @param forwardedFor - The field `X-Forwarded-For`. Its entries need not be addresses.
   */
  clientOf(peer: string, forwardedFor: string | undefined): string {
    if (forwardedFor === undefined) return peer;
    for (let end = forwardedFor.length; ;) {
      const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1);
      const address = forwardedFor.slice(comma + 1, end).trim();
      if (comma === -1 || !this.trusts(address)) return address;
      end = comma;
    }
  }
}
