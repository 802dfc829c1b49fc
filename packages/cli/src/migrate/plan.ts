import { lineOf } from '../project/source-file.ts';
import type { Project } from '../project/read-project.ts';
import { DROP_IN, notesOnDropIn, toDropIn } from './drop-in.ts';
import { edited } from './edits.ts';
import { usesOf, type Limiter } from './limiters.ts';
import { majorOf, withDependency } from './manifest.ts';
import { NOTES_ON_OWN, OWN, toOwnOptions } from './own-options.ts';
import { EXPRESS_RATE_LIMIT, PEERS } from './peers.ts';

/** What a limiter becomes: the same options on another import, or the options of Sluice. */
export type Target = 'drop-in' | 'sluice';

export interface Listed {
  readonly peer: string;
  readonly path: string;
  readonly line: number;
  readonly text: string;
  /** What will be different, or what can be done. */
  readonly notes: readonly string[];
}

export interface Plan {
  readonly limiters: readonly Listed[];
  readonly changes: readonly { readonly path: string; readonly before: string; readonly after: string }[];
  /** What is not understood, and stays as it is. */
  readonly left: readonly { readonly path: string; readonly line: number; readonly why: string }[];
}

/** The limiters of a project, and its change. Writes nothing. */
export function planOf(project: Project, target: Target): Plan {
  const limiters: Listed[] = [];
  const changes: { path: string; before: string; after: string }[] = [];
  const left: { path: string; line: number; why: string }[] = project.unread.map(({ path, why }) => ({
    path,
    line: 1,
    why: `it cannot be read: ${why}`,
  }));
  const { manifest } = project;
  const major = manifest === undefined ? undefined : majorOf(manifest, EXPRESS_RATE_LIMIT);
  for (const file of project.files) {
    for (const peer of PEERS) {
      const uses = usesOf(file, peer);
      const isChanged = peer.name === EXPRESS_RATE_LIMIT && uses.imports.length > 0;
      const change = isChanged ? (target === 'drop-in' ? toDropIn : toOwnOptions)(file, uses) : undefined;
      if (change !== undefined && 'why' in change)
        left.push({ path: file.path, line: lineOf(file, change), why: change.why });
      else if (change !== undefined)
        changes.push({ path: file.path, before: file.text, after: edited(file.text, change.edits) });
      const notes = (limiter: Limiter): readonly string[] =>
        change === undefined
          ? [peer.advice]
          : 'why' in change
            ? []
            : target === 'drop-in'
              ? notesOnDropIn(limiter, major)
              : NOTES_ON_OWN;
      limiters.push(...uses.limiters.map((limiter) => listed(limiter, notes(limiter))));
    }
  }
  if (changes.length > 0 && manifest !== undefined) {
    const after = withDependency(manifest, target === 'drop-in' ? DROP_IN.slice(0, DROP_IN.lastIndexOf('/')) : OWN);
    if (after !== manifest) changes.push({ path: 'package.json', before: manifest, after });
  }
  return { limiters, changes, left };
}

function listed({ peer, path, line, text }: Limiter, notes: readonly string[]): Listed {
  return { peer, path, line, text, notes };
}
