import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { isDeepStrictEqual } from 'node:util';
import { Redis } from 'ioredis';
import type { Clock, Limit, Part, Store, StoreAnswer, StoreRequest } from '@sluice/core';
import { evaluate, partsOf, type KeyState } from '@sluice/core/spi';
import { keyResetAtMs } from '../../src/engine/key-contents.ts';
import { fakeClock, startRedis } from '@sluice/testkit';
import { generateTrace } from './generate.ts';
import { Player } from './player.ts';
import { FIGURES, POLICY_FIGURES, type Step, type Trace, type Written } from './read-traces.ts';
import { SCENARIOS, store, type Stored } from './stored.ts';

const TRACES = 3_000;

/** Writes the traces and stored values of this core into a folder, and returns how many traces each tag has. */
export async function record(folder: string): Promise<Readonly<Record<string, number>>> {
  const lines: string[] = [];
  const tags: Record<string, number> = {};
  for (let seed = 1; lines.length < TRACES; seed++) {
    const trace = await generateTrace(seed);
    if (!(await isSame(trace, keeping(true))) || !(await isSame(trace, keeping(false)))) continue;
    for (const tag of trace.tags) tags[tag] = (tags[tag] ?? 0) + 1;
    lines.push(written(trace));
  }
  writeFileSync(join(folder, 'traces.jsonl.gz'), gzipSync(`${lines.join('\n')}\n`, { level: 9 }));
  const scenarios = (await stored()).map((scenario) => JSON.stringify(scenario));
  writeFileSync(join(folder, 'stored-values.json'), `[\n${scenarios.join(',\n')}\n]\n`);
  return tags;
}

/**
 * A store of the kernels alone. Where a clock goes back, it matters whether a state that had ended was forgotten: a trace
 * on which that shows is none that every store answers alike, and is not recorded.
 */
const keeping =
  (keepsEnded: boolean) =>
  (clock: Clock): Store => {
    const keys = new Map<string, { limit: Limit; readonly state: KeyState }>();
    const keyOf = ({ subject, limit }: Part): { limit: Limit; readonly state: KeyState } => {
      const id = `${subject} ${limit.keySuffix}`;
      const key = keys.get(id) ?? { limit, state: { blockedUntilMs: 0, states: limit.policies.map(() => undefined) } };
      keys.set(id, key);
      return key;
    };
    const perform = (request: StoreRequest): StoreAnswer => {
      for (const [id, { limit, state }] of keys) {
        if (!keepsEnded && keyResetAtMs(limit, state) <= clock.now()) keys.delete(id);
      }
      const parts = partsOf(request);
      const found = parts.map(keyOf);
      const { answer, changed } = evaluate(
        request,
        found.map(({ state }) => state),
        clock.now(),
      );
      for (const [i, key] of found.entries()) {
        if (changed || key.state.touched === true) key.limit = parts[i]?.limit as Limit; // it wrote, and says when the key ends
        key.state.touched = false;
      }
      return answer;
    };
    return { source: 'memory', perform: (requests) => requests.map(perform) };
  };

async function isSame(trace: Trace, storeOf: (clock: Clock) => Store): Promise<boolean> {
  const clock = fakeClock();
  const player = new Player(trace, storeOf(clock), clock);
  const steps: Step[] = [];
  for (const step of trace.steps) steps.push(await player.play(step));
  await player.close();
  return isDeepStrictEqual(steps, trace.steps);
}

function written({ steps, ...trace }: Trace): string {
  const atMs = steps[0]?.atMs ?? 0;
  let before = atMs;
  const writtenStep = ({ atMs: now, op, figures, ...call }: Step): Written => {
    const afterMs = now - before;
    before = now;
    if (figures === undefined) return [afterMs, op, call];
    const policies = figures.policies.map((policy) => POLICY_FIGURES.map((name) => policy[name]));
    return [afterMs, op, call, FIGURES.map((name) => figures[name]), ...policies];
  };
  return JSON.stringify({ ...trace, atMs, steps: steps.map(writtenStep) });
}

async function stored(): Promise<readonly Stored[]> {
  const server = await startRedis();
  const redis = new Redis(server.url);
  const found: Stored[] = [];
  for (const [i, scenario] of SCENARIOS.entries())
    found.push({ ...scenario, keys: await store(redis, `sluice:o${String(i)}`, scenario) });
  redis.disconnect();
  await server.stop();
  return found;
}
