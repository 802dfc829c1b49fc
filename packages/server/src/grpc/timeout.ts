import { CallError, Status } from './status.ts';

const MS_PER_UNIT: ReadonlyMap<string, number> = new Map([
  ['H', 3_600_000],
  ['M', 60_000],
  ['S', 1000],
  ['m', 1],
  ['u', 1 / 1000],
  ['n', 1 / 1_000_000],
]);

/**
 * Reads the field `grpc-timeout` in milliseconds: up to eight digits and a unit.
 *
 * @throws CallError `INTERNAL`, as other servers do.
 */
export function parseTimeout(text: string): number {
  const unit = MS_PER_UNIT.get(text.at(-1) ?? '');
  const digits = text.slice(0, -1);
  if (unit === undefined || !/^\d{1,8}$/.test(digits)) {
    throw new CallError(
      Status.INTERNAL,
      `grpc-timeout must be up to eight digits and one of H, M, S, m, u, n, such as 20m; got ${JSON.stringify(text.slice(0, 32))}`,
    );
  }
  return Number(digits) * unit;
}
