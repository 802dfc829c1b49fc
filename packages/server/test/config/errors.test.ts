import { describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { readConfigurationFiles } from '../../src/config/read-configuration.ts';
import { makeLimit, problemsOf, read } from './reading.ts';

const RATE = 'rate_limit: { unit: minute, requests_per_unit: 5 }';

describe('a file in the format of envoyproxy/ratelimit is wrong', () => {
  it.each([
    [
      'with an unknown unit',
      `domain: d\ndescriptors:\n  - key: k\n    value: v\n    rate_limit:\n      unit: fortnight\n      requests_per_unit: 5\n`,
      ['6:13: unit must be one of second, minute, hour, day, week, month, year, got "fortnight"'],
    ],
    [
      'without a unit',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      requests_per_unit: 5\n`,
      ['4:5: rate_limit needs unit: one of second, minute, hour, day, week, month, year'],
    ],
    [
      'without requests_per_unit',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: day }\n`,
      ['4:5: rate_limit needs requests_per_unit; write 0 to deny every request'],
    ],
    ['that is not YAML', `'''\n`, ["2:1: Missing closing 'quote"]],
    [
      'with two domains in one map',
      'domain: d\ndomain: e\n',
      ['2:1: a configuration has the field "domain" twice, the first time in line 1; write it once'],
    ],
    [
      'with the same key and value twice',
      `domain: d\ndescriptors:\n  - key: k\n    value: v\n\n  - key: k\n    value: v\n`,
      ['6:5: the descriptor "d.k_v" has been defined at limits.yaml:3; write it once'],
    ],
    [
      'with the same key twice',
      `domain: d\ndescriptors:\n  - { key: k, ${RATE} }\n  - { key: k, value: '' }\n`,
      ['4:5: the descriptor "d.k" has been defined at limits.yaml:3; write it once'],
    ],
    [
      'without a domain',
      'descriptors:\n',
      ['1:1: descriptors need a domain that is not empty; write domain: and the name that Envoy sends'],
    ],
    [
      'with an empty domain',
      `domain: ''\ndescriptors: []\n`,
      ['1:9: descriptors need a domain that is not empty; write domain: and the name that Envoy sends'],
    ],
    [
      'with a domain of null',
      'domain:\ndescriptors: []\n',
      ['1:1: descriptors need a domain that is not empty; write domain: and the name that Envoy sends'],
    ],
    ['without a key', 'domain: d\ndescriptors:\n  - value: v\n', ['3:5: a descriptor needs a key that is not empty']],
    [
      'with an empty key',
      `domain: d\ndescriptors:\n  - value: v\n    key: ''\n`,
      ['4:10: a descriptor needs a key that is not empty'],
    ],
    [
      'with ratelimit for rate_limit',
      `domain: d\ndescriptors:\n  - key: k\n    ratelimit:\n      unit: day\n      requests_per_unit: 5\n`,
      ['4:5: a descriptor has no field "ratelimit"; did you mean rate_limit?'],
    ],
    [
      'with requestsperunit for requests_per_unit',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      unit: day\n      requestsperunit: 5\n`,
      [
        '4:5: rate_limit needs requests_per_unit; write 0 to deny every request',
        '6:7: rate_limit has no field "requestsperunit"; did you mean requests_per_unit?',
      ],
    ],
    [
      'with an unknown field of the file',
      `domain: d\ndescripters: []\n`,
      ['2:1: a configuration has no field "descripters"; did you mean descriptors?'],
    ],
    [
      'with a list of texts',
      'domain: d\ndescriptors:\n  - a\n  - b\n',
      [
        '3:5: a descriptor must hold key: and its name, got "a"',
        '4:5: a descriptor must hold key: and its name, got "b"',
      ],
    ],
    [
      'with a map of descriptors',
      'domain: d\ndescriptors: { key: k }\n',
      ['2:1: descriptors must be a list of maps with key, such as - key: remote_address, got a map'],
    ],
    [
      'with a number for the name of a field',
      `0.25: d\ndescriptors:\n  - key: k\n`,
      [
        '1:1: a configuration has a field whose name is not a text; write the name in quotes',
        '1:1: descriptors need a domain that is not empty; write domain: and the name that Envoy sends',
      ],
    ],
    [
      'with an empty entry of replaces',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      name: self\n      replaces:\n        - name:\n      unit: second\n      requests_per_unit: 5\n`,
      ['7:11: an entry of replaces must not be empty; write - name: and the name of a rule'],
    ],
    [
      'with an entry of replaces that holds nothing',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      replaces:\n        -\n      unit: second\n      requests_per_unit: 5\n`,
      ['6:10: an entry of replaces must not be empty; write - name: and the name of a rule'],
    ],
    [
      'with a text in replaces',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit: { replaces: [other], unit: second, requests_per_unit: 5 }\n`,
      ['4:30: an entry of replaces must hold name: and the name of a rule, got "other"'],
    ],
    [
      'with a rule that replaces itself',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      name: self\n      replaces:\n        - name: self\n      unit: second\n      requests_per_unit: 5\n`,
      ['7:17: a rule must not replace itself, got "self"'],
    ],
    [
      'with unlimited and a unit',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      unlimited: true\n      unit: day\n      requests_per_unit: 25\n`,
      ['6:13: unit must not be given with unlimited: true; leave one of them out'],
    ],
    [
      'with share_threshold on a value without *',
      `domain: d\ndescriptors:\n  - key: k\n    value: v\n    share_threshold: true\n`,
      ['5:22: share_threshold needs a value with *; without one every value is a limit of its own'],
    ],
    [
      'with share_threshold and no value',
      `domain: d\ndescriptors:\n  - key: k\n    share_threshold: true\n`,
      ['4:22: share_threshold needs a value with *; without one every value is a limit of its own'],
    ],
    [
      'with * in a key',
      `domain: d\ndescriptors:\n  - key: k*\n`,
      ['3:10: key must not contain *, got "k*"; patterns stand in value'],
    ],
    [
      'with a mode inside rate_limit, where it would do nothing',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: day, requests_per_unit: 1, shadow_mode: true }\n`,
      ['4:52: rate_limit has no field "shadow_mode"; write it beside rate_limit, one level up'],
    ],
    [
      'with a unit outside rate_limit, where it would do nothing',
      `domain: d\ndescriptors:\n  - key: k\n    unit: day\n`,
      ['4:5: a descriptor has no field "unit"; write it inside rate_limit'],
    ],
    [
      'with a name outside rate_limit',
      `domain: d\ndescriptors:\n  - key: k\n    name: n\n    ${RATE}\n`,
      ['4:5: name stands beside sluice alone; write it inside rate_limit'],
    ],
  ])('%s', (_what, text, expected) => {
    expect(problemsOf(text)).toEqual(expected);
  });

  it.each([
    ['requests_per_unit', '-1', 'requests_per_unit must be a whole number from 0 to 4294967295, got -1'],
    [
      'requests_per_unit',
      '4294967296',
      'requests_per_unit must be a whole number from 0 to 4294967295, got 4294967296',
    ],
    ['requests_per_unit', '1.5', 'requests_per_unit must be a whole number from 0 to 4294967295, got 1.5'],
    ['requests_per_unit', `'5'`, 'requests_per_unit must be a whole number from 0 to 4294967295, got "5"'],
    ['requests_per_unit', '[5]', 'requests_per_unit must be a whole number from 0 to 4294967295, got a list'],
    ['requests_per_unit', '.inf', 'requests_per_unit must be a whole number from 0 to 4294967295, got .inf'],
    ['unlimited', 'maybe', 'unlimited must be true or false, got "maybe"'],
    ['unlimited', `'true'`, 'unlimited must be true or false, got "true"'],
    ['unlimited', '1', 'unlimited must be true or false, got 1'],
    ['name', '[a]', 'name must be a text, got a list'],
    ['name', '1.5', 'name must be a text, got 1.5; write it in quotes'],
    ['replaces', 'other', 'replaces must be a list of maps with name, such as - name: other, got "other"'],
  ])('with %s: %s', (field, value, expected) => {
    const text = `domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n      ${field}: ${value}\n`;

    expect(problemsOf(text).map((problem) => problem.replace(/^5:\d+: /, ''))).toContain(expected);
  });

  it.each(['key', 'value'])('with a list for %s', (field) => {
    expect(problemsOf(`domain: d\ndescriptors:\n  - { key: k, ${field === 'key' ? '' : 'value: [1]'} }`)).toEqual(
      field === 'key' ? [] : ['3:15: value must be a text, got a list'],
    );
  });

  it.each(['shadow_mode', 'quota_mode', 'detailed_metric', 'value_to_metric', 'share_threshold'])(
    'with a text for %s',
    (field) => {
      expect(problemsOf(`domain: d\ndescriptors:\n  - key: k\n    ${field}: maybe\n`)).toEqual([
        `4:${String(7 + field.length)}: ${field} must be true or false, got "maybe"`,
      ]);
    },
  );

  it('with a text for metadata', () => {
    expect(problemsOf(`domain: d\ndescriptors:\n  - key: k\n    metadata: m\n`)).toEqual([
      '4:15: metadata must hold a map of values, got "m"',
    ]);
  });
});

describe('a file is fine', () => {
  it.each([
    ['without descriptors', 'domain: d\n'],
    ['with descriptors that hold nothing', 'domain: d\ndescriptors:\n'],
    [
      'with rate_limit that holds nothing, which limits nothing',
      'domain: d\ndescriptors:\n  - key: k\n    rate_limit:\n',
    ],
    [
      'with anything in metadata',
      'domain: d\ndescriptors:\n  - key: k\n    metadata: { 1: [a, { unit: x }] , unit: true }\n',
    ],
    [
      'with unlimited: false and a rate',
      'domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unlimited: no, unit: day, requests_per_unit: 1 }\n',
    ],
    ['with a byte order mark and lines that end with CR LF', '\ufeffdomain: d\r\ndescriptors:\r\n  - key: k\r\n'],
    [
      'with key and value that join to the same text as another',
      'domain: d\ndescriptors:\n  - { key: a, value: b_c }\n  - { key: a_b, value: c }\n  - { key: a_b_c }\n',
    ],
    [
      'with replaces of a rule that does not exist',
      `domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: day, requests_per_unit: 1, replaces: [{ name: none }] }\n`,
    ],
  ])('%s', (_what, text) => {
    expect(problemsOf(text)).toEqual([]);
  });

  it('with values that are numbers or words, which are the text that is written', () => {
    const rules = read(`
domain: 5
descriptors:
  - { key: port, value: 0443, ${RATE} }
  - { key: on, value: yes, ${RATE} }
  - { key: day, value: 2026-01-01, ${RATE} }
`).domains.get('5');

    expect(rules?.match([{ key: 'port', value: '0443' }])).toBeDefined();
    expect(rules?.match([{ key: 'on', value: 'yes' }])).toBeDefined();
    expect(rules?.match([{ key: 'day', value: '2026-01-01' }])).toBeDefined();
    expect(rules?.match([{ key: 'port', value: '443' }])).toBeUndefined();
  });

  it('with aliases and merged maps', () => {
    const configuration = read(`
domain: d
descriptors:
  - &usual
    key: a
    rate_limit: &rate { unit: minute, requests_per_unit: 5 }
  - { <<: *usual, key: b }
  - key: c
    rate_limit: { <<: *rate, requests_per_unit: 9 }
`);

    expect(configuration.written()).toBe(
      [
        'd.a: unit=MINUTE requests_per_unit=5, shadow_mode: false, quota_mode: false\n',
        'd.b: unit=MINUTE requests_per_unit=5, shadow_mode: false, quota_mode: false\n',
        'd.c: unit=MINUTE requests_per_unit=9, shadow_mode: false, quota_mode: false\n',
      ].join(''),
    );
  });
});

describe('a file that is none of ours', () => {
  it.each([
    [
      'empty',
      '',
      ['1:1: the file is empty; it must hold domain: and descriptors:, limits:, forward_auth: or sentinel:'],
    ],
    [
      'comments alone',
      '# nothing\n',
      ['1:1: the file is empty; it must hold domain: and descriptors:, limits:, forward_auth: or sentinel:'],
    ],
    [
      'text',
      'root:x:0:0\n',
      [
        '1:1: a configuration must hold domain: and descriptors:, limits:, forward_auth: or sentinel:; this holds none of them',
      ],
    ],
    [
      'a list',
      '- a\n',
      [
        '1:1: a configuration must hold domain: and descriptors:, limits:, forward_auth: or sentinel:; this holds none of them',
      ],
    ],
    [
      'another file of YAML',
      'password: hunter2\n',
      [
        '1:1: a configuration must hold domain: and descriptors:, limits:, forward_auth: or sentinel:; this holds none of them',
      ],
    ],
    ['an escape that YAML does not have', 'domain: "\\q hunter2"\n', ['1:10: Invalid escape sequence \\q']],
    ['a tag that says how to read a value', 'domain: !env HOME\n', ['1:9: Unresolved tag']],
    [
      'an alias without an anchor',
      'domain: *none\n',
      [
        '1:1: descriptors need a domain that is not empty; write domain: and the name that Envoy sends',
        '1:9: no anchor before this alias is named none',
      ],
    ],
    [
      'a field that a rule has twice',
      'domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: day, requests_per_unit: 1 }\n    rate_limit: { unit: day, requests_per_unit: 2 }\n',
      ['5:5: a descriptor has the field "rate_limit" twice, the first time in line 4; write it once'],
    ],
    [
      'a name that limits have twice',
      'limits:\n  a: { fixedWindow: { limit: 1, window: 1m } }\n  b: { fixedWindow: { limit: 1, window: 1m } }\n  a: { fixedWindow: { limit: 2, window: 1m } }\n',
      [
        '4:3: limits has the field "a" twice, the first time in line 2; write it once',
        '4:3: the limit "a" has been defined at limits.yaml:2; names differ in more than case',
      ],
    ],
    [
      'numbers and words that are others in YAML 1.1',
      'domain: d\ndescriptors:\n  - key: k\n    rate_limit: { unit: day, requests_per_unit: 0100 }\n    metadata: { country: no, at: 1:30, port: 08, ok: true }\nlimits: { a: { fixedWindow: { limit: 5, window: 1:30 } } }\n',
      [
        '4:49: requests_per_unit is 64 where it is written 0100, by YAML 1.1; write it without leading zeros and colons, or in quotes',
        '5:26: a value is false where it is written no, by YAML 1.1; write true or false, or the word in quotes',
        '5:34: a value is 90 where it is written 1:30, by YAML 1.1; write it without leading zeros and colons, or in quotes',
        '6:49: a value is 90 where it is written 1:30, by YAML 1.1; write it without leading zeros and colons, or in quotes',
        '6:49: window must be a duration such as 60_000 (milliseconds) or "60s", got "1:30"; known units: ms, s, m, h, d [SLUICE_POLICY_INVALID]',
      ],
    ],
    ['tabs', 'domain: d\ndescriptors:\n\t- key: k\n', ['3:1: Tabs are not allowed as indentation']],
  ])('is wrong: %s', (_what, text, expected) => {
    expect(problemsOf(text)).toEqual(expected);
  });

  it.each([
    ['brackets', '['.repeat(100_000)],
    ['maps', '{a: '.repeat(100_000)],
    ['dashes', '- '.repeat(100_000)],
    ['question marks', '? '.repeat(100_000)],
    ['brackets inside a known field', `domain: d\ndescriptors: ${'['.repeat(100_000)}`],
  ])('is wrong when it nests too deep, and ends no process: %s', (_what, text) => {
    expect(problemsOf(text)).toEqual([
      expect.stringMatching(/^\d+:\d+: the file is nested more than 200 levels deep$/),
    ]);
  });

  it('is wrong when an alias holds itself', () => {
    expect(problemsOf('domain: d\ndescriptors: &all\n  - key: k\n    descriptors: *all\n')).toEqual([
      '4:18: the alias all stands for a value that holds it',
    ]);
  });

  it('is wrong when aliases multiply beyond any memory', () => {
    const levels = Array.from({ length: 9 }, (_, i) => {
      const inner = i === 0 ? 'x' : `*a${String(i - 1)}`;
      return `  - &a${String(i)} [${Array.from({ length: 10 }, () => inner).join(', ')}]`;
    });
    const text = `domain: d\ndescriptors:\n  - key: k\n    metadata:\n      m:\n${levels.map((line) => `      ${line}`).join('\n')}\n`;

    expect(problemsOf(text)).toEqual(['10:51: up to this alias, aliases repeat more than 100000 values; write fewer']);
  });
});

describe('a ConfigurationError', () => {
  it('lists every problem of every file, each with its place', () => {
    const files = [
      { path: 'a.yaml', text: 'domain: d\ndescriptors:\n  - value: v\n  - keey: k\n' },
      { path: 'b.yaml', text: 'domain: [e]\n' },
    ];
    let caught: unknown;
    try {
      readConfigurationFiles(files, { makeLimit });
    } catch (error) {
      caught = error;
    }

    expect(caught).toBeInstanceOf(ConfigurationError);
    expect((caught as ConfigurationError).message).toBe(
      [
        'a.yaml:3:5: a descriptor needs a key that is not empty',
        'a.yaml:4:5: a descriptor has no field "keey"; did you mean key?',
        'a.yaml:4:5: a descriptor needs a key that is not empty',
        'b.yaml:1:1: domain must be a text, got a list',
      ].join('\n'),
    );
    expect((caught as ConfigurationError).problems[0]).toEqual({
      path: 'a.yaml',
      line: 3,
      column: 5,
      message: 'a descriptor needs a key that is not empty',
    });
  });
});

describe('several files', () => {
  const first = { path: 'a.yaml', text: `domain: d\ndescriptors: [{ key: a, ${RATE} }]\n` };
  const second = { path: 'b.yaml', text: `domain: d\ndescriptors: [{ key: b, ${RATE} }]\n` };

  it('have a domain each', () => {
    const other = { path: 'b.yaml', text: `domain: e\ndescriptors: [{ key: b, ${RATE} }]\n` };

    expect([...readConfigurationFiles([first, other], { makeLimit }).domains.keys()]).toEqual(['d', 'e']);
  });

  it('that have one domain are wrong', () => {
    expect(() => readConfigurationFiles([first, second], { makeLimit })).toThrow(
      'b.yaml:1:9: the domain "d" has been defined at a.yaml:1; write its rules in one place',
    );
  });

  it('that have one domain are merged when that is asked for', () => {
    const rules = readConfigurationFiles([first, second], { makeLimit, mergeDomains: true }).domains.get('d');

    expect(rules?.match([{ key: 'a', value: '1' }])).toBeDefined();
    expect(rules?.match([{ key: 'b', value: '1' }])).toBeDefined();
  });

  it('that are merged must not have the same descriptor', () => {
    expect(() =>
      readConfigurationFiles([first, { ...first, path: 'b.yaml' }], { makeLimit, mergeDomains: true }),
    ).toThrow('b.yaml:2:15: the descriptor "d.a" has been defined at a.yaml:2; write it once');
  });

  it('may be documents of one file', () => {
    const text = `---\n${first.text}---\ndomain: e\n---\nlimits: { login: { fixedWindow: { limit: 5, window: 1m } } }\n---\n`;
    const configuration = read(text);

    expect([...configuration.domains.keys()]).toEqual(['d', 'e']);
    expect([...configuration.limits.keys()]).toEqual(['login']);
    expect(problemsOf(`${first.text}---\n${first.text}`)).toEqual([
      '4:9: the domain "d" has been defined at limits.yaml:1; write its rules in one place',
    ]);
  });

  it('must not both have forward_auth, or a limit of one name', () => {
    const both = [
      {
        path: 'a.yaml',
        text: 'forward_auth: { trusted_proxies: [10.0.0.1], rules: [] }\nlimits: { Login: { fixedWindow: { limit: 5, window: 1m } } }\n',
      },
      {
        path: 'b.yaml',
        text: 'forward_auth: { trusted_proxies: [10.0.0.1], rules: [] }\nlimits: { login: { fixedWindow: { limit: 5, window: 1m } } }\n',
      },
    ];

    expect(() => readConfigurationFiles(both, { makeLimit })).toThrow(
      [
        'b.yaml:1:1: forward_auth has been defined at a.yaml:1; its rules have an order, so write them in one place',
        'b.yaml:2:11: the limit "login" has been defined at a.yaml:2; names differ in more than case',
      ].join('\n'),
    );
  });
});
