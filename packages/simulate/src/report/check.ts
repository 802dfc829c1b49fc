import type { CandidateReport, Report } from './report.ts';

/** The results of the candidates and the suggested limits on a second log. */
export interface CheckReport {
  readonly logs: Report['logs'];
  readonly requests: number;
  readonly clients: number;
  readonly wholeSeconds: boolean;
  readonly candidates: readonly CandidateReport[];
  /** The suggested limits of the first log, on the second. */
  readonly suggestions: readonly CandidateReport[];
}

/** The bounds of `--max-clients` and `--max-denied`, as far as they are given. */
export interface Bounds {
  readonly maxClients: number | undefined;
  readonly maxDenied: number | undefined;
}

/** @param suggested - The suggested limits follow the candidates, so many. */
export function checkReport(report: Report, suggested: number): CheckReport {
  const { logs, requests, clients, wholeSeconds, candidates } = report;
  const own = candidates.length - suggested;
  return {
    ...{ logs, requests, clients, wholeSeconds },
    candidates: candidates.slice(0, own),
    suggestions: candidates.slice(own),
  };
}

/**
 * Which bounds do not hold, as sentences: those of the candidates on both logs or, where there is no candidate, of the
 * suggested limits on the second.
 */
export function exceeded(report: Report, check: CheckReport | null, bounds: Bounds): readonly string[] {
  const judged: [where: string, candidate: CandidateReport][] = report.candidates.map((one) => ['', one]);
  const second = report.candidates.length > 0 ? check?.candidates : check?.suggestions;
  for (const one of second ?? []) judged.push([' on the log of --check', one]);
  return judged.flatMap(([where, { policy, clientsShare, deniedShare }]) => [
    ...over(`${policy} denies`, 'of the clients', where, clientsShare, bounds.maxClients, '--max-clients'),
    ...over(`${policy} denies`, 'of the requests', where, deniedShare, bounds.maxDenied, '--max-denied'),
  ]);
}

function over(
  what: string,
  of: string,
  where: string,
  part: number,
  most: number | undefined,
  flag: string,
): readonly string[] {
  if (most === undefined || part <= most + 1e-12) return [];
  return [`${what} ${percent(part)} ${of}${where}, more than ${percent(most)} (${flag})`];
}

/** A share from 0 to 1 as per cent, with as many digits as tell it from 0. */
export function percent(part: number): string {
  const value = part * 100;
  const digits = value === 0 || value >= 10 ? 1 : value >= 0.1 ? 2 : 4;
  return `${Number(value.toFixed(digits)).toString()}%`;
}
