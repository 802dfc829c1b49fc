import type { Command } from 'commander';
import { readEvents, type LimitEvent } from '@sluice/core';
import { canonicalAddress } from '@sluice/core/http';
import { ADMIN, TAKES } from './denied.ts';
import { Failure } from './failure.ts';
import { addServiceOptions, ask, type ServiceFlags } from './service.ts';
import { makePrint, withRedis } from './session.ts';
import { printable, table, writeInstant, writeWait } from './text.ts';

interface EventsFlags extends ServiceFlags {
  readonly limit?: string;
  readonly key?: string;
}

/** Adds `sluice events`. */
export function addEvents(sluice: Command): void {
  const command = sluice
    .command('events')
    .summary('print what changed and what broke')
    .description(
      'Prints what changed and what broke in the last week, newest first, at most a thousand events: outages, lost policies, and every change with who made it and why.',
    )
    .option('--limit <name>', 'only events of this limiter, limit or managed policy')
    .option('--key <key>', 'only events of this key, and events without a key')
    .addHelpText('after', '\nExample: sluice events --key 203.0.113.7');
  addServiceOptions(command, "its admin listener, or an application's page: the last 50 it knows", ADMIN);
  command.action(async ({ limit, key: given, ...flags }: EventsFlags) => {
    const key = given && (canonicalAddress(given, 64) ?? given);
    const print = (events: readonly LimitEvent[], where: string): void => {
      const which = [limit && ` of the limit ${limit}`, given && ` of the key ${given}`].filter(Boolean).join('');
      makePrint(command)(events, () =>
        events.length === 0 ? printable(`no events${which} ${where}`) : formatTable(events),
      );
    };
    if (flags.service === undefined) {
      await withRedis(command, false, async ({ store, prefix }) => {
        print(await readEvents({ store, limit, key }), `under ${prefix}`);
      });
      return;
    }
    const query = new URLSearchParams({ limit: limit ?? '', key: key ?? '' }).toString();
    const { events } = (await ask(flags, `snapshot?${query}`, undefined, TAKES)) as Partial<
      Record<'events', LimitEvent[]>
    >;
    if (!Array.isArray(events)) throw new Failure(`the answer is not that of a page: ${TAKES}`);
    print(events, `at ${flags.service}`);
  });
}

function formatTable(events: readonly LimitEvent[]): string {
  const rows = events.map(({ atMs, endAtMs, what, limit, key, before, after, by, reason }) => {
    const lasted = endAtMs === null ? [] : [`for ${writeWait(endAtMs - atMs)}`];
    const changed = [before, after].filter((one) => one !== null).join(' -> ');
    const change = [...lasted, changed].filter((one) => one !== '').join(': ');
    return [writeInstant(atMs), what, limit, key ?? '-', change, by ?? '-', reason ?? '-'];
  });
  return table(['AT', 'WHAT', 'LIMIT', 'KEY', 'CHANGE', 'BY', 'REASON'], rows);
}
