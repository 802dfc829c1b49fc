import type { StoreError } from '../../errors.ts';
import type { Members } from '../membership/membership.ts';
import type { AskMembers } from '../membership/poll-membership.ts';
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
  const invalid = (why: string): StoreError => agent.error('SLUICE_STORE_REPLY_INVALID', `GET ${path}: ${why}`);
  let index = 0;
  return async (signal) => {
    const before = index;
    index = 0; // after a failure the next request is answered at once
    // `near` makes the agent ask its servers. Without it, an agent that has lost them repeats what it knew.
    const query = { passing: 'true', near: '_agent', ...(before > 0 && blocking(before, waitMs)) };
    const answer = await agent.expect({ method: 'GET', path, query, signal });
    const members = readMembers(answer, invalid);
    index = readIndex(answer, before, invalid);
    return members;
  };
}

function blocking(index: number, waitMs: number): Readonly<Record<string, string>> {
  return { index: String(index), wait: `${String(waitMs)}ms` };
}

/**
 * The index to wait from, as Consul's documentation of blocking queries requires: an index that goes back (a snapshot
 * that was restored) begins again with 0, and one that is not above 0 would not block.
 */
function readIndex({ headers }: AgentAnswer, before: number, invalid: (why: string) => StoreError): number {
  const index = Number(headers.get('x-consul-index') ?? NaN);
  if (Number.isNaN(index)) throw invalid('the answer has no index, so it is not from Consul');
  if (index < 1) return 1;
  return index < before ? 0 : index;
}

function readMembers({ text, headers }: AgentAnswer, invalid: (why: string) => StoreError): Members {
  if (headers.get('x-consul-knownleader') === 'false') throw invalid('the agent knows no leader');
  if (headers.get('x-consul-results-filtered-by-acls') === 'true') {
    throw invalid('the token may not read all instances: it needs service:read and node:read');
  }
  const entries = parseJson(text);
  if (!Array.isArray(entries) || !entries.every(isEntry)) {
    throw invalid(`expected a list of instances, got ${text.trim()}`);
  }
  const weights = entries.map(({ Service }): [string, number] => [Service.ID, Service.Weights?.Passing ?? 1]);
  const twice = weights.find(([id], i) => weights.findIndex(([other]) => other === id) < i);
  if (twice !== undefined) throw invalid(`two instances have the id ${twice[0]}: give each an id of its own`);
  return Object.fromEntries(weights);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // reported as what it is: no list
  }
}

function isEntry(entry: unknown): entry is Entry {
  return typeof (entry as Partial<Entry> | null)?.Service?.ID === 'string';
}
