// Documents name the packages as they will be. Examples of what still stands on the core as it was run on that core.
const OLD_CORE = /@sluice\/(page|server|simulate)\b/;
const OLD = [
  [/@sluice\/core\/(managed|split|testing)\b/g, '@sluice/old-$1'],
  [/@sluice\/core\b/g, '@sluice/old-core'],
];
/** The text of a program, with the names of the old packages where it needs them. */
export const withOldNames = (program) =>
  OLD_CORE.test(program) ? OLD.reduce((text, [name, old]) => text.replace(name, old), program) : program;
