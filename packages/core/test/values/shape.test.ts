import { describe, expect, it } from '@jest/globals';
import type { Duration } from '../../src/values/duration.ts';
import {
  duration,
  flag,
  functionThat,
  oneOf,
  optional,
  optionsOf,
  readOptions,
  timerMs,
  withDefault,
  type Field,
  type Optional,
  type Options,
  type Settings,
  type WithDefault,
} from '../../src/values/shape.ts';

const TUNE = { notes: withDefault(flag, true) as WithDefault<boolean> };
const BELL = {
  volume: oneOf(['low', 'high']) as Field<'low' | 'high'>,
  length: withDefault(duration(), 2_000) as WithDefault<Duration, number>,
  everyMs: withDefault(timerMs, 100) as WithDefault<number>,
  call: optional(functionThat('a function')) as Optional<() => void>,
  tune: optional(optionsOf(TUNE)) as Optional<Options<typeof TUNE>, Settings<typeof TUNE>>,
};
const ring = (options: Options<typeof BELL>): Settings<typeof BELL> => readOptions(options, BELL, 'ring');

describe('options read by their shape', () => {
  it('are as they are kept, or their defaults', () => {
    expect(ring({ volume: 'low', length: '1m', tune: {} })).toEqual({
      volume: 'low',
      length: 60_000,
      everyMs: 100,
      call: undefined,
      tune: { notes: true },
    });
  });

  it.each<[object, string, string]>([
    [{}, 'volume', 'volume must be "low" or "high", got undefined'],
    [{ volume: 'loud' }, 'volume', 'volume must be "low" or "high", got "loud"'],
    [{ volume: 'low', length: 0.5 }, 'length', 'length must be a whole number of milliseconds from 1 to 36500d'],
    [
      { volume: 'low', everyMs: 2 ** 31 },
      'everyMs',
      'whole number of milliseconds from 1 to 2147483647, got 2147483648',
    ],
    [{ volume: 'low', call: 5 }, 'call', 'call must be a function, got 5'],
    [{ volume: 'low', tune: { notes: 'yes' } }, 'tune.notes', 'tune.notes must be true or false, got "yes"'],
    [{ volume: 'low', tune: null }, 'tune', 'tune takes an object with notes, got null'],
  ])('are rejected one by one, with what was expected and what came: %j', (options, field, message) => {
    const call = (): unknown => ring(options as never);

    expect(call).toThrow(expect.objectContaining({ name: 'PolicyError', code: 'SLUICE_OPTION_INVALID', field }));
    expect(call).toThrow(message);
  });

  it('have the types of their rows', () => {
    // @ts-expect-error -- volume must be given
    expect(() => ring({ everyMs: 5 })).toThrow();
    // @ts-expect-error -- no such word
    expect(() => ring({ volume: 'loud' })).toThrow();
    // @ts-expect-error -- a flag is no number
    expect([flag as Field<number>]).toHaveLength(1);
    const { length, call }: { readonly length: number; readonly call: (() => void) | undefined } = ring({
      volume: 'low',
      call: undefined,
    });
    expect([length, call]).toEqual([2_000, undefined]);
  });
});
