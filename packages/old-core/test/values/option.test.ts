import { expect, it } from '@jest/globals';
import { flag, readOptions, timerMs, type OptionTable, type SettingsOf } from '@sluice/old-core/spi';

interface Options {
  loud?: boolean | undefined;
  everyMs?: number | undefined;
}

const TABLE: OptionTable<SettingsOf<Options>> = { loud: flag(false), everyMs: timerMs(100) };

it('reads every option of its interface, or its default', () => {
  expect(readOptions({ loud: true }, TABLE, 'bell')).toEqual({ loud: true, everyMs: 100 });
});

it('names the option, what it takes, and what came', () => {
  expect(() => readOptions({ loud: 'yes' }, TABLE, 'bell')).toThrow('loud must be true or false, got "yes"');
  expect(() => readOptions({ lout: true }, TABLE, 'bell')).toThrow('did you mean "loud"?');
});

it('does not compile without a row, with a row too many, or with one of another type', () => {
  // @ts-expect-error -- everyMs has no row
  const missing: OptionTable<SettingsOf<Options>> = { loud: flag(false) };
  // @ts-expect-error -- the interface has no such option
  const more: OptionTable<SettingsOf<Options>> = { ...TABLE, ringing: flag(true) };
  // @ts-expect-error -- a flag is no number
  const other: OptionTable<SettingsOf<Options>> = { ...TABLE, everyMs: flag(true) };

  expect([missing, more, other].map((table) => Object.keys(table))).toEqual([
    ['loud'],
    ['loud', 'everyMs', 'ringing'],
    ['loud', 'everyMs'],
  ]);
});
