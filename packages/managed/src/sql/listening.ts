import { randomUUID } from 'node:crypto';
import { detached, messageOf, warnOnce } from '@sluice/core/spi';
import type { ListeningClient, SqlQuery } from './options.ts';

/** How long a notification may take before it is taken to be swallowed. */
const PROBE_MS = 5000;

/**
 * Listens on a channel of Postgres, and finds out whether anything arrives: a notification is sent through `query`, and
 * without it a warning says that only polling finds changes.
 *
 * @returns What stops it.
 * @throws (rejects) the errors of the client.
 */
export async function listenOn(
  {
    client,
    query,
    channel,
    probeMs = PROBE_MS,
  }: {
    readonly client: ListeningClient;
    readonly query: SqlQuery;
    readonly channel: string;
    readonly probeMs?: number;
  },
  changed: () => void,
  ended: () => void,
): Promise<() => Promise<void>> {
  const probe = randomUUID();
  let stopProbe = (): void => undefined;
  const heard = (message?: { readonly payload?: string | undefined }): void => {
    if (message?.payload === probe) stopProbe();
    else changed();
  };
  client.on('notification', heard);
  client.on('end', ended);
  client.on('error', ended);
  await client.query(`listen "${channel}"`);
  const warn = (): void => {
    warnOfSilence(channel);
  };
  const timer = detached(() => setTimeout(warn, probeMs).unref());
  stopProbe = () => {
    clearTimeout(timer);
  };
  query('select pg_notify($1, $2)', [channel, probe]).catch((error: unknown) => {
    stopProbe();
    warnOfSilence(channel, messageOf(error));
  });
  return async () => {
    stopProbe();
    client.removeListener('notification', heard);
    client.removeListener('end', ended);
    client.removeListener('error', ended);
    await client.query(`unlisten "${channel}"`);
  };
}

function warnOfSilence(channel: string, why = 'a pooler in transaction mode swallows them'): void {
  warnOnce(
    'SLUICE_LISTEN_SILENT',
    `the connection of sqlSource({ listen }) hears no notifications on the channel ${channel} (${why}). Changes are found by polling; give a connection past the pooler, or leave listen out.`,
    channel,
  );
}
