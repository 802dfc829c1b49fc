import { type PolicyError } from '@sluice/core';
import { readOptions } from '@sluice/core/spi';

/** The message about a field with an unknown name, with the name that was probably meant. */
export function unknownName(where: string, name: string, known: readonly string[]): string {
  const shape = Object.fromEntries(known.map((one) => [one, () => undefined]));
  try {
    readOptions({ [name]: undefined }, shape, where);
    return '';
  } catch (error) {
    return (error as PolicyError).message
      .replace('has no option', 'has no field')
      .replace(' (got undefined)', '')
      .replace(/(did you mean) "(.+)"/, '$1 $2')
      .replace(/ \[\w+\]$/, '');
  }
}
