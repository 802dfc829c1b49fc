/** A request of the trace, and what its answer says that clients depend on. */
export interface TracedExchange {
  readonly request: string;
  readonly status: number;
  /** How the index relates to that of the last answer about the same path; absent where there is none. */
  readonly index?: 'first' | 'same' | 'greater' | 'smaller';
  readonly answer: unknown;
}

const CHECK_TTL_MS = 5000;
/** Longer than any change takes to be seen, and shorter than a minute, after which the instance would be removed. */
const WAIT = '30s';

const instance = (id: string, passing: number): object => ({
  ID: id,
  Name: 'gateways',
  Weights: { Passing: passing, Warning: 1 },
  Check: { CheckID: `service:${id}`, TTL: `${String(CHECK_TTL_MS)}ms`, Status: 'passing' },
});
const HEALTH = '/v1/health/service/gateways';
const KEYS = '/v1/kv/trace/';

/**
 * The requests that clients of ours send to an agent, one after the other, and what it answers. What differs from run to
 * run is left out, so that the answers of a stub and of a real Consul are equal.
 */
export async function consulTrace(address: string): Promise<readonly TracedExchange[]> {
  const trace = new Trace(address);
  await trace.get(HEALTH, { passing: 'true' });
  await trace.put('/v1/agent/service/register', { 'replace-existing-checks': 'true' }, instance('a', 3));
  await trace.get(HEALTH, { passing: 'true', near: '_agent' });
  await trace.put('/v1/agent/service/register', { 'replace-existing-checks': 'true' }, instance('a', 3));
  await trace.put('/v1/agent/service/register', {}, instance('heavy', 70_000));
  await trace.put('/v1/agent/service/register', {}, instance('light', 0));
  await trace.put('/v1/agent/check/pass/service:a');
  await trace.put('/v1/agent/check/pass/service:unknown');
  await trace.get(HEALTH, { passing: 'true', near: '_agent', wait: '100ms' }, { blocking: true });
  // Its check is not renewed: it is gone for those who ask for instances that pass.
  await trace.get(HEALTH, { passing: 'true', near: '_agent', wait: WAIT }, { blocking: true });
  await trace.put('/v1/agent/check/pass/service:a');
  await trace.get(HEALTH, { passing: 'true', near: '_agent' });
  await trace.put('/v1/agent/service/deregister/a');
  await trace.put('/v1/agent/service/deregister/a');
  await trace.get(HEALTH, { passing: 'true', near: '_agent', wait: WAIT }, { blocking: true });

  await trace.get(KEYS, { recurse: 'true' });
  await trace.put(`${KEYS}limit`, { cas: '0' }, { limit: 100 });
  await trace.put(`${KEYS}limit`, { cas: '0' }, { limit: 200 });
  await trace.get(KEYS, { recurse: 'true' });
  await trace.get(KEYS, { recurse: 'true', wait: '100ms' }, { blocking: true });
  return trace.exchanges;
}

type Query = Readonly<Record<string, string>>;

class Trace {
  readonly exchanges: TracedExchange[] = [];
  readonly #address: string;
  readonly #indices = new Map<string, number>();

  constructor(address: string) {
    this.#address = address;
  }

  async put(path: string, query: Query = {}, body?: object): Promise<void> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(this.#url(path, query), { method: 'PUT', ...sent });
    const request = ['PUT', shown(path, query), ...(body === undefined ? [] : [JSON.stringify(body)])].join(' ');
    this.exchanges.push({ request, status: response.status, answer: (await response.text()).trim() });
  }

  /** @param blocking - Whether to wait for a change after the last answer. */
  async get(path: string, query: Query, { blocking = false } = {}): Promise<void> {
    const before = this.#indices.get(path);
    const index = blocking ? { index: String(before) } : {};
    const response = await fetch(this.#url(path, { ...query, ...index }));
    const now = Number(response.headers.get('x-consul-index'));
    this.#indices.set(path, now);
    this.exchanges.push({
      request: `GET ${shown(path, query)}${blocking ? ' after the last index' : ''}`,
      status: response.status,
      index: relation(before, now),
      answer: essence(await response.text()),
    });
  }

  #url(path: string, query: Query): string {
    return `${this.#address}${path}?${new URLSearchParams(query).toString()}`;
  }
}

function shown(path: string, query: Query): string {
  const text = new URLSearchParams(query).toString();
  return text === '' ? path : `${path}?${text}`;
}

function relation(before: number | undefined, now: number): 'first' | 'same' | 'greater' | 'smaller' {
  if (before === undefined) return 'first';
  if (now === before) return 'same';
  return now > before ? 'greater' : 'smaller';
}

interface Entry {
  readonly Service?: { readonly ID: string; readonly Service: string; readonly Weights: object };
  readonly Key?: string;
  readonly Value?: string;
  readonly Flags?: number;
}

/** What clients read of an answer. */
function essence(text: string): unknown {
  if (text === '') return '';
  return (JSON.parse(text) as readonly Entry[]).map(({ Service, Key, Value, Flags }) =>
    Service === undefined
      ? { Key, Value, Flags }
      : { Service: { ID: Service.ID, Service: Service.Service, Weights: Service.Weights } },
  );
}
