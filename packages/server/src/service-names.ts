import { basename } from 'node:path';
import type { Store } from '@sluice/core';
import { ownerOf } from '@sluice/core/spi';
import { MOST_NAMES, NameWatch, thisProcess, writtenNames, type WrittenNames } from '@sluice/http/spi';
import { linesOf } from './config/changes.ts';
import type { Configuration } from './config/configuration.ts';
import { limitsOfClients } from './native/frames/shared-limits.ts';

/**
 * Tells other processes of this Redis which rules a service has, and which limits its clients of frames, and warns where
 * others have other ones.
 *
 * @param config - The path of the file or folder: others are told its name.
 */
export function watchServiceNames(store: Store, config: string, current: () => Configuration): NameWatch {
  const who = `the service of ${basename(config)}, ${thisProcess()}`;
  let known: { readonly configuration: Configuration; readonly rules: WrittenNames } | undefined;
  const rules = (): WrittenNames => {
    const configuration = current();
    // A large file takes long to be written: once, and not for each look.
    if (known?.configuration !== configuration) known = { configuration, rules: rulesOf(configuration) };
    return known.rules;
  };
  return new NameWatch(
    store,
    () => {
      const limits = limitsOfClients(store).map((limit) => [ownerOf(limit.keySuffix).slice(1), limit] as const);
      return new Map([...writtenNames(limits), ...rules()]);
    },
    who,
  ).start();
}

function rulesOf(configuration: Configuration): WrittenNames {
  const rules = [...linesOf(configuration)].slice(0, MOST_NAMES);
  return new Map(rules.map(([name, text]) => [`service/${name}`, text]));
}
