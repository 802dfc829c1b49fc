import type { Decision } from '@sluice/old-core';
import { denialOf, fieldWriter } from '@sluice/old-http/spi';

const writeFields = fieldWriter();

/**
 * A decision as clients see it: without the store's error, which may hold addresses, and with `fields`, the header
 * fields of a response that it leads to, so that clients in no language have to write them.
 */
export function writtenDecision(decision: Decision): unknown {
  return { ...decision, error: undefined, fields: fieldsOf(decision) };
}

function fieldsOf(decision: Decision): Readonly<Record<string, string>> {
  const fields = decision.policies.length === 0 ? [] : writeFields(decision);
  const ofDenial = decision.allowed ? [] : denialOf(decision).fields;
  return Object.fromEntries([...fields, ...ofDenial].map(({ name, value }) => [name, value]));
}
