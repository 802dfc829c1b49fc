import { isIP, isIPv4 } from 'node:net';
import type { ForwardAuthData, ForwardAuthRuleData, PolicyData } from './configuration-data.ts';
import { isName, NAME_FORM, readPolicy } from './policy-value.ts';
import { quoted, type YamlValue } from './yaml-value.ts';

const RULE_FIELDS = ['name', 'match', 'key', 'cost', 'skip', 'policy'] as const;
const PARTS = ['ip', 'route', 'method', 'all'] as const;
const HEADER = 'header:';
/** Names of methods and header fields, RFC 9110, section 5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const EVERY_PATH = '/*';
const MAX_COST = 2 ** 32 - 1;
/** Reads `forward_auth`. */
export function readForwardAuth(value: YamlValue): ForwardAuthData {
  const fields = value.record(['trusted_proxies', 'rules'], 'forward_auth', 'trusted_proxies and rules');
  const proxies = fields.trusted_proxies.items('trusted_proxies', 'addresses and CIDR ranges such as 10.0.0.0/8');
  const names = new Set<string>();
  if (proxies.length === 0 && fields.rules.isList) {
    value.problem(
      'forward_auth needs trusted_proxies: the addresses of the gateways that ask, such as [10.0.0.0/8]. Without them, nothing that a gateway states is trusted, and every request gets 403',
    );
  }
  return {
    trustedProxies: proxies.flatMap((proxy) => readRange(proxy) ?? []),
    rules: fields.rules.items('rules', 'maps with match, key and policy').flatMap((item, i) => {
      const rule = readRule(item, `rule-${String(i + 1)}`);
      if (rule === undefined) return [];
      if (names.has(rule.name.toLowerCase())) {
        item.problem(`two rules of forward_auth are named ${quoted(rule.name)}; names must differ in more than case`);
      }
      names.add(rule.name.toLowerCase());
      return [rule];
    }),
  };
}

function readRange(value: YamlValue): string | undefined {
  const text = value.text('an entry of trusted_proxies') ?? '';
  const [address = '', bits, ...rest] = text.split('/');
  const most = isIPv4(address) ? 32 : 128;
  const isPrefix = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= most);
  if (isIP(address) !== 0 && !address.includes('%') && isPrefix && rest.length === 0) return text;
  value.problem(
    `an entry of trusted_proxies must be an address or a CIDR range such as 10.0.0.0/8 or 2001:db8::/32, got ${quoted(text)}`,
  );
  return undefined;
}

function readRule(item: YamlValue, place: string): ForwardAuthRuleData | undefined {
  const fields = item.record(RULE_FIELDS, 'a rule of forward_auth', 'match, key and policy');
  if (!item.isMap) {
    if (item.isMissing) item.problem('a rule of forward_auth must hold match, key and policy, got nothing');
    return undefined;
  }
  const name = fields.name.isMissing ? place : (fields.name.text('name') ?? place);
  if (!isName(name)) {
    fields.name.problem(`name must be ${NAME_FORM}, got ${quoted(name)}`);
    return undefined;
  }
  const skip = fields.skip.flag('skip');
  const policy = readRulePolicy(fields.policy, name, skip);
  const cost = fields.cost.whole('cost', 1, MAX_COST) ?? 1;
  return { name, match: readMatch(fields.match), key: readKey(fields.key), cost, skip, policy };
}

function readMatch(value: YamlValue): ForwardAuthRuleData['match'] {
  const { paths, methods } = value.record(['paths', 'methods'], 'match', 'paths and methods');
  const found = readTexts(paths, 'paths', 'patterns such as /api/*', (text) =>
    text.startsWith('/') ? text : undefined,
  );
  return {
    paths: found.length === 0 ? [EVERY_PATH] : found,
    methods: readTexts(methods, 'methods', 'methods such as GET', (text) =>
      TOKEN.test(text) ? text.toUpperCase() : undefined,
    ),
  };
}

function readKey(value: YamlValue): readonly string[] {
  if (value.isMissing) return ['ip'];
  return readTexts(value, 'key', `${PARTS.join(', ')} or header:NAME`, (text) => {
    if (text.startsWith(HEADER) && TOKEN.test(text.slice(HEADER.length))) return text.toLowerCase();
    return PARTS.find((part) => part === text);
  });
}

/** A string, or a list of at least one. None if it is missing. */
function readTexts(
  value: YamlValue,
  where: string,
  expected: string,
  read: (text: string) => string | undefined,
): readonly string[] {
  if (value.isMissing) return [];
  const items = value.isList ? value.items(where, expected) : [value];
  if (items.length === 0) value.problemAtName(`${where} must not be empty; leave it out, or write ${expected}`);
  return items.flatMap((item) => {
    const text = item.text(where);
    const found = text === undefined ? undefined : read(text);
    if (found === undefined && (text !== undefined || item.isMissing)) {
      item.problem(`${where} must be ${expected}, got ${quoted(text ?? '')}`);
    }
    return found ?? [];
  });
}

function readRulePolicy(value: YamlValue, name: string, skip: boolean): PolicyData | undefined {
  if (skip) {
    if (!value.isMissing) value.problemAtName('a rule with skip: true decides nothing; leave policy or skip out');
    return undefined;
  }
  if (value.isMissing) {
    value.problem(
      'a rule of forward_auth needs skip: true, or a policy such as policy: { fixedWindow: { limit: 5, window: 1m } }',
    );
    return undefined;
  }
  const noSlots = 'a gateway does not tell when a request ends';
  return readPolicy(value, { where: 'policy', name, mayName: true, noSlots });
}
