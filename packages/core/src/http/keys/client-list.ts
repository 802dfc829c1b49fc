import { PolicyError, shown } from '../../errors.ts';
import { readAddressBits, isIpv4 } from './address.ts';

/** The addresses whose first `prefix` bits equal those of `bits`, eight groups of 16 bits. */
interface Range {
  readonly bits: readonly number[];
  readonly prefix: number;
}

/**
 * Matches text that was meant as an address or a range: dotted numbers, or groups between colons, with what people add
 * to them. If such text cannot be parsed, it is rejected: as a key, it would match no request. A key of several parts
 * contains a bar, which no address does.
 */
const LIKE_AN_ADDRESS =
  /^\s*\[?(\d+(\.\d+){3}|[\da-f]*:[\da-f]*:[\da-f:.]*)([\]%:/\s-][^|]*)?$|^\s*\d+(\.(\d+|\*)){0,3}\.?\/\d+\s*$|^\s*\d+(\.\d+)*\.\*/i;

/** The clients of an `allow` or `deny` list: addresses, CIDR ranges and whole keys. */
export class ClientList {
  readonly #ranges: readonly Range[];
  readonly #keys: ReadonlySet<string>;

  /** @throws PolicyError for an entry that is neither an address, a range nor a key. */
  constructor(given: unknown, field: string) {
    if (!Array.isArray(given)) {
      throw new PolicyError(
        field,
        `${field} must be a list of addresses, CIDR ranges such as "10.0.0.0/8", or keys, got ${shown(given)}`,
        'SLUICE_OPTION_INVALID',
      );
    }
    const ranges: Range[] = [];
    const keys = new Set<string>();
    for (const [i, entry] of given.entries()) {
      const range = typeof entry === 'string' ? parseRange(entry) : undefined;
      if (range !== undefined) {
        ranges.push(range);
      } else if (typeof entry !== 'string' || entry === '' || LIKE_AN_ADDRESS.test(entry)) {
        throw new PolicyError(
          `${field}[${String(i)}]`,
          `${field}[${String(i)}] must be an address, a CIDR range such as "10.0.0.0/8" or "2001:db8::/32" (one of IPv4 in dots), or a key, got ${shown(entry)}`,
          'SLUICE_OPTION_INVALID',
        );
      } else {
        keys.add(entry);
      }
    }
    this.#ranges = ranges;
    this.#keys = keys;
  }

  /** Whether any entry is a key, so that the keys of a request have to be read. */
  get hasKeys(): boolean {
    return this.#keys.size > 0;
  }

  /** Whether any entry is an address or a range. */
  get hasAddresses(): boolean {
    return this.#ranges.length > 0;
  }

  hasAddress(address: string | undefined): boolean {
    if (address === undefined || this.#ranges.length === 0) return false;
    const bits = readAddressBits(address);
    return bits !== undefined && this.#ranges.some((range) => isWithin(bits, range));
  }

  hasKey(key: string): boolean {
    return this.#keys.has(key);
  }
}

function parseRange(text: string): Range | undefined {
  const [address = '', written, ...rest] = text.split('/');
  const bits = readAddressBits(address);
  if (bits === undefined || written === undefined) return bits && { bits, prefix: 128 };
  const isDotted = !/:.*:/.test(address); // with one colon at most, before a port
  // `::ffff:10.0.0.0/8` and `64:ff9b::/96` may be meant as a range of IPv4 or of IPv6.
  if (isIpv4(bits) !== isDotted || rest.length > 0 || !/^\d{1,3}$/.test(written)) return undefined;
  const prefix = Number(written);
  if (prefix > (isDotted ? 32 : 128)) return undefined;
  return { bits, prefix: isDotted ? 96 + prefix : prefix };
}

/** `::/0` covers all of IPv6, and no IPv4 address. */
function isWithin(bits: readonly number[], range: Range): boolean {
  if (isIpv4(bits) !== isIpv4(range.bits)) return false;
  for (let group = 0, left = range.prefix; left > 0; group++, left -= 16) {
    const mask = left >= 16 ? 0xffff : (0xffff << (16 - left)) & 0xffff;
    if ((((bits[group] as number) ^ (range.bits[group] as number)) & mask) !== 0) return false;
  }
  return true;
}
