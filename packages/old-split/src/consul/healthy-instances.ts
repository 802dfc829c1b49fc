import type { AskMembers } from '../poll/poller.ts';
import type { AgentAnswer, ConsulAgent } from './consul-agent.ts';

/** A part of what the endpoint says of an instance. */
interface Entry {
  readonly Service: { readonly ID: string; readonly Weights?: { readonly Passing?: number } };
}

/**
 * Asks for the instances of a service whose checks pass, with the weights that the registry gives them. The first
 * request is answered at once, later ones when something changes, or after `waitMs` and up to a sixteenth more.
 */
export function askHealthyInstances(agent: ConsulAgent, service: string, waitMs: number): AskMembers {
  const path = `/v1/health/service/${encodeURIComponent(service)}`;
  let index = 0;
  return async (signal) => {
    const blocking = { index: String(index), wait: `${String(waitMs)}ms` };
    const before = index;
    index = 0; // after a failure the next request is answered at once
    // `near` makes the agent ask its servers. Without it, an agent that has lost them repeats what it knew.
    const query = { passing: 'true', near: '_agent', ...(before > 0 && blocking) };
    const answer = await agent.expect({ method: 'GET', path, query, signal });
    const members = membersOf(agent, path, answer);
    index = nextIndex(agent, path, before, answer);
    return members;
  };
}

/**
 * The index to wait from, as Consul's documentation of blocking queries requires: an index that goes back (a snapshot
 * that was restored) begins again with 0, and one that is not above 0 would not block.
 */
function nextIndex(agent: ConsulAgent, path: string, before: number, { headers }: AgentAnswer): number {
  const index = Number(headers.get('x-consul-index') ?? NaN);
  if (Number.isNaN(index)) throw agent.invalid(path, 'the answer has no index, so it is not from Consul');
  if (index < 1) return 1;
  return index < before ? 0 : index;
}

function membersOf(agent: ConsulAgent, path: string, { text, headers }: AgentAnswer): Record<string, number> {
  if (headers.get('x-consul-knownleader') === 'false') throw agent.invalid(path, 'the agent knows no leader');
  if (headers.get('x-consul-results-filtered-by-acls') === 'true') {
    throw agent.invalid(path, 'the token may not read all instances: it needs service:read and node:read');
  }
  const members: Record<string, number> = {};
  for (const { Service } of entriesOf(agent, path, text)) {
    if (Object.hasOwn(members, Service.ID)) {
      throw agent.invalid(path, `two instances have the id ${Service.ID}: give each an id of its own`);
    }
    // A key such as __proto__ has to be one, too.
    Object.defineProperty(members, Service.ID, { value: Service.Weights?.Passing ?? 1, enumerable: true });
  }
  return members;
}

function entriesOf(agent: ConsulAgent, path: string, text: string): readonly Entry[] {
  const entries = parsed(text);
  if (Array.isArray(entries) && entries.every(isEntry)) return entries;
  throw agent.invalid(path, `expected a list of instances, got ${text.trim()}`);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // reported as what it is: no list
  }
}

function isEntry(entry: unknown): entry is Entry {
  const { Service } = (entry ?? {}) as Partial<Entry>;
  return typeof Service?.ID === 'string';
}
