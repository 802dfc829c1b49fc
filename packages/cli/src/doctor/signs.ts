import { memberAt, type DeploymentFile } from '../project/deployment.ts';
import { nameOfKey } from '../project/members.ts';
import { stringOf, walk, type SourceFile, type SyntaxNode } from '../project/source-file.ts';
import { bare, memberName, numberOf, type Values } from '../project/values.ts';
import { fieldsIn } from './keys.ts';

/** The first sign of something in a project, in words: `nginx.conf`, `cluster.fork() in main.js`. */
export interface Signs {
  /** That several processes run the application. */
  readonly processes: string | undefined;
  /** That a proxy forwards requests to it. */
  readonly proxy: string | undefined;
}

const PROXIES = new Set([
  'nginx',
  'traefik',
  'caddy',
  'haproxy',
  'envoy',
  'nginx-proxy',
  'cloudflared',
  'openresty',
  'kong',
]);
const DATABASES = new Set(['redis', 'valkey', 'postgres', 'mysql', 'mariadb', 'mongo', 'rabbitmq', 'memcached']);
const PROXY_FILES = new Set(['Caddyfile', 'haproxy.cfg', 'nginx.conf']);
/** Files of platforms whose routers are proxies. */
const PLATFORMS = new Set(['Procfile', 'fly.toml', 'render.yaml', 'railway.json', 'railway.toml']);
const FORWARDED = new Set(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host', 'x-real-ip']);

export function signsOf(
  values: Values,
  files: readonly SourceFile[],
  deployment: readonly DeploymentFile[],
  manifest: string | undefined,
): Signs {
  const inFiles = (find: (file: DeploymentFile) => string | undefined): string | undefined =>
    deployment.map(find).find((sign) => sign !== undefined);
  return {
    processes:
      inFiles(replicasIn) ??
      scriptWithCluster(manifest) ??
      files.map((file) => clusterIn(values, file)).find((sign) => sign !== undefined),
    proxy: inFiles(proxyIn) ?? files.map(forwardedIn).find((sign) => sign !== undefined),
  };
}

/** `cluster.fork()`, and `instances` of PM2. */
function clusterIn(values: Values, file: SourceFile): string | undefined {
  let sign: string | undefined;
  walk(file.program, (node) => {
    if (node.type === 'CallExpression' && isFork(values, file, node)) sign ??= `cluster.fork() in ${file.path}`;
    if (
      node.type === 'Property' &&
      isEcosystem(file.path) &&
      nameOfKey(node) === 'instances' &&
      isSeveral(valueIn(node))
    )
      sign ??= `instances in ${file.path}`;
  });
  return sign;
}

function isFork(values: Values, file: SourceFile, call: SyntaxNode): boolean {
  const callee = bare(call['callee'] as SyntaxNode);
  if (callee.type !== 'MemberExpression' || memberName(callee) !== 'fork') return false;
  const from = values.exportOf({ file, node: callee['object'] as SyntaxNode });
  return from?.module === 'node:cluster' || from?.module === 'cluster';
}

function isEcosystem(path: string): boolean {
  return lastOf(path).startsWith('ecosystem.config.') || lastOf(path).startsWith('pm2.');
}

function valueIn(property: SyntaxNode): unknown {
  const value = bare(property['value'] as SyntaxNode);
  return stringOf(value) ?? numberOf(value);
}

/** `'max'`, 0 (as many as cores) or more than one. */
function isSeveral(instances: unknown): boolean {
  return instances === 'max' || instances === 0 || Number(instances) > 1;
}

/** `pm2 start app.js -i max` in a script of the manifest. */
function scriptWithCluster(manifest: string | undefined): string | undefined {
  const scripts = manifest === undefined ? undefined : memberAt(parsed(manifest), 'scripts');
  for (const [name, script] of Object.entries(scripts ?? {})) {
    const words = String(script).split(' ');
    const at = words.findIndex((word) => word === '-i' || word === '--instances');
    if (words.includes('pm2') && at !== -1 && isSeveral(words[at + 1]))
      return `pm2 in the script ${name} of package.json`;
  }
  return undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Replicas of an application in Compose, Kubernetes or PM2. */
function replicasIn({ path, documents }: DeploymentFile): string | undefined {
  for (const document of documents) {
    if (isEcosystem(path)) {
      const apps = memberAt(document, 'apps');
      if (Array.isArray(apps) && apps.some((app) => isSeveral(memberAt(app, 'instances'))))
        return `instances in ${path}`;
    }
    for (const [name, service] of servicesOf(document)) {
      const replicas = memberAt(service, 'deploy', 'replicas') ?? memberAt(service, 'scale');
      if (Number(replicas) > 1 && memberAt(service, 'build') !== undefined) return `replicas of ${name} in ${path}`;
    }
    const replicas = memberAt(document, 'spec', 'replicas');
    const isWorkload = ['Deployment', 'StatefulSet', 'ReplicaSet'].includes(String(memberAt(document, 'kind')));
    if (isWorkload && Number(replicas) > 1 && !imagesOf(document).every((image) => isKnownImage(image)))
      return `replicas in ${path}`;
  }
  return undefined;
}

function servicesOf(document: unknown): readonly (readonly [string, unknown])[] {
  const services = memberAt(document, 'services');
  return typeof services === 'object' && services !== null ? Object.entries(services) : [];
}

function imagesOf(document: unknown): readonly unknown[] {
  const containers = memberAt(document, 'spec', 'template', 'spec', 'containers');
  return Array.isArray(containers) ? containers.map((container) => memberAt(container, 'image')) : [];
}

function isKnownImage(image: unknown): boolean {
  return DATABASES.has(nameOfImage(image)) || PROXIES.has(nameOfImage(image));
}

/** `envoyproxy/envoy:v1.30` is `envoy`. */
function nameOfImage(image: unknown): string {
  return lastOf(typeof image === 'string' ? image : '').split(':')[0] ?? '';
}

/** A proxy in Compose or Kubernetes, its own file, or the file of a platform. */
function proxyIn({ path, text, documents }: DeploymentFile): string | undefined {
  const name = lastOf(path);
  if (PROXY_FILES.has(name) || PLATFORMS.has(name)) return path;
  if (name.endsWith('.conf') && text.includes('proxy_pass')) return path;
  for (const document of documents) {
    const found = servicesOf(document).find(([, service]) => PROXIES.has(nameOfImage(memberAt(service, 'image'))));
    if (found !== undefined) return `the service ${found[0]} in ${path}`;
    const kind = memberAt(document, 'kind');
    if (kind === 'Ingress' || kind === 'HTTPRoute') return `the ${kind} in ${path}`;
  }
  return undefined;
}

/** A file that reads what only proxies write. */
function forwardedIn(file: SourceFile): string | undefined {
  const field = fieldsIn(file.program).find((name) => FORWARDED.has(name.toLowerCase()));
  return field === undefined ? undefined : `${field}, which ${file.path} reads`;
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
