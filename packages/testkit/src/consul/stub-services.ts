import { msOf } from './duration.ts';

/** What a registration says of an instance, as far as it matters here. */
interface Registered {
  readonly ID: string;
  readonly Name: string;
  readonly Weights?: { readonly Passing: number; readonly Warning: number };
  readonly Check?: { readonly CheckID: string; readonly TTL: string };
}

interface Instance {
  readonly registered: Registered;
  isPassing: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** An answer to a change: its status and text. */
export type StubAnswer = readonly [status: number, text: string];

const DONE: StubAnswer = [200, ''];
const HEAVIEST = 65_535;

/** The instances of services that a stub of Consul knows, and whether the check of each passes. */
export class StubServices {
  readonly #instances = new Map<string, Instance>();
  readonly #indices = new Map<string, number>();
  readonly #nextIndex: () => number;

  /** @param nextIndex - Called with each change; returns its index, and wakes the queries that wait. */
  constructor(nextIndex: () => number) {
    this.#nextIndex = nextIndex;
  }

  register(text: string): StubAnswer {
    const registered = JSON.parse(text) as Registered;
    const { Passing = 1 } = registered.Weights ?? {};
    if (Passing < 1) return [400, 'Invalid Weights: Passing must be greater than 0'];
    if (Passing > HEAVIEST) return [400, 'Invalid Weights: DNS Weight must be between 0 and 65535'];
    const before = this.#instances.get(registered.ID);
    clearTimeout(before?.timer);
    const instance: Instance = { registered, isPassing: true, timer: undefined };
    this.#instances.set(registered.ID, instance);
    this.#await(instance);
    if (JSON.stringify(before?.registered) !== text || before?.isPassing === false) this.#changed(registered.Name);
    return DONE;
  }

  pass(checkId: string): StubAnswer {
    const instance = [...this.#instances.values()].find(({ registered }) => registered.Check?.CheckID === checkId);
    if (instance === undefined) {
      return [404, `Unknown check ID "${checkId}". Ensure that the check ID is passed, not the check name.`];
    }
    clearTimeout(instance.timer);
    this.#await(instance);
    this.#turn(instance, true);
    return DONE;
  }

  remove(id: string): StubAnswer {
    const instance = this.#instances.get(id);
    if (instance === undefined) {
      return [404, `Unknown service ID "${id}". Ensure that the service ID is passed, not the service name.`];
    }
    clearTimeout(instance.timer);
    this.#instances.delete(id);
    this.#changed(instance.registered.Name);
    return DONE;
  }

  /** What the agent forgets when it is restarted without its data. */
  forget(): void {
    for (const id of [...this.#instances.keys()]) this.remove(id);
  }

  /** The answer about a service: all of its instances, or those that pass. */
  health(name: string, passing: boolean): readonly object[] {
    return [...this.#instances.values()]
      .filter(({ registered, isPassing }) => registered.Name === name && (isPassing || !passing))
      .map(({ registered }) => ({
        Node: { Node: 'stub' },
        Service: {
          ID: registered.ID,
          Service: registered.Name,
          Weights: registered.Weights ?? { Passing: 1, Warning: 1 },
        },
      }));
  }

  indexOf(name: string): number | undefined {
    return this.#indices.get(name);
  }

  close(): void {
    for (const { timer } of this.#instances.values()) clearTimeout(timer);
  }

  #await(instance: Instance): void {
    const { Check } = instance.registered;
    if (Check === undefined) return;
    instance.timer = setTimeout(() => {
      this.#turn(instance, false);
    }, msOf(Check.TTL));
  }

  #turn(instance: Instance, isPassing: boolean): void {
    if (instance.isPassing === isPassing) return;
    instance.isPassing = isPassing;
    this.#changed(instance.registered.Name);
  }

  #changed(name: string): void {
    this.#indices.set(name, this.#nextIndex());
  }
}
