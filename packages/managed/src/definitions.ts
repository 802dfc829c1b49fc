import type { ChangingPolicy, Definitions } from '@sluice/core/inspect';
import { earlierVersion, readRecord } from './read-record.ts';

/**
 * What the policies of these records are at present, for `inspectKey` and `limitOfKey` of `@sluice/core/inspect`.
 *
 * @param records - By the names of their policies, as a `PolicySource` returns them.
 */
export function definitionsOf(records: Readonly<Record<string, unknown>>): Definitions {
  return (name) => (Object.hasOwn(records, name) ? definitionOf(name, records[name]) : noSuchPolicy(name));
}

function noSuchPolicy(name: string): string {
  return `there is no managed policy ${name}`;
}

function definitionOf(name: string, given: unknown): ChangingPolicy | string {
  if (given === undefined) return noSuchPolicy(name);
  const definition = readRecord(name, given);
  switch (definition.state) {
    case 'removed':
      return `the managed policy ${name} was removed`;
    case 'newer':
    case 'broken':
      return `the managed policy ${name} cannot be used: ${definition.why}`;
    case 'usable': {
      const { named, version, record } = definition;
      return { named, version, earlier: (before) => earlierVersion(name, record, before) };
    }
  }
}
