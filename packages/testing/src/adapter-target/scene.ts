import type { Acquisition, Limiter, PolicySource, Store } from '@sluice/core';
import { gate, type Gate } from './gate.ts';
import { memorySource } from './memory-source.ts';
import { Records } from './records.ts';
import { SceneClock } from './scene-clock.ts';
import type { RunningApp } from './target.ts';

/** Everything that a target keeps of one scenario, by the names that the driver gives it. */
export class Scene {
  readonly records: Records = new Records();
  readonly apps: Map<string, RunningApp> = new Map();
  readonly limiters: Map<string, Limiter> = new Map();
  readonly stores: Map<string, Store> = new Map();
  readonly slots: Map<string, Acquisition> = new Map();
  readonly #clocks = new Map<string, SceneClock>();
  readonly #gates = new Map<string, Gate>();
  readonly #sources = new Map<string, PolicySource>();

  clock(name: string, atMs: number): SceneClock {
    return kept(this.#clocks, name, () => new SceneClock(atMs));
  }

  gate(name: string): Gate {
    return kept(this.#gates, name, gate);
  }

  source(name: string): PolicySource {
    return kept(this.#sources, name, memorySource);
  }

  async end(): Promise<void> {
    this.records.clear();
    await Promise.all([...this.apps.values()].map((app) => app.close()));
  }
}

function kept<T>(map: Map<string, T>, name: string, make: () => T): T {
  const known = map.get(name);
  if (known !== undefined) return known;
  const made = make();
  map.set(name, made);
  return made;
}
