import { invalidOption } from '@sluice/old-core/spi';

/** The least and the most that an option may be, and why not less. */
export interface Range {
  readonly least: number;
  readonly most: number;
  readonly why?: string;
}

/** @throws PolicyError that names the option, for anything but a whole number in this range. */
export function wholeNumber(given: unknown, field: string, unit: string, { least, most, why }: Range): number {
  if (Number.isInteger(given) && Number(given) >= least && Number(given) <= most) return Number(given);
  const from = why === undefined ? String(least) : `${String(least)} ${why}`;
  throw invalidOption(field, `a whole number of ${unit} from ${from} to ${String(most)}`, given);
}

const MOST_INSTANCES = 100_000;

/** A number of instances with equal shares. */
export function instances(given: unknown, field: string): number {
  return wholeNumber(given, field, 'instances', { least: 1, most: MOST_INSTANCES });
}
