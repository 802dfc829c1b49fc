/** An invalid setting; only the message is printed. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

export interface Settings {
  /** 0: any that is free. */
  readonly port: number;
  readonly redisUrl: string | undefined;
  /** Undefined: until Ctrl-C. */
  readonly durationMs: number | undefined;
  /** Whether the summary is drawn again and again in place. */
  readonly live: boolean;
  readonly color: boolean;
}

const DURATION_WITHOUT_TERMINAL_MS = 20_000;
const LONGEST_MS = 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * Reads PORT, REDIS_URL, DURATION, NO_COLOR and TERM; an empty one counts as missing.
 *
 * @throws SettingError with the variable, the expected value and the given one.
 */
export function readSettings(env: NodeJS.ProcessEnv, isTerminal: boolean): Settings {
  const live = isTerminal && env['TERM'] !== 'dumb';
  return {
    port: portOf(env['PORT']),
    redisUrl: env['REDIS_URL'] === '' ? undefined : env['REDIS_URL'],
    durationMs: durationOf(env['DURATION']) ?? (live ? undefined : DURATION_WITHOUT_TERMINAL_MS),
    live,
    color: live && !env['NO_COLOR'],
  };
}

function portOf(text = ''): number {
  if (text === '') return 0;
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new SettingError(
    `PORT must be a whole number from 1 to 65535, or be left out for a free port, got ${JSON.stringify(text)}`,
  );
}

function durationOf(text = ''): number | undefined {
  if (text === '') return undefined;
  const [, amount, unit = ''] = /^(\d{1,8})(ms|s|m|h)$/.exec(text) ?? [];
  const durationMs = Number(amount) * (UNITS_MS[unit] ?? NaN);
  if (durationMs >= 1 && durationMs <= LONGEST_MS) return durationMs;
  throw new SettingError(
    `DURATION must be a time such as "500ms", "20s" or "5m", at most a day, got ${JSON.stringify(text)}`,
  );
}
