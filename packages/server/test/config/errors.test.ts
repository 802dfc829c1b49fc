import { describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { problemsOf, readAll } from './reading.ts';

const RATE = 'rate_limit: { unit: minute, requests_per_unit: 5 }';
const LOGIN = 'limits: { login: { fixedWindow: { limit: 5, window: 1m } } }';
const NO_DOMAIN = 'descriptors need a non-empty domain; write domain: and the name that Envoy sends';
const PARTS = 'domain: and descriptors:, limits:, forward_auth: or sentinel:';

/** A domain whose descriptors begin in the third line. */
function file(descriptors: string): string {
  return `domain: d\ndescriptors:\n${descriptors}`;
}

describe('a file in the format of envoyproxy/ratelimit is wrong', () => {
  it.each(
    Object.entries({
      '  - { key: k, rate_limit: { unit: fortnight, requests_per_unit: 5 } }':
        '3:35: unit must be one of second, minute, hour, day, week, month, year, got "fortnight"',
      '  - { key: k, rate_limit: { unit: day } }':
        '3:15: rate_limit needs requests_per_unit; write 0 to deny every request',
      '  - { key: k, value: v }\n  - { key: k, value: v }':
        '4:5: the descriptor "d.k_v" has been defined at limits.yaml:3; write it once',
      '  - value: v': '3:5: a descriptor needs a non-empty key',
      '  - { key: k, ratelimit: {} }': '3:15: a descriptor has no field "ratelimit"; did you mean rate_limit?',
      '  - a': '3:5: a descriptor must hold key: and its name, got "a"',
      '  - { key: k, rate_limit: { unit: day, requests_per_unit: 1, replaces: [{ name: }] } }':
        '3:75: an entry of replaces must not be empty; write - name: and the name of a rule',
      '  - { key: k, rate_limit: { replaces: [other], unit: day, requests_per_unit: 5 } }':
        '3:40: an entry of replaces must hold name: and the name of a rule, got "other"',
      '  - { key: k, rate_limit: { name: self, replaces: [{ name: self }], unit: day, requests_per_unit: 5 } }':
        '3:60: a rule must not replace itself, got "self"',
      '  - { key: k, rate_limit: { unlimited: true, unit: day } }':
        '3:52: unit must not be given with unlimited: true; leave one of them out',
      '  - { key: k, value: v, share_threshold: true }':
        '3:42: share_threshold needs a value with *; without one, every value has its own limit',
      '  - key: k*': '3:10: key must not contain *, got "k*"; patterns stand in value',
      [`  - { key: k, name: n, ${RATE} }`]: '3:15: name is only valid beside sluice; write it inside rate_limit',
      '  - { key: k, metadata: m }': '3:25: metadata must hold a map of values, got "m"',
      [`  - { key: k, ${RATE}, ${RATE} }`]:
        '3:67: a descriptor has the field "rate_limit" twice, the first time on line 3; write it once',
    }),
  )('with descriptors %j', (descriptors, expected) => {
    expect(problemsOf(file(descriptors))).toEqual([expected]);
  });

  it.each([
    ['requests_per_unit', '-1', 'requests_per_unit must be a whole number from 0 to 4294967295, got -1'],
    ['requests_per_unit', '1.5', 'requests_per_unit must be a whole number from 0 to 4294967295, got 1.5'],
    ['requests_per_unit', '.inf', 'requests_per_unit must be a whole number from 0 to 4294967295, got .inf'],
    ['requestsperunit', '5', 'rate_limit has no field "requestsperunit"; did you mean requests_per_unit?'],
    ['unlimited', `'true'`, 'unlimited must be true or false, got "true"'],
    ['name', '[a]', 'name must be a string, got a list'],
    ['replaces', 'other', 'replaces must be a list of maps with name, such as - name: other, got "other"'],
  ])('with %s: %s', (field, value, expected) => {
    const found = problemsOf(file(`  - key: k\n    rate_limit:\n      ${field}: ${value}\n`));
    expect(found.map((problem) => problem.replace(/^5:\d+: /, ''))).toContain(expected);
  });

  it.each(
    Object.entries({
      "'''\n": ["2:1: Missing closing 'quote"],
      'domain: d\ndomain: e\n': [
        '2:1: a configuration has the field "domain" twice, the first time on line 1; write it once',
      ],
      'descriptors:\n': [`1:1: ${NO_DOMAIN}`],
      [`domain: ''\n`]: [`1:9: ${NO_DOMAIN}`],
      'domain: d\ndescriptors: { key: k }\n': [
        '2:1: descriptors must be a list of maps with key, such as - key: remote_address, got a map',
      ],
      '[0.25]: d\ndescriptors: []\n': [
        '1:1: a configuration has a field whose name is not a string',
        `1:1: ${NO_DOMAIN}`,
      ],
      '': [`1:1: the file is empty; it must hold ${PARTS}`],
      'password: hunter2\n': [`1:1: a configuration must hold ${PARTS}; this holds none of them`],
      'domain: "\\q hunter2"\n': ['1:10: Invalid escape sequence \\q'],
      'domain: !env HOME\n': ['1:9: Unresolved tag'],
      'domain: *none\n': [`1:1: ${NO_DOMAIN}`, '1:9: no anchor before this alias is named none'],
      'domain: d\ndescriptors:\n\t- key: k\n': ['3:1: Tabs are not allowed as indentation'],
    }),
  )('as a whole: %j', (text, expected) => {
    expect(problemsOf(text)).toEqual(expected);
  });
});

describe('a file is fine', () => {
  it.each(
    Object.entries({
      'with descriptors that hold nothing': 'domain: d\ndescriptors:\n',
      'with rate_limit that holds nothing, which limits nothing': file('  - { key: k, rate_limit: }'),
      'with fields that change nothing': file('  - { key: k, detailed_metric: true, value_to_metric: no }'),
      'with anything in metadata': file('  - { key: k, metadata: { 1: [a, { unit: x }] , unit: true } }'),
      'with unlimited: false and a rate': file(
        '  - { key: k, rate_limit: { unlimited: no, unit: day, requests_per_unit: 1 } }',
      ),
      'with a byte order mark and lines that end with CR LF': '\ufeffdomain: d\r\ndescriptors:\r\n  - key: k\r\n',
      'with texts that join alike': file(
        '  - { key: a, value: b_c }\n  - { key: a_b, value: c }\n  - { key: a_b_c }\n',
      ),
    }),
  )('%s', (_what, text) => {
    expect(problemsOf(text)).toEqual([]);
  });
});

describe('a hostile file', () => {
  it.each([
    ['brackets', '['.repeat(20_000)],
    ['maps', '{a: '.repeat(20_000)],
    ['an alias that holds itself', 'domain: d\ndescriptors: &all\n  - key: k\n    descriptors: *all\n'],
  ])('is wrong when it nests too deep, and ends no process: %s', (_what, text) => {
    expect(problemsOf(text)).toContainEqual(
      expect.stringMatching(/^\d+:\d+: values are nested more than 200 levels deep$/),
    );
  });

  it('is wrong when aliases multiply beyond any memory', () => {
    const levels = Array.from({ length: 9 }, (_, i) => {
      const inner = i === 0 ? 'x' : `*a${String(i - 1)}`;
      return `        - &a${String(i)} [${Array.from({ length: 10 }, () => inner).join(', ')}]`;
    });
    expect(problemsOf(file(`  - key: k\n    metadata:\n      m:\n${levels.join('\n')}\n`))).toEqual([
      expect.stringMatching(/^\d+:\d+: aliases repeat more than 100000 values; write fewer$/),
    ]);
  });
});

describe('several files', () => {
  const first = { path: 'a.yaml', text: `domain: d\ndescriptors: [{ key: a, ${RATE} }]\n` };
  const second = { path: 'b.yaml', text: `domain: d\ndescriptors: [{ key: b, ${RATE} }]\n` };

  it('are read to their ends: an error has every problem with its place', () => {
    const wrong = { path: 'w.yaml', text: file('  - value: v\n  - keey: k\n') };
    const read = (): unknown => readAll([wrong, { path: 'b.yaml', text: 'domain: [e]\n' }]);
    expect(read).toThrow(ConfigurationError);
    expect(read).toThrow(
      [
        'w.yaml:3:5: a descriptor needs a non-empty key',
        'w.yaml:4:5: a descriptor has no field "keey"; did you mean key?',
        'w.yaml:4:5: a descriptor needs a non-empty key',
        'b.yaml:1:1: domain must be a string, got a list',
      ].join('\n'),
    );
  });

  it('may have rules of one domain, each rule once', () => {
    const rules = readAll([first, second]).domains.get('d');
    expect(['a', 'b', 'c'].map((key) => rules?.match([{ key, value: '1' }]) !== undefined)).toEqual([
      true,
      true,
      false,
    ]);
    expect(() => readAll([first, { ...first, path: 'b.yaml' }])).toThrow(
      'b.yaml:2:15: the descriptor "d.a" has been defined at a.yaml:2; write it once',
    );
  });

  it('may be documents of one file', () => {
    const text = `---\n${first.text}---\ndomain: e\n---\n${LOGIN}\n---\n`;
    const { domains, limits } = readAll([{ path: 'a.yaml', text }]);
    expect([[...domains.keys()], [...limits.keys()]]).toEqual([['d', 'e'], ['login']]);
  });

  it('must not both have forward_auth, or a limit of one name', () => {
    const text = `forward_auth: { trusted_proxies: [10.0.0.1], rules: [] }\n${LOGIN}\n`;
    expect(() =>
      readAll([
        { path: 'a.yaml', text: text.replace('login', 'Login') },
        { path: 'b.yaml', text },
      ]),
    ).toThrow(
      [
        'b.yaml:1:1: forward_auth has been defined at a.yaml:1; its rules have an order, so write them in one place',
        'b.yaml:2:11: the limit "login" has been defined at a.yaml:2; names differ in more than case',
      ].join('\n'),
    );
  });
});
