import type { Command } from 'commander';
import { readEvents, type LimitEvent } from '@sluice/core';
import { canonicalAddress } from '@sluice/core/http';
import { printOf, withRedis } from './session.ts';
import { printable, table, writeInstant, writeWait } from './text.ts';

interface EventsFlags {
  readonly limit?: string;
  readonly key?: string;
}

/** Adds `sluice events`. */
export function addEvents(sluice: Command): void {
  const command = sluice
    .command('events')
    .summary('print what changed and what broke')
    .description(
      'Prints what changed and what broke in the last week, at most a thousand events, the last one first: outages, lost policies, and every change with who made it and why.',
    )
    .option('--limit <name>', 'only those of this limiter, limit or managed policy')
    .option('--key <key>', 'only those of this key, and those of no key')
    .addHelpText('after', '\nExample: sluice events --key 203.0.113.7')
    .action(({ limit, key }: EventsFlags) =>
      withRedis(command, false, async ({ store, prefix }) => {
        const events = await readEvents({ store, limit, key: key && (canonicalAddress(key, 64) ?? key) });
        const which = [limit && ` of the limit ${limit}`, key && ` of the key ${key}`].filter(Boolean).join('');
        const none = `no events${which} under ${prefix}`;
        printOf(command)(events, () => (events.length === 0 ? printable(none) : tableOf(events)));
      }),
    );
}

function tableOf(events: readonly LimitEvent[]): string {
  const rows = events.map(({ atMs, endAtMs, what, limit, key, before, after, by, reason }) => {
    const lasted = endAtMs === null ? [] : [`for ${writeWait(endAtMs - atMs)}`];
    const change = [before, after].filter((one) => one !== null).join(' -> ');
    return [
      writeInstant(atMs),
      what,
      limit,
      key ?? '-',
      [...lasted, change].join(' ').trim(),
      by ?? '-',
      reason ?? '-',
    ];
  });
  return table(['AT', 'WHAT', 'LIMIT', 'KEY', 'CHANGE', 'BY', 'REASON'], rows);
}
