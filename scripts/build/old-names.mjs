// Documents name the packages as they will be. Until the packages are so, their examples run on the core as it was.
const OLD = [
  [/(import type [^;]*)@sluice\/core\/http\b/g, '$1@sluice/old-http'],
  [/@sluice\/core\/http\b/g, '@sluice/old-http/spi'],
  [/@sluice\/core\/(managed|split|testing)\b/g, '@sluice/old-$1'],
  [/@sluice\/core\b/g, '@sluice/old-core'],
];

/** The text of a program, with the names of the old packages. */
export const withOldNames = (program) => OLD.reduce((text, [name, old]) => text.replace(name, old), program);
