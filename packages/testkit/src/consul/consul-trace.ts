const REGISTER = 'PUT /v1/agent/service/register';
const ONCE_MORE = '?replace-existing-checks=true';
const HEALTH = 'GET /v1/health/service/gateways?passing=true';
const KEYS = 'GET /v1/kv/trace/?recurse=true';
const BLOCKING = ' after the last index';
/** Longer than any change takes to be visible, and shorter than a minute, after which the instance would be removed. */
const LONG = 'wait=30s';

const instance = (id: string, passing: number): string =>
  JSON.stringify({
    ID: id,
    Name: 'gateways',
    Weights: { Passing: passing, Warning: 1 },
    Check: { CheckID: `service:${id}`, TTL: '5000ms', Status: 'passing' },
  });

/** The requests that our clients send to an agent, one after another. */
const REQUESTS = [
  HEALTH,
  `${REGISTER}${ONCE_MORE} ${instance('a', 3)}`,
  `${HEALTH}&near=_agent`,
  `${REGISTER}${ONCE_MORE} ${instance('a', 3)}`,
  `${REGISTER} ${instance('heavy', 70_000)}`,
  `${REGISTER} ${instance('light', 0)}`,
  'PUT /v1/agent/check/pass/service:a',
  'PUT /v1/agent/check/pass/service:unknown',
  `${HEALTH}&near=_agent&wait=100ms${BLOCKING}`,
  // Its check is not renewed: queries for passing instances no longer return it.
  `${HEALTH}&near=_agent&${LONG}${BLOCKING}`,
  'PUT /v1/agent/check/pass/service:a',
  `${HEALTH}&near=_agent`,
  'PUT /v1/agent/service/deregister/a',
  'PUT /v1/agent/service/deregister/a',
  `${HEALTH}&near=_agent&${LONG}${BLOCKING}`,
  KEYS,
  'PUT /v1/kv/trace/limit?cas=0 {"limit":100}',
  'PUT /v1/kv/trace/limit?cas=0 {"limit":200}',
  KEYS,
  `${KEYS}&wait=100ms${BLOCKING}`,
];

/**
 * An agent's answers to them, reduced to what clients depend on and what is equal in every run, so that the answers of
 * a stub and of a real Consul are equal.
 */
export async function consulTrace(address: string): Promise<readonly object[]> {
  const trace = [];
  /** By path. */
  const indices = new Map<string, number>();
  for (const request of REQUESTS) {
    const [method = '', url = '', ...body] = request.replace(BLOCKING, '').split(' ');
    const path = url.split('?', 1)[0] as string;
    const before = indices.get(path);
    const asked = request.endsWith(BLOCKING) ? `${url}&index=${String(before)}` : url;
    const response = await fetch(address + asked, { method, ...(body.length > 0 && { body: body.join(' ') }) });
    const answer = (await response.text()).trim();
    const { status } = response;
    if (method === 'PUT') {
      trace.push({ request, status, answer });
      continue;
    }
    const now = Number(response.headers.get('x-consul-index'));
    indices.set(path, now);
    trace.push({ request, status, index: relation(before, now), answer: essence(answer) });
  }
  return trace;
}

/** How an index relates to the one in the last answer for the same path. */
function relation(before: number | undefined, now: number): string {
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

/** The parts of an answer that clients read. */
function essence(text: string): unknown {
  if (text === '') return '';
  return (JSON.parse(text) as readonly Entry[]).map(({ Service, Key, Value, Flags }) =>
    Service === undefined
      ? { Key, Value, Flags }
      : { Service: { ID: Service.ID, Service: Service.Service, Weights: Service.Weights } },
  );
}
