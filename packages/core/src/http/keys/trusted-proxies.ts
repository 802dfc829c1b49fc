import { ClientList } from './client-list.ts';

/** The proxies whose header fields are trusted: a list of addresses and CIDR ranges. */
export class TrustedProxies extends ClientList {
  trusts(address: string | undefined): boolean {
    return this.hasAddress(address);
  }

  /**
   * The client's address: the last one in the list that is not a trusted proxy's, or otherwise the first. Without a
   * list, it is the peer's.
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
