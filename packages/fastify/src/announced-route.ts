import type { FastifyInstance, FastifyRequest } from 'fastify';
import { chainOf } from './application-chain.ts';

/** A route, by the segments of its template. */
interface Template {
  readonly url: string;
  readonly segments: readonly string[];
}

/** The routes of each application by their methods, as far as the plugin has seen them. */
const routes = new WeakMap<object, Map<string, Template[]>>();

/** Adds a route of an application. */
export function addRoute(app: FastifyInstance, methods: string | readonly string[], url: string): void {
  const root = chainOf(app)[0] as FastifyInstance;
  const byMethod = routes.get(root) ?? new Map<string, Template[]>();
  routes.set(root, byMethod);
  for (const method of [methods].flat()) {
    const templates = byMethod.get(method) ?? [];
    byMethod.set(method, templates);
    templates.push({ url, segments: url.toLowerCase().split('/') });
  }
}

/**
 * The template of the route that a CORS preflight announces: Fastify routes the preflight itself, by its own method.
 * Compares whole segments, without regard to case and constraints, so that every path belongs to a template that the
 * application has. Undefined if there is none.
 */
export function announcedRoute({ server, url }: FastifyRequest, method: string): string | undefined {
  const segments = segmentsOf(url);
  let best: { readonly url: string; readonly rank: string } | undefined;
  for (const template of routes.get(chainOf(server)[0] as FastifyInstance)?.get(method) ?? []) {
    const rank = rankOf(template.segments, segments);
    if (rank !== undefined && (best === undefined || rank < best.rank)) best = { url: template.url, rank };
  }
  return best?.url;
}

/** The segments of a path, decoded; slashes in a row or at the end make none. */
function segmentsOf(url: string): readonly string[] {
  const [path = ''] = url.split(/[?#]/, 1);
  return ['', ...path.split('/').filter((segment) => segment !== '')].map((segment) => {
    try {
      return decodeURIComponent(segment).toLowerCase();
    } catch {
      return segment.toLowerCase(); // a malformed escape, which matches parameters alone
    }
  });
}

/** How a template matches, its segments in order: literally (0), by a parameter (1), or by the rest (2). */
function rankOf(template: readonly string[], segments: readonly string[]): string | undefined {
  const wanted = template.filter((segment, i) => i === 0 || segment !== '');
  let rank = '';
  for (const [i, segment] of wanted.entries()) {
    if (segment.includes('*')) return `${rank}2`;
    const found = segments[i];
    if (found === undefined) return segment.endsWith('?') && i === wanted.length - 1 ? `${rank}1` : undefined;
    if (segment.replaceAll('::', '').includes(':')) rank += '1';
    else if (segment.replaceAll('::', ':') === found) rank += '0';
    else return undefined;
  }
  return segments.length > wanted.length ? undefined : rank;
}
