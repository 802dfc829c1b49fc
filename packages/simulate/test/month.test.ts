import { beforeAll, describe, expect, it } from '@jest/globals';
import { combinedLog, randomNumbers, START_MS, useSimulate, type LoggedRequest, type ReportJson } from './simulated.ts';

const simulated = useSimulate();
const [DAYS, DAY_MS] = [30, 86_400_000];
const CLIENTS = 3000;
const ABUSERS = ['192.0.2.1', '192.0.2.2', '192.0.2.3', '192.0.2.4'];

/** A month of clients of whom few are busy, each at other times, and of abusers who try passwords in runs. */
function month(seed: number): readonly LoggedRequest[] {
  const random = randomNumbers(seed);
  const instant = (): number => START_MS + Math.floor(random() * DAYS * 86_400) * 1000;
  const requests: LoggedRequest[] = [];
  for (let client = 0; client < CLIENTS; client++) {
    const address = `10.${String(client >> 8)}.${String(client & 255)}.1`;
    for (let visit = 0; visit < 8; visit++) {
      // A heavy tail: one visit in a thousand is of more than thirty pages.
      const pages = Math.min(Math.floor((random() + 1e-4) ** -0.5), 60);
      const first = instant();
      for (let page = 0; page < pages; page++)
        requests.push({ address, atMs: first + page * 2000, target: `/page/${String(page)}` });
    }
  }
  for (const abuser of ABUSERS) {
    for (let run = 0; run < 20; run++) {
      const first = instant();
      for (let i = 0; i < 200; i++)
        requests.push({ address: abuser, atMs: first + i * 200, target: '/login', status: 401 });
    }
  }
  return requests.sort((one, other) => one.atMs - other.atMs);
}

describe('limits that are suggested for the first half of a month', () => {
  const PROMISED = 0.01;
  let fitted: ReportJson;
  /** Its limits on the second half. */
  let later: ReportJson;
  beforeAll(async () => {
    const requests = month(22);
    const middle = START_MS + (DAYS / 2) * DAY_MS;
    const halves = [requests.filter(({ atMs }) => atMs < middle), requests.filter(({ atMs }) => atMs >= middle)];
    const [first = '', second = ''] = halves.map((half) => simulated.file(combinedLog(half)));

    fitted = await simulated.report(first, '--max-clients', '1%');
    later = await simulated.report(second, ...fitted.suggestions.windows.flatMap(({ policy }) => ['--policy', policy]));

    expect(fitted.requests).toBe(halves[0]?.length);
    expect(later.requests).toBe(halves[1]?.length);
  });

  it('find the known abusers in the second', () => {
    expect(later.candidates.length).toBeGreaterThan(2);
    for (const { policy, top } of later.candidates) {
      const found = top.slice(0, ABUSERS.length).map(({ client }) => client);
      expect({ policy, found: found.sort() }).toEqual({ policy, found: ABUSERS });
    }
  });

  it('deny as many of its clients as was promised, but for chance', () => {
    const { windows } = fitted.suggestions;
    // Three standard deviations of the difference between two samples of so many clients.
    const chance = 3 * Math.sqrt((2 * PROMISED * (1 - PROMISED)) / later.clients);
    for (const [i, { policy, clientsShare }] of later.candidates.entries()) {
      const expected = (windows[i]?.clients ?? 0) / fitted.clients;
      expect(expected).toBeLessThanOrEqual(PROMISED);
      expect({ policy, isKept: Math.abs(clientsShare - expected) <= chance }).toEqual({ policy, isKept: true });
    }
    // The loss is made use of: a limit so lax that it denies abusers alone would be no answer.
    for (const { clients } of windows.slice(1)) expect(clients).toBeGreaterThan((CLIENTS * PROMISED) / 2);
  });
});
