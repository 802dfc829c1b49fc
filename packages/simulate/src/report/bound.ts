import type { Report } from './report.ts';

/** Which candidates deny more than `--max-clients` allows, as sentences. */
export function exceeded({ candidates }: Report, maxClients: number | undefined): readonly string[] {
  if (maxClients === undefined) return [];
  return candidates
    .filter(({ clientsShare }) => clientsShare > maxClients + 1e-12)
    .map(
      ({ policy, clientsShare }) =>
        `${policy} denies ${percent(clientsShare)} of the clients, more than ${percent(maxClients)} (--max-clients)`,
    );
}

/** A share from 0 to 1 as per cent, with as many digits as tell it from 0. */
export function percent(part: number): string {
  const value = part * 100;
  const digits = value === 0 || value >= 10 ? 1 : value >= 0.1 ? 2 : 4;
  return `${Number(value.toFixed(digits)).toString()}%`;
}
