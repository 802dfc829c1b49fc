import fc from 'fast-check';

/** Spellings of a path, the plain one first: each framework decides which of them name the same resource. */
export function spellingsOf(path: string): readonly string[] {
  const name = path.slice(1);
  const first = `%${name.charCodeAt(0).toString(16)}`;
  const rest = name.slice(1);
  return [
    ...[path, path.toUpperCase(), `/${name.charAt(0).toUpperCase()}${rest}`, `${path}/`, `${path}//`, `/${path}`],
    ...[`//${path}`, `/.${path}`, `/x/..${path}`, `${path}/.`, `${path}/../${name}`, `/${first}${rest}`],
    ...[`/${first.toUpperCase()}${rest}`, `/%25${first.slice(1)}${rest}`, `${path};a=1`, `${path}?`, `${path}?x=1`],
    ...[`${path}?${path}`, `${path}#f`, `${path}%23f`, `http://test${path}`, `HTTP://OTHER${path}`],
    ...[`http://test/${path}`, `${path}%2F`, `${path}%2f`, `%2F${name}`, `/%2F${name}`, `${path}%00`, `${path}%20`],
    ...[`${path}%09`, `${path}%0A`, `${path}.`, `${path}%3Fx`, `${path}%E8`, `/%c0%af${name}`, `\\${name}`],
    ...[`${path}\\`, `${path}&`, `${path}*`],
  ];
}

/** Spellings of the IPv4 address of four octets. */
function spellIpv4(a: number, b: number, c: number, d: number): string[] {
  const hex = (high: number, low: number): string => (high * 256 + low).toString(16);
  const text = [a, b, c, d].join('.');
  return [
    ...[text, `::ffff:${text}`, `::FFFF:${text}`, `::ffff:${hex(a, b)}:${hex(c, d)}`],
    ...[`0:0:0:0:0:ffff:${hex(a, b)}:${hex(c, d)}`, `0000:0000:0000:0000:0000:FFFF:${text}`, `64:ff9b::${text}`],
    ...[`64:ff9b::${hex(a, b)}:${hex(c, d)}`, `${text}:4711`, `[::ffff:${text}]:4711`],
  ];
}

/** Spellings of the IPv6 address of eight groups. */
function spellIpv6(groups: readonly number[]): string[] {
  const plain = groups.map((group) => group.toString(16)).join(':');
  const compressed = new URL(`http://[${plain}]`).hostname.slice(1, -1);
  const padded = groups.map((group) => group.toString(16).padStart(4, '0')).join(':');
  return [plain, compressed, plain.toUpperCase(), padded, `[${compressed}]`, `[${plain}]:4711`, `${compressed}%eth0`];
}

/** Spellings of any public IPv4 address; the machine's own addresses are proxies in tests. */
export const ipv4Spellings: fc.Arbitrary<string[]> = fc
  .tuple(fc.integer({ min: 1, max: 126 }), fc.nat(255), fc.nat(255), fc.nat(255))
  .map((octets) => spellIpv4(...octets));

/** Spellings of any public IPv6 address. */
export const ipv6Spellings: fc.Arbitrary<string[]> = fc
  .tuple(
    fc.integer({ min: 0x2000, max: 0x3fff }),
    fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 7, maxLength: 7 }),
  )
  .map(([first, rest]) => spellIpv6([first, ...rest]));
