import type { Configuration } from './configuration.ts';

/** Rules that a line of the log names. */
const MOST_SHOWN = 10;

/** The changes of a new configuration, in a line: `limits.login: before -> after`, and rules that came or went. */
export function changesOf(before: Configuration, after: Configuration): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const changes = [
    ...[...now].flatMap(([name, rule]) => {
      const was = old.get(name);
      if (was === rule) return [];
      return [was === undefined ? `${name}: ${rule} is new` : `${name}: ${was} -> ${rule}`];
    }),
    ...[...old.keys()].filter((name) => !now.has(name)).map((name) => `${name} is gone`),
  ];
  if (changes.length === 0) return 'no rule changed';
  const more = changes.length - MOST_SHOWN;
  return changes.slice(0, MOST_SHOWN).join('; ') + (more > 0 ? `; and ${String(more)} more` : '');
}

/** The rules as text, by their names. */
function linesOf(configuration: Configuration): ReadonlyMap<string, string> {
  const lines = configuration.written().trimEnd().split('\n');
  return new Map(
    lines.flatMap((line) => {
      const end = line.indexOf(': ');
      return end === -1 ? [] : [[line.slice(0, end), line.slice(end + 2)] as const];
    }),
  );
}
