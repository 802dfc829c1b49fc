import { isIPv6 } from 'node:net';
import { formatIpv6, isIpv4, writtenBits } from '@sluice/old-http/spi';

/**
 * The key of an address: IPv4 as it is, IPv6 as its network of `ipv6Subnet` bits. IPv4 written as IPv6
 * (`::ffff:1.2.3.4`, `::1.2.3.4`) is the IPv4 address.
 *
 * @param ipv6Subnet - Bits; `false` for the whole address.
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = 56): string {
  const groups = isIPv6(ip) ? writtenBits(ip) : undefined;
  if (groups === undefined) return ip;
  if (isIpv4(groups) || (ip.includes('.') && isCompatible(groups))) return ipv4In(groups);
  return ipv6Subnet === false || ipv6Subnet === 0
    ? ip
    : `${formatIpv6(groups.map((group, i) => group & maskOf(i, ipv6Subnet)))}/${String(ipv6Subnet)}`;
}

/** `::/96`, a range that is deprecated, and holds `::1`: only the notation tells the two apart. */
function isCompatible(groups: readonly number[]): boolean {
  return groups.slice(0, 6).every((group) => group === 0);
}

function ipv4In(groups: readonly number[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 255])
    .join('.');
}

/** The bits of a group that belong to the network. */
function maskOf(i: number, bits: number): number {
  const hostBits = Math.min(Math.max(16 * (i + 1) - bits, 0), 16);
  return (0xffff << hostBits) & 0xffff;
}
