import { membersOf, type Members } from '../project/members.ts';
import { stringOf, walk, type SourceFile, type SyntaxNode } from '../project/source-file.ts';
import { argumentsOf, bare, memberName, numberOf, type Place, type Values } from '../project/values.ts';
import type { Findings } from './finding.ts';
import { isByAddress } from './limits.ts';
import type { Signs } from './signs.ts';
import { calledName, sluiceName, type Use } from './uses.ts';

/** A place that sets whom the framework trusts, or makes an application. */
interface Setting {
  readonly framework: string;
  readonly place: Place;
  /** Undefined for an application, which trusts none by itself. */
  readonly value: Place | undefined;
}

const GUIDE = 'docs/guides/behind-a-proxy.md';
const APPLICATIONS: Readonly<Record<string, string>> = { express: 'express', fastify: 'fastify', koa: 'koa' };
/** Sources of addresses that are those of the connection. */
const OF_CONNECTION = new Set(['fromNode', 'fromDeno', 'fromBun']);

/** Whom frameworks trust, and limits by address without a proxy that is trusted where there is one. */
export function checkProxies(
  findings: Findings,
  values: Values,
  files: readonly SourceFile[],
  uses: readonly Use[],
  signs: Signs,
): void {
  const settings = files.flatMap((file) => settingsOf(values, file));
  for (const setting of settings) if (setting.value !== undefined) checkTrust(findings, values, setting, files);
  for (const use of uses) {
    if (!isByAddress(values, use)) continue;
    if (use.module.startsWith('@sluice/web')) checkConnection(findings, values, use, signs);
    else checkApplication(findings, use, settings, signs);
  }
}

function checkApplication(findings: Findings, use: Use, settings: readonly Setting[], signs: Signs): void {
  const framework = use.module.slice('@sluice/'.length);
  const own = settings.filter((setting) => setting.framework === framework);
  const inFile = own.filter(({ place }) => place.file === use.place.file);
  const near = inFile.some(({ value }) => value === undefined) ? inFile : own;
  if (near.some(({ value }) => value !== undefined)) return;
  const application = near[0];
  tellUntrusted(
    findings,
    application?.place ?? use.place,
    application === undefined ? undefined : signs.proxy,
    framework,
  );
}

function tellUntrusted(findings: Findings, place: Place, sign: string | undefined, framework: string): void {
  if (sign === undefined) {
    findings.toCheck(
      'proxy-not-trusted',
      place,
      'limits by address, and no proxy is trusted: right where clients connect directly',
      `behind a proxy: ${TRUST[framework] ?? GUIDE}`,
    );
  } else {
    findings.mistake(
      'proxy-not-trusted',
      place,
      `limits by address behind a proxy (${sign}) that is not trusted: all clients share the budget of the proxy`,
      TRUST[framework] ?? GUIDE,
    );
  }
}

const TRUST: Readonly<Record<string, string>> = {
  express: "app.set('trust proxy', ['10.0.0.0/8']), with the addresses of your proxies",
  nestjs: "app.set('trust proxy', ['10.0.0.0/8']), with the addresses of your proxies",
  fastify: "Fastify({ trustProxy: ['10.0.0.0/8'] }), with the addresses of your proxies",
  koa: 'new Koa({ proxy: true, maxIpsCount: 1 }), with the number of your proxies',
  web: "address: fromProxy(['10.0.0.0/8'], fromNode), with the addresses of your proxies",
};

function checkConnection(findings: Findings, values: Values, { options }: Use, signs: Signs): void {
  const address = options?.of.get('address');
  if (address === undefined) return;
  const source = sluiceName(values, address) ?? calledName(values, values.valueOf(address)) ?? '';
  if (OF_CONNECTION.has(source)) tellUntrusted(findings, address, signs.proxy, 'web');
}

function settingsOf(values: Values, file: SourceFile): readonly Setting[] {
  const settings: Setting[] = [];
  walk(file.program, (node) => {
    if (node.type === 'CallExpression' || node.type === 'NewExpression')
      settings.push(...settingsOfCall(values, { file, node }));
    if (node.type !== 'AssignmentExpression') return;
    const left = node['left'] as SyntaxNode;
    if (left.type !== 'MemberExpression' || memberName(left) !== 'proxy') return;
    settings.push({
      framework: 'koa',
      place: { file, node },
      value: { file, node: bare(node['right'] as SyntaxNode) },
    });
  });
  return settings;
}

function settingsOfCall(values: Values, place: Place): readonly Setting[] {
  const { file, node } = place;
  const callee = bare(node['callee'] as SyntaxNode);
  const [first, second] = argumentsOf(node);
  if (callee.type === 'MemberExpression') {
    const method = memberName(callee);
    const isTrust = first !== undefined && stringOf(first) === 'trust proxy';
    if (isTrust && (method === 'set' || method === 'enable'))
      // `app.enable()` sets true, which its own name stands for here.
      return ['express', 'nestjs'].map((framework) => ({ framework, place, value: { file, node: second ?? node } }));
    const isNest =
      method === 'create' && values.exportOf({ file, node: callee['object'] as SyntaxNode })?.name === 'NestFactory';
    return isNest ? [{ framework: 'nestjs', place, value: undefined }] : [];
  }
  const made = values.exportOf({ file, node: callee });
  if (made?.name === 'FastifyAdapter') return trustOf('nestjs', place, first, 'trustProxy', values);
  const framework = made === undefined ? undefined : APPLICATIONS[made.module];
  if (framework === undefined || !['default', '*', framework].includes(made?.name ?? '')) return [];
  return trustOf(framework, place, first, framework === 'koa' ? 'proxy' : 'trustProxy', values);
}

/** An application, and whom its options say that it trusts. Options that are not written may say it. */
function trustOf(
  framework: string,
  place: Place,
  given: SyntaxNode | undefined,
  option: string,
  values: Values,
): readonly Setting[] {
  const application = { framework, place, value: undefined };
  if (given === undefined || framework === 'express') return [application];
  const options = membersOf(values, { file: place.file, node: given });
  const trust = options?.of.get(option) ?? (options?.areAll === true ? undefined : { ...place, node: given });
  return trust === undefined ? [application] : [application, { framework, place, value: trust }];
}

function checkTrust(
  findings: Findings,
  values: Values,
  { framework, place, value }: Setting,
  files: readonly SourceFile[],
): void {
  if (value === undefined) return;
  const { node } = values.valueOf(value);
  const isAll = (node.type === 'Literal' && node['value'] === true) || node === place.node;
  if (isAll && !(framework === 'koa' && isBoundedKoa(values, place, files))) {
    findings.mistake(
      'proxy-trusts-all',
      place,
      'every proxy is trusted: the address is what the client writes, and each request may claim a new budget',
      TRUST[framework] ?? GUIDE,
    );
  } else if (framework === 'fastify' && numberOf(node) !== undefined) {
    findings.mistake(
      'proxy-hop-count',
      place,
      'Fastify ignores a number: all clients share the budget of the proxy',
      TRUST['fastify'] ?? GUIDE,
    );
  }
}

/** Koa with `proxy` is bounded by a count, or by a field of its own. */
function isBoundedKoa(values: Values, { file, node }: Place, files: readonly SourceFile[]): boolean {
  const names = ['maxIpsCount', 'proxyIpHeader'];
  const [given] = node.type === 'AssignmentExpression' ? [] : argumentsOf(node);
  const options: Members | undefined = given === undefined ? undefined : membersOf(values, { file, node: given });
  if (names.some((name) => options?.of.has(name)) || options?.areAll === false) return true;
  return files.some((one) => assigns(one, names));
}

function assigns({ program }: SourceFile, names: readonly string[]): boolean {
  let found = false;
  walk(program, (node) => {
    const left = node.type === 'AssignmentExpression' ? (node['left'] as SyntaxNode) : undefined;
    found ||= left?.type === 'MemberExpression' && names.includes(memberName(left) ?? '');
  });
  return found;
}
