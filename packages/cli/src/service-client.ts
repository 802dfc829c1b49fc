import { Option, type Command } from 'commander';
import { Failure, UsageError } from '@sluice/simulate/terminal';
import type { KeyEdit } from './limit-keys.ts';

/** Where a service, or a page of an application, is. */
export interface ServiceFlags {
  readonly service?: string;
  readonly token?: string;
}

/** How long the service may take to answer. */
const PATIENCE_MS = 3_000;

/** Adds `--service` and `--token`. */
export function addServiceOptions(command: Command, effect: string, defaultUrl?: string): Command {
  const service = new Option('--service <url>', `the service, as http://127.0.0.1:6070: ${effect}`);
  return command
    .addOption(defaultUrl === undefined ? service : service.default(defaultUrl))
    .addOption(new Option('--token <text>', 'its token, unless it is called over the loopback').env('SLUICE_TOKEN'));
}

interface ServiceEdit {
  readonly edit: KeyEdit;
  readonly key: string;
  readonly limit: string;
  readonly durationMs: number;
}

/**
 * Edits a key of a named limit of the service, and looks whether it is so then.
 *
 * @throws (rejects) Failure.
 */
export async function editThroughService(
  flags: ServiceFlags,
  { edit, key, limit, durationMs }: ServiceEdit,
): Promise<void> {
  const keys = { [limit]: key };
  await ask(flags, `v1/${edit}`, edit === 'block' ? { keys, duration: durationMs } : { keys });
  const { outcome } = (await ask(flags, 'v1/peek', { keys, cost: 0 })) as { readonly outcome?: unknown };
  if (edit !== 'reset' && (edit === 'block') !== (outcome === 'blocked')) {
    throw new Failure(`the service took the ${edit}, and the key is ${String(outcome)} all the same`);
  }
}

/**
 * Asks the service.
 *
 * @param method - Default: POST with a body, else GET.
 * @throws (rejects) UsageError for what is no URL; Failure with the reason that the service gives.
 */
export async function ask(
  { service = '', token }: ServiceFlags,
  path: string,
  body?: object,
  method: string = body === undefined ? 'GET' : 'POST',
): Promise<unknown> {
  const base = service.endsWith('/') ? service : `${service}/`;
  if (!/^https?:\/\//i.test(base) || !URL.canParse(base)) {
    throw new UsageError(`--service must be a URL such as http://127.0.0.1:6070, got ${JSON.stringify(service)}`);
  }
  const { host } = new URL(base);
  let response: Response;
  try {
    response = await fetch(new URL(path, base), {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      redirect: 'error',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    const unsure = method === 'GET' ? '' : '; the change may have been made anyway';
    throw new Failure(`cannot use the service at ${host}: ${reasonOf(error)}${unsure}`, { cause: error });
  }
  const text = await response.text();
  if (response.ok) return text === '' ? {} : parsed(text, host);
  throw new Failure(`the service at ${host} answers ${String(response.status)}${detailOf(text)}`);
}

function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `no answer in ${String(PATIENCE_MS / 1_000)} s`;
  const { code, message: inner } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  return code ?? inner ?? message;
}

/** What a problem of RFC 9457 says. */
function detailOf(text: string): string {
  try {
    const { detail } = JSON.parse(text) as { readonly detail?: unknown };
    return typeof detail === 'string' ? `: ${detail}` : '';
  } catch {
    return '';
  }
}

function parsed(text: string, host: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Failure(`${host} does not answer as the service does: its answer is not JSON`, { cause: error });
  }
}
