import { Option, type Command } from 'commander';
import { Failure, UsageError } from './failure.ts';

/** How to reach a service, or an application's page. */
export interface ServiceFlags {
  readonly service?: string;
  readonly token?: string;
}

/** How long the service may take to answer. */
const PATIENCE_MS = 3_000;

/** Adds `--service` and `--token`. */
export function addServiceOptions(command: Command, effect: string, example = 'http://127.0.0.1:8080'): Command {
  return command
    .option('--service <url>', `the service, as ${example}: ${effect}`)
    .addOption(new Option('--token <text>', 'its token; not needed over the loopback').env('SLUICE_TOKEN'));
}

/**
 * Calls the service, by POST if there is a body.
 *
 * @param onMissing - What to suggest if there is nothing at this path.
 * @throws (rejects) UsageError for an invalid URL; Failure with the reason that the service gives.
 */
export async function ask(
  { service = '', token }: ServiceFlags,
  path: string,
  body?: object,
  onMissing?: string,
): Promise<unknown> {
  const base = service.endsWith('/') ? service : `${service}/`;
  if (!/^https?:\/\//i.test(base) || !URL.canParse(base)) {
    throw new UsageError(`--service must be a URL such as http://127.0.0.1:8080, got ${JSON.stringify(service)}`);
  }
  const { host } = new URL(base);
  try {
    const response = await fetch(new URL(path, base), {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      redirect: 'error',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    const answer = text === '' ? {} : parse(text);
    if (response.ok && answer !== undefined) return answer;
    const { detail } = (answer ?? {}) as { readonly detail?: unknown }; // of a problem of RFC 9457
    const why = typeof detail === 'string' ? `: ${detail}` : '';
    const instead = response.status === 404 && onMissing !== undefined ? `; ${onMissing}` : '';
    throw new Failure(
      response.ok
        ? `${host} does not answer as the service does: its answer is not JSON`
        : `the service at ${host} answers ${String(response.status)}${why}${instead}`,
    );
  } catch (error) {
    if (error instanceof Failure) throw error;
    const unsure = body === undefined ? '' : '; the change may have been made anyway';
    throw new Failure(`cannot use the service at ${host}: ${getReason(error)}${unsure}`, { cause: error });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function getReason(error: unknown): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `no answer within ${String(PATIENCE_MS / 1_000)} s`;
  const { code, message: inner } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  return code ?? inner ?? message;
}
