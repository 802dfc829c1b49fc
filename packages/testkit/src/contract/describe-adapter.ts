import { describe, it } from '@jest/globals';
import { factor } from '../depth.ts';
import type { AdapterUnderTest, Impossible } from './adapter.ts';
import { makeScene } from './row.ts';
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
import { makeStages, type Scene } from './stage.ts';

const table = [fields, options, keys, routes, counting].flat().map(makeScene);
const contract = [...table, ...[readers, races, aborts, pacing, slots].flat()];

/** Longer than any scenario takes on a slow machine: the default timeouts of runners are a few seconds. */
const TIMEOUT_MS = factor > 1 ? 3_600_000 : 120_000;

/**
 * The contract of every adapter, as tests over real HTTP: the exact bytes of responses, the options, and limits that no
 * form of request escapes.
 *
 * @throws Error if `impossible` has the beginning of no title.
 */
export function describeAdapter(adapter: AdapterUnderTest): void {
  for (const beginning of Object.keys(adapter.impossible ?? {})) {
    if (!contract.some(({ title }) => title.startsWith(beginning))) throw new Error(`no scenario "${beginning}..."`);
  }
  describePossible(adapter, contract);
}

/** The contract in short: the table, with each row played in one way. Bun and Deno play it. */
export function describeInShort(adapter: AdapterUnderTest): void {
  const scenes = table.map((one, i) => ({ ...one, ways: one.ways.slice(i % one.ways.length).slice(0, 1) }));
  describePossible(adapter, scenes);
}

/** The number of tests of the contract in short. */
export function countInShort(impossible?: Impossible): number {
  return listPossible(table, impossible).length;
}

function describePossible(adapter: AdapterUnderTest, scenes: readonly Scene[]): void {
  describe(`the adapter of ${adapter.name}`, () => {
    const stageOf = makeStages(adapter);
    for (const { title, ways, play } of listPossible(scenes, adapter.impossible)) {
      for (const way of ways) {
        if (way === 'over HTTP/2' && adapter.startHttp2 === undefined) continue;
        it(`${title} (${way})`, () => play(stageOf(way)), TIMEOUT_MS);
      }
    }
  });
}

function listPossible(scenes: readonly Scene[], impossible: Impossible = {}): readonly Scene[] {
  return scenes.filter(({ title }) => !Object.keys(impossible).some((beginning) => title.startsWith(beginning)));
}
