import { describe, expect, it } from '@jest/globals';
import { problemsOf, read } from './reading.ts';

const POLICY = 'policy: { fixedWindow: { limit: 5, window: 1m } }';

function rule(text: string): string {
  return `forward_auth:\n  rules:\n    - ${text}\n  trusted_proxies: [127.0.0.1]\n`;
}

describe('forward_auth', () => {
  it('stands beside a domain, with proxies and rules', () => {
    const { forwardAuth, domains } = read(`
domain: shop
forward_auth:
  trusted_proxies: [127.0.0.1, 10.0.0.0/8, ::1, 2001:db8::/32]
  rules:
    - name: api
      match: { paths: ['/api/*'], methods: [GET, post] }
      key: [ip, route, method, header:X-Api-Key]
      cost: 2
      ${POLICY}
    - { match: { paths: /health }, skip: true }
`);

    expect([...domains.keys()]).toEqual(['shop']);
    expect(forwardAuth).toEqual({
      trustedProxies: ['127.0.0.1', '10.0.0.0/8', '::1', '2001:db8::/32'],
      rules: [
        {
          name: 'api',
          match: { paths: ['/api/*'], methods: ['GET', 'POST'] },
          key: ['ip', 'route', 'method', 'header:x-api-key'],
          cost: 2,
          skip: false,
          policy: expect.objectContaining({ algorithm: 'fixedWindow', name: 'api', limit: 5, windowMs: 60_000 }),
          written: 'fixedWindow 5 per 1m',
        },
        {
          name: 'rule-2',
          match: { paths: ['/health'], methods: [] },
          key: ['ip'],
          cost: 1,
          skip: true,
          policy: undefined,
          written: 'skip',
        },
      ],
    });
  });

  it('matches every request by its address unless a rule says otherwise', () => {
    expect(read(rule(`{ ${POLICY} }`)).forwardAuth).toMatchObject({
      trustedProxies: ['127.0.0.1'],
      rules: [{ name: 'rule-1', match: { paths: ['/*'], methods: [] }, key: ['ip'], cost: 1 }],
    });
  });

  it.each(['', '  trusted_proxies: []\n'])('is wrong with rules that no gateway may ask for: %j', (proxies) => {
    expect(problemsOf(`forward_auth:\n${proxies}  rules:\n    - { ${POLICY} }\n`)).toEqual([
      expect.stringMatching(/^1:1: forward_auth needs trusted_proxies: the addresses of the gateways/),
    ]);
  });

  it('is undefined in a file without it', () => {
    expect(read('domain: d\n').forwardAuth).toBeUndefined();
  });

  it.each([
    [
      'an unknown field',
      'forward_auth: { proxies: [] }',
      '1:17: forward_auth has no field "proxies"; known: trusted_proxies and rules',
    ],
    ['a list', 'forward_auth: []', '1:1: forward_auth must hold trusted_proxies and rules, got a list'],
    [
      'a proxy that is a name',
      'forward_auth: { trusted_proxies: [localhost] }',
      '1:35: an entry of trusted_proxies must be an address or a CIDR range such as 10.0.0.0/8 or 2001:db8::/32, got "localhost"',
    ],
    [
      'a range that is too long',
      'forward_auth: { trusted_proxies: [10.0.0.0/33] }',
      '1:35: an entry of trusted_proxies must be an address or a CIDR range such as 10.0.0.0/8 or 2001:db8::/32, got "10.0.0.0/33"',
    ],
    [
      'a range without a number',
      'forward_auth: { trusted_proxies: [10.0.0.0/] }',
      '1:35: an entry of trusted_proxies must be an address or a CIDR range such as 10.0.0.0/8 or 2001:db8::/32, got "10.0.0.0/"',
    ],
    [
      'a zone',
      `forward_auth: { trusted_proxies: ['fe80::1%eth0'] }`,
      '1:35: an entry of trusted_proxies must be an address or a CIDR range such as 10.0.0.0/8 or 2001:db8::/32, got "fe80::1%eth0"',
    ],
    [
      'a rule without a policy',
      rule('{ name: api }'),
      '3:7: a rule of forward_auth needs skip: true, or a policy such as policy: { fixedWindow: { limit: 5, window: 1m } }',
    ],
    [
      'a rule with a policy and skip',
      rule(`{ skip: true, ${POLICY} }`),
      '3:21: a rule with skip: true decides nothing; leave policy or skip out',
    ],
    ['a rule that is a text', rule('api'), '3:7: a rule of forward_auth must hold match, key and policy, got "api"'],
    [
      'a rule that is nothing',
      'forward_auth:\n  rules:\n    -\n  trusted_proxies: [127.0.0.1]\n',
      '3:6: a rule of forward_auth must hold match, key and policy, got nothing',
    ],
    [
      'a rule with an unknown field',
      rule(`{ path: /api, ${POLICY} }`),
      '3:9: a rule of forward_auth has no field "path"; did you mean match?',
    ],
    [
      'a name that is none',
      rule(`{ name: 'a b', ${POLICY} }`),
      '3:15: name must be a letter followed by up to 63 letters, digits, ".", "-" or "_", got "a b"',
    ],
    [
      'a path that does not begin with /',
      rule(`{ match: { paths: [api] }, ${POLICY} }`),
      '3:26: paths must be patterns such as /api/*, got "api"',
    ],
    [
      'no paths',
      rule(`{ match: { paths: [] }, ${POLICY} }`),
      '3:18: paths must not be empty; leave it out, or write patterns such as /api/*',
    ],
    [
      'a path that is nothing',
      rule(`{ match: { paths: [null] }, ${POLICY} }`),
      '3:26: paths must be patterns such as /api/*, got ""',
    ],
    ['a path that is a map', rule(`{ match: { paths: [{}] }, ${POLICY} }`), '3:26: paths must be a text, got a map'],
    [
      'a method that is none',
      rule(`{ match: { methods: ['GET POST'] }, ${POLICY} }`),
      '3:28: methods must be methods such as GET, got "GET POST"',
    ],
    [
      'an unknown part of the key',
      rule(`{ key: [ip, user], ${POLICY} }`),
      '3:19: key must be ip, route, method, all or header:NAME, got "user"',
    ],
    [
      'a header without a name',
      rule(`{ key: 'header:', ${POLICY} }`),
      '3:14: key must be ip, route, method, all or header:NAME, got "header:"',
    ],
    [
      'an empty key',
      rule(`{ key: [], ${POLICY} }`),
      '3:9: key must not be empty; leave it out, or write ip, route, method, all or header:NAME',
    ],
    ['a cost of 0', rule(`{ cost: 0, ${POLICY} }`), '3:15: cost must be a whole number from 1 to 4294967295, got 0'],
    [
      'a policy that is wrong',
      rule('{ policy: { fixedWindow: { limit: -5, window: 1m } } }'),
      '3:41: limit must be a whole number from 0 to 999999999999999, got -5 [SLUICE_POLICY_INVALID]',
    ],
  ])('is wrong with %s', (_what, text, expected) => {
    expect(problemsOf(text)).toEqual([expected]);
  });

  it('is wrong with two rules of one name, also by their places', () => {
    expect(
      problemsOf(
        `forward_auth:\n  trusted_proxies: [127.0.0.1]\n  rules:\n    - { name: rule-2, ${POLICY} }\n    - { ${POLICY} }\n`,
      ),
    ).toEqual(['5:7: two rules of forward_auth are named "rule-2"; names must differ in more than case']);
  });

  it('is wrong with a policy that holds slots, and says where that goes', () => {
    expect(problemsOf(rule('{ policy: { concurrency: { limit: 5, ttl: 30s } } }'))).toEqual([
      expect.stringMatching(/^3:9: concurrency holds a slot .*; write the policy under limits:, and use \/v1\/acquire/),
    ]);
  });
});
