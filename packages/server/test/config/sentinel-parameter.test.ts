import { describe, expect, it } from '@jest/globals';
import { readParameter } from '../../src/config/sentinel-parameter.ts';

describe('the value of an exception', () => {
  it.each([
    ['5', 'int', 'int:5'],
    ['+5', 'java.lang.Integer', 'int:5'],
    ['-2147483648', 'int', 'int:-2147483648'],
    ['2147483648', 'int', undefined],
    ['9223372036854775807', 'java.lang.Long', 'long:9223372036854775807'],
    ['9223372036854775808', 'long', undefined],
    ['128', 'byte', undefined],
    ['-32768', 'short', 'short:-32768'],
    ['1.50', 'double', 'double:1.5'],
    ['0.1', 'float', `float:${String(Math.fround(0.1))}`],
    ['many', 'double', undefined],
    ['', 'float', undefined],
    ['TRUE', 'boolean', 'boolean:true'],
    ['yes', 'java.lang.Boolean', 'boolean:false'],
    ['5', '', 'string:5'],
    ['5', 'java.lang.String', 'string:5'],
  ])('%s of the class %s is %s', (text, classType, value) => {
    expect(readParameter(text, classType)).toBe(value);
  });
});
