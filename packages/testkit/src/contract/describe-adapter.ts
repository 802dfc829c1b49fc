import { describe, it } from '@jest/globals';
import { factor } from '../depth.ts';
import type { AdapterUnderTest } from './adapter.ts';
import { makeScene, type Row } from './row.ts';
import { counting } from './rows/counting.ts';
import { fields } from './rows/fields.ts';
import { keys } from './rows/keys.ts';
import { options } from './rows/options.ts';
import { routes } from './rows/routes.ts';
import { aborts } from './scenes/aborts.ts';
import { pacing } from './scenes/pacing.ts';
import { races } from './scenes/races.ts';
import { readers } from './scenes/readers.ts';
import { slots } from './scenes/slots.ts';
import { makeStages } from './stage.ts';

/** The table. An adapter that does not have all options, such as forward auth, finds the impossible ones here. */
export const rows: readonly Row[] = [fields, options, keys, routes, counting].flat();
const contract = [...rows.map(makeScene), ...[readers, races, aborts, pacing, slots].flat()];

/** The short contract, by title: the table, with each row played in one way. Bun and Deno play it. */
export const smoke: readonly string[] = rows.map(({ title }) => title);

/** Longer than any scenario takes on a slow machine: the default timeouts of runners are a few seconds. */
const TIMEOUT_MS = factor > 1 ? 3_600_000 : 120_000;

/**
 * The contract of every adapter, as tests over real HTTP: the exact bytes of responses, the options, and limits that no
 * form of request escapes.
 *
 * @param selected - Titles of scenarios, each played in one of its ways. Default: all, in all their ways.
 * @throws Error if a title names no scenario.
 */
export function describeAdapter(adapter: AdapterUnderTest, selected?: readonly string[]): void {
  const { impossible = {} } = adapter;
  for (const named of [...Object.keys(impossible), ...(selected ?? [])]) {
    if (!contract.some(({ title }) => title === named)) throw new Error(`no scenario is called "${named}"`);
  }
  describe(`the adapter of ${adapter.name}`, () => {
    const stageOf = makeStages(adapter);
    for (const [i, { title, ways, play }] of contract.entries()) {
      if (title in impossible || selected?.includes(title) === false) continue;
      for (const way of selected === undefined ? ways : ways.slice(i % ways.length).slice(0, 1)) {
        if (way === 'over HTTP/2' && adapter.startHttp2 === undefined) continue;
        it(`${title} (${way})`, () => play(stageOf(way)), TIMEOUT_MS);
      }
    }
  });
}
