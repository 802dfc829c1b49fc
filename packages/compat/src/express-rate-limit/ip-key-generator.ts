import { isIPv6 } from 'node:net';

/**
 * The key of an address: IPv4 as it is, IPv6 as its network of `ipv6Subnet` bits. IPv4 written as IPv6
 * (`::ffff:1.2.3.4`, `::1.2.3.4`) is the IPv4 address.
 *
 * @param ipv6Subnet - Bits; `false` for the whole address.
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = 56): string {
  if (!isIPv6(ip)) return ip;
  const groups = readGroups(ip);
  const isZero = (group: number): boolean => group === 0;
  const isMapped = groups.slice(0, 5).every(isZero) && groups[5] === 0xffff;
  // The deprecated range ::/96 holds ::1, too: only the notation tells the two apart.
  const isCompatible = groups.slice(0, 6).every(isZero) && ip.includes('.');
  if (isMapped || isCompatible)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.');
  if (ipv6Subnet === false || ipv6Subnet === 0) return ip;
  const network = groups.map((group, i) => {
    const hostBits = Math.min(Math.max(16 * (i + 1) - ipv6Subnet, 0), 16);
    return (group & (0xffff << hostBits) & 0xffff).toString(16);
  });
  return `${canonical(network.join(':'))}/${String(ipv6Subnet)}`;
}

/** As RFC 5952 writes it, which is how URLs do. */
function canonical(ip: string): string {
  return new URL(`http://[${ip.replace(/%.*/, '')}]`).hostname.slice(1, -1);
}

/** Eight groups of 16 bits. */
function readGroups(ip: string): readonly number[] {
  const split = (text: string): readonly string[] => text.split(':').filter((group) => group !== '');
  const text = canonical(ip);
  const zeros = ':0'.repeat(8 - split(text).length);
  return split(text.replace('::', `${zeros}:`)).map((group) => Number.parseInt(group, 16));
}
