import { isIPv4, isIPv6 } from 'node:net';
import { canonicalAddress } from '@sluice/core/http';

/**
 * The key of an address: IPv4 unchanged, IPv6 (NAT64 too) as its network of `ipv6Subnet` bits. IPv4 written as IPv6
 * (`::ffff:1.2.3.4`, `::1.2.3.4`) is the IPv4 address.
 *
 * @param ipv6Subnet - Bits; `false` for the whole address.
 */
export function ipKeyGenerator(ip: string, ipv6Subnet: number | false = 56): string {
  if (!isIPv6(ip)) return ip;
  const [, compatible] = /^[0:]+:([\d.]+\.\d+)$/.exec(ip) ?? [];
  if (compatible !== undefined) return compatible;
  const bits = ipv6Subnet === false || ipv6Subnet === 0 ? 128 : ipv6Subnet;
  const network = canonicalAddress(ip, bits) as string;
  if (isIPv4(network) && /^[0:]+:ffff:/i.test(ip)) return network;
  if (bits !== ipv6Subnet) return ip;
  if (bits === 128) return `${new URL(`http://[${ip}]`).hostname.slice(1, -1)}/128`;
  if (isIPv4(network)) return `64:ff9b::/${String(bits)}`; // behind NAT64
  return network === '::1' ? `::/${String(bits)}` : network; // the loopback is no network there
}
