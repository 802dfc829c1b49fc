import type { Described } from './descriptions.ts';
import { NAMES, type NameContext } from './names.ts';

/** What a description stands for: innermost first, each `{ "$": name, ... }` becomes what the name makes of the rest. */
export function readDescription(described: Described, context: NameContext): unknown {
  if (typeof described !== 'object' || described === null) return described;
  if (Array.isArray(described))
    return (described as readonly Described[]).map((each) => readDescription(each, context));
  const fields = Object.entries(described as Readonly<Record<string, Described>>);
  const read = Object.fromEntries(
    fields.filter(([name]) => name !== '$').map(([name, value]) => [name, readDescription(value, context)]),
  );
  const name = (described as { readonly $?: string }).$;
  if (name === undefined) return read;
  const make = NAMES[name];
  if (make === undefined) throw new Error(`the table of names has no ${name}; known: ${Object.keys(NAMES).join(', ')}`);
  return make(read as never, context);
}
