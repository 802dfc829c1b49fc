const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
/** Without leading zeros, and without octal, hexadecimal and short forms. */
const IPV4: RegExp = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const IPV6_CHARACTERS = /^[\da-f:.]+$/i;
const MAPPED = '::ffff:';

/**
 * The canonical form of an address, the same for all its spellings; undefined if the text is not an address.
 *
 * IPv4-mapped (`::ffff:0:0/96`) and NAT64 (`64:ff9b::/96`) addresses, in any notation, become the IPv4 address inside.
 * Zone, port and brackets are removed. Other IPv6 addresses are cut to `ipv6Prefix` bits, because one client owns all
 * addresses in that network; the loopback stays as it is.
 */
export function canonicalAddress(text: string, ipv6Prefix: number): string | undefined {
  if (IPV4.test(text)) return text;
  if (text.startsWith(MAPPED)) {
    const inner = text.slice(MAPPED.length); // how a server that listens on IPv6 writes IPv4 clients
    if (IPV4.test(inner)) return inner;
  }
  const address = stripDecoration(text);
  if (IPV4.test(address)) return address;
  const groups = parseIpv6(address);
  if (groups === undefined) return undefined;
  const embedded = getEmbeddedIpv4(groups);
  if (embedded !== undefined) return embedded;
  if (groups.every((group, i) => group === (i === 7 ? 1 : 0))) return '::1';
  const kept = groups.map(
    (group, i) => group & (0xffff << Math.min(Math.max(16 * (i + 1) - ipv6Prefix, 0), 16)) & 0xffff,
  );
  const network = compressed(kept.map((group) => group.toString(16)).join(':'));
  return ipv6Prefix === 128 ? network : `${network}/${String(ipv6Prefix)}`;
}

/**
 * An address as eight groups of 16 bits, the same for all its spellings; IPv4 as `::ffff:a.b.c.d`, also within NAT64.
 * Undefined if the text is not an address.
 */
export function readAddressBits(text: string): readonly number[] | undefined {
  const address = stripDecoration(text);
  const ipv4 = parseIpv4(address);
  if (ipv4 !== undefined) return mapped(...ipv4);
  const groups = parseIpv6(address);
  return groups !== undefined && isNat64(groups) ? mapped(groups[6] as number, groups[7] as number) : groups;
}

function mapped(high: number, low: number): readonly number[] {
  return [0, 0, 0, 0, 0, 0xffff, high, low];
}

/** Without brackets, port and zone: `[fe80::1%eth0]:443` is `fe80::1`. */
function stripDecoration(text: string): string {
  let address = text;
  if (address.startsWith('[')) {
    const end = address.indexOf(']');
    const after = address.slice(end + 1);
    if (end === -1 || !(after === '' || isPort(after))) return '';
    address = address.slice(1, end);
  } else if (address.includes('.')) {
    const colon = address.lastIndexOf(':');
    if (colon > address.lastIndexOf('.') && isPort(address.slice(colon))) address = address.slice(0, colon);
  }
  const zone = address.indexOf('%');
  return zone === -1 ? address : address.slice(0, zone);
}

function isPort(text: string): boolean {
  return /^:\d{1,5}$/.test(text);
}

/** Four decimal octets as two groups of 16 bits, or undefined. */
function parseIpv4(text: string): readonly [number, number] | undefined {
  if (!IPV4.test(text)) return undefined;
  const [a, b, c, d] = text.split('.').map(Number) as [number, number, number, number];
  return [a * 256 + b, c * 256 + d];
}

/** Eight groups of 16 bits, or undefined. Uses the URL parser, which every runtime has. */
function parseIpv6(text: string): readonly number[] | undefined {
  if (!IPV6_CHARACTERS.test(text) || !URL.canParse(`http://[${text}]`)) return undefined;
  const [before = [], after = []] = compressed(text).split('::').map(readGroups);
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after];
}

function readGroups(text: string): readonly number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));
}

/** RFC 5952: lower case, the longest run of two or more zero groups as `::`. */
function compressed(ipv6: string): string {
  return new URL(`http://[${ipv6}]`).hostname.slice(1, -1);
}

function getEmbeddedIpv4(groups: readonly number[]): string | undefined {
  const [high = 0, low = 0] = groups.slice(6);
  return isIpv4(groups) || isNat64(groups) ? [high >> 8, high & 255, low >> 8, low & 255].join('.') : undefined;
}

/** Whether eight groups are an IPv4-mapped address. */
export function isIpv4([a, b, c, d, e, f]: readonly number[]): boolean {
  return a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff;
}

function isNat64([a, b, c, d, e, f]: readonly number[]): boolean {
  return a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0;
}
