// The objects run in workerd, the runtime of Cloudflare's Workers.
import * as jest from '@jest/globals';
import { startWorkerd, until, type Workerd } from '@sluice/testkit';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { USED } from '../../src/program/decide.ts';
import type { Answer, Store } from '../../src/stores/store.ts';
import { describeStore } from '../../src/testing/index.ts';

const { afterAll, beforeAll, describe, expect, it } = jest;

let workerd: Workerd;
beforeAll(async () => {
  workerd = await startWorkerd(new URL('worker.ts', import.meta.url));
}, 60_000);
afterAll(() => workerd.stop());

/** Asks the Worker: one object for all keys, or the store. */
const ask =
  (path: 'object' | 'store'): Store['perform'] =>
  async (op, asks) => {
    const response = await fetch(`${workerd.url}/${path}`, { method: 'POST', body: JSON.stringify({ op, asks }) });
    if (!response.ok) throw new Error(await response.text());
    const { atMs, figures } = (await response.json()) as Answer;
    return { atMs, figures: Array.from(figures, (all) => Array.from(all)) }; // of this realm
  };

describeStore('in a Durable Object', () => ({ source: 'durable-object', perform: ask('object') }), jest);

describe('a store in Durable Objects', () => {
  const perform = ask('store');
  const asks = (['ann', 'bob', 'cid'] as const).map((subject, i) => ({
    key: `{${subject}}:api`,
    policy: fixedWindow({ limit: 20 + i, window: '1h' }),
    cost: 1,
  }));

  it('never allows more than the limit of one of several objects, and gives back what the others took', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => perform('take', asks)));

    const allowed = answers.filter(({ figures }) => figures.every(([isAllowed]) => isAllowed === 1)).length;
    expect(allowed).toBeLessThanOrEqual(20);
    expect(allowed).toBeGreaterThan(0);
    await until('it is given back', async () => {
      const { figures } = await perform('peek', asks);
      return figures.every((told) => told[USED] === allowed);
    });
  });

  it('edits keys of several objects', async () => {
    await perform('reset', asks);

    expect((await perform('peek', asks)).figures.map((told) => told[USED])).toEqual([0, 0, 0]);
  });
});
