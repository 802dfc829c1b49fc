import { PolicyError, shown } from '../../errors.ts';
import { addressBits, isIpv4, parseBits } from './address.ts';

/** The addresses whose first `prefix` bits equal those of `bits`, eight groups of 16 bits. */
interface Range {
  readonly bits: readonly number[];
  readonly prefix: number;
}

/** The clients of an `allow` or `deny` list: addresses and CIDR ranges. */
export class ClientList {
  readonly #ranges: readonly Range[];

  /** @throws PolicyError for an entry that is neither an address nor a range. */
  constructor(given: unknown, field: string) {
    const expect = (where: string, what: string, got: unknown): PolicyError => {
      const message = `${where} must be ${what} such as "10.0.0.0/8" or "2001:db8::/32", got ${shown(got)}`;
      return new PolicyError(where, message, 'SLUICE_OPTION_INVALID');
    };
    if (!Array.isArray(given)) throw expect(field, 'a list of addresses and CIDR ranges', given);
    this.#ranges = given.map((entry: unknown, i) => {
      const range = typeof entry === 'string' ? parseRange(entry) : undefined;
      if (range === undefined) throw expect(`${field}[${String(i)}]`, 'an address or a CIDR range', entry);
      return range;
    });
  }

  has(address: string | undefined): boolean {
    if (address === undefined || this.#ranges.length === 0) return false;
    const bits = addressBits(address);
    return bits !== undefined && this.#ranges.some((range) => isWithin(bits, range));
  }
}

function parseRange(text: string): Range | undefined {
  const slash = text.indexOf('/');
  if (slash === -1) {
    const bits = addressBits(text);
    return bits && { bits, prefix: 128 };
  }
  const address = text.slice(0, slash);
  const written = text.slice(slash + 1);
  const bits = addressBits(address);
  if (bits === undefined || !/^\d{1,3}$/.test(written)) return undefined;
  const ofIpv4 = !/:.*:/.test(address); // an IPv4 address has at most one colon, before its port
  const prefix = Number(written);
  if (prefix > (ofIpv4 ? 32 : 128)) return undefined;
  if (ofIpv4) return { bits, prefix: 96 + prefix };
  // A prefix under 96 bits covers more than the IPv4 addresses in IPv6, so it is a range of IPv6.
  return { bits: prefix < 96 ? (parseBits(address) ?? bits) : bits, prefix };
}

function isWithin(bits: readonly number[], range: Range): boolean {
  if (range.prefix < 96 && isIpv4(bits)) return false; // ::/0 covers all of IPv6, and no IPv4 address
  for (let group = 0, left = range.prefix; left > 0; group++, left -= 16) {
    const mask = left >= 16 ? 0xffff : (0xffff << (16 - left)) & 0xffff;
    if ((((bits[group] as number) ^ (range.bits[group] as number)) & mask) !== 0) return false;
  }
  return true;
}
