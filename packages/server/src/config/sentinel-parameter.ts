/** Types of parameters, by their tags in Sentinel's protocol. Values of two types are never equal, as in Java. */
export const PARAMETER_TYPES = ['int', 'long', 'byte', 'double', 'float', 'short', 'boolean', 'string'] as const;
export type ParameterType = (typeof PARAMETER_TYPES)[number];

/** The text of a parameter value, by which rules and requests are compared, and which keys contain: `int:5`. */
export function formatParameter(type: ParameterType, value: string | number | bigint | boolean): string {
  return `${type}:${String(value)}`;
}

/** The types for Java's `classType` of an exception; any other is a string, as in Sentinel. */
const CLASSES: ReadonlyMap<string, ParameterType> = new Map(
  PARAMETER_TYPES.flatMap((type) => {
    const boxed = type === 'int' ? 'Integer' : type.replace(/^./, (letter) => letter.toUpperCase());
    return [[type, type] as const, [`java.lang.${boxed}`, type] as const];
  }),
);
/** The largest whole numbers of these types. */
const LARGEST: Readonly<Partial<Record<ParameterType, bigint>>> = {
  byte: 127n,
  short: 32_767n,
  int: 2_147_483_647n,
  long: 2n ** 63n - 1n,
};

/**
 * Reads `object` of an exception in a rule.
 *
 * @returns The value as {@link formatParameter} writes it, or undefined if the text is not a value of that class.
 */
export function readParameter(text: string, classType: string): string | undefined {
  const type = CLASSES.get(classType) ?? 'string';
  if (type === 'string') return formatParameter(type, text);
  if (type === 'boolean') return formatParameter(type, text.toLowerCase() === 'true');
  const largest = LARGEST[type];
  if (largest !== undefined) return readWhole(type, text, largest);
  const value = type === 'float' ? Math.fround(Number(text)) : Number(text);
  return text.trim() === '' || Number.isNaN(value) ? undefined : formatParameter(type, value);
}

function readWhole(type: ParameterType, text: string, largest: bigint): string | undefined {
  if (!/^[+-]?\d{1,19}$/.test(text)) return undefined;
  const value = BigInt(text.replace('+', ''));
  return value > largest || value < -largest - 1n ? undefined : formatParameter(type, value);
}
