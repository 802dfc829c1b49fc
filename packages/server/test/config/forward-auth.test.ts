import { describe, expect, it } from '@jest/globals';
import { problemsOf, read } from './reading.ts';

const POLICY = 'policy: { fixedWindow: { limit: 5, window: 1m } }';
const PROXY = 'an entry of trusted_proxies must be an address or a CIDR range such as 10.0.0.0/8 or 2001:db8::/32, got';
const NO_SLOTS = 'concurrency holds a slot until it is released, and a gateway does not tell when a request ends';

function rule(text: string): string {
  return `forward_auth:\n  rules:\n    - ${text}\n  trusted_proxies: [127.0.0.1]\n`;
}

describe('forward_auth', () => {
  it('has proxies and rules', () => {
    const { forwardAuth } = read(`
forward_auth:
  trusted_proxies: [127.0.0.1, 10.0.0.0/8, ::1, 2001:db8::/32]
  rules:
    - name: api
      match: { paths: ['/api/*'], methods: [GET, post] }
      key: [ip, route, method, header:X-Api-Key]
      cost: 2
      ${POLICY}
    - { match: { paths: /health }, skip: true }
    - { ${POLICY} }
`);
    expect(forwardAuth).toMatchObject({
      trustedProxies: ['127.0.0.1', '10.0.0.0/8', '::1', '2001:db8::/32'],
      rules: [
        {
          ...{ name: 'api', key: ['ip', 'route', 'method', 'header:x-api-key'], cost: 2, skip: false },
          match: { paths: ['/api/*'], methods: ['GET', 'POST'] },
          limit: { fixed: [{ name: 'api', policy: { limit: 5 } }] },
        },
        { ...{ name: 'rule-2', skip: true, limit: undefined }, match: { paths: ['/health'], methods: [] } },
        { ...{ name: 'rule-3', key: ['ip'], cost: 1 }, match: { paths: ['/*'], methods: [] } },
      ],
    });
  });

  it.each(['', '  trusted_proxies: []\n'])('is wrong with rules that no gateway may ask for: %j', (proxies) => {
    expect(problemsOf(`forward_auth:\n${proxies}  rules:\n    - { ${POLICY} }\n`)).toEqual([
      expect.stringMatching(/^1:1: forward_auth needs trusted_proxies: the addresses of the gateways/),
    ]);
  });

  it.each(['localhost', '10.0.0.0/33', '10.0.0.0/', 'fe80::1%eth0'])('is wrong with the proxy %s', (proxy) => {
    expect(problemsOf(`forward_auth: { trusted_proxies: ['${proxy}'] }`)).toEqual([`1:35: ${PROXY} "${proxy}"`]);
  });

  it.each(
    Object.entries({
      'name: api':
        '3:7: a rule of forward_auth needs skip: true, or a policy such as policy: { fixedWindow: { limit: 5, window: 1m } }',
      [`skip: true, ${POLICY}`]: '3:21: a rule with skip: true decides nothing; leave policy or skip out',
      [`path: /api, ${POLICY}`]: '3:9: a rule of forward_auth has no field "path"; did you mean match?',
      [`name: 'a b', ${POLICY}`]:
        '3:15: name must be a letter followed by up to 63 letters, digits, ".", "-" or "_", got "a b"',
      [`match: { paths: [api] }, ${POLICY}`]: '3:26: paths must be patterns such as /api/*, got "api"',
      [`match: { paths: [] }, ${POLICY}`]:
        '3:18: paths must not be empty; leave it out, or write patterns such as /api/*',
      [`match: { paths: [null] }, ${POLICY}`]: '3:26: paths must be patterns such as /api/*, got ""',
      [`match: { paths: [{}] }, ${POLICY}`]: '3:26: paths must be a string, got a map',
      [`match: { methods: ['GET POST'] }, ${POLICY}`]: '3:28: methods must be methods such as GET, got "GET POST"',
      [`key: [ip, user], ${POLICY}`]: '3:19: key must be ip, route, method, all or header:NAME, got "user"',
      [`key: 'header:', ${POLICY}`]: '3:14: key must be ip, route, method, all or header:NAME, got "header:"',
      [`cost: 0, ${POLICY}`]: '3:15: cost must be a whole number from 1 to 4294967295, got 0',
      'policy: { fixedWindow: { limit: -5, window: 1m } }':
        '3:41: limit must be a whole number from 0 to 999999999999999, got -5 [SLUICE_POLICY_INVALID]',
      'policy: { concurrency: { limit: 5, ttl: 30s } }': expect.stringContaining(`3:19: ${NO_SLOTS}`),
    }),
  )('is wrong with the rule { %s }', (text, expected) => {
    expect(problemsOf(rule(`{ ${text} }`))).toEqual([expected]);
  });

  it.each([
    ['forward_auth: { proxies: [] }', '1:17: forward_auth has no field "proxies"; known: trusted_proxies and rules'],
    ['forward_auth: []', '1:1: forward_auth must hold trusted_proxies and rules, got a list'],
    [rule('api'), '3:7: a rule of forward_auth must hold match, key and policy, got "api"'],
    [rule('null'), '3:7: a rule of forward_auth must hold match, key and policy, got nothing'],
    [
      rule(`{ name: rule-2, ${POLICY} }\n    - { ${POLICY} }`),
      '4:7: two rules of forward_auth are named "rule-2"; names must differ in more than case',
    ],
  ])('is wrong as a whole: %j', (text, expected) => {
    expect(problemsOf(text)).toEqual([expected]);
  });
});
