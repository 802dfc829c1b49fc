import { ownText } from '@sluice/core/spi';
import { Remembered } from './remembered.ts';
import { RouteTemplates, segmentsOf } from './route-templates.ts';

/** More different segments at one place are values of a parameter. */
const MOST_LITERALS = 24;
/** Deeper segments belong to what is above them. */
const MOST_DEPTH = 6;
/** Templates that are kept: those of most requests. */
const MOST_TEMPLATES = 200;
/** A longer segment is a value: no route is written so. */
const LONGEST_LITERAL = 64;
/** Nodes that are held while paths are read. */
const MOST_NODES = 200_000;

const IDS: readonly RegExp[] = [
  /^\d+$/,
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  /^[0-9a-f]{12,}$/i,
  /^\d{4}-\d\d(-\d\d)?$/,
  /^(?=.*\d)[\w-]{20,}$/,
  /^[^@\s]+@[^@\s]+$/,
];

interface Node {
  readonly children: Map<string, Node>;
  /** Requests that end here. */
  ends: number;
}

/** Learns templates of routes from the paths of a log. */
export class RouteLearner {
  readonly #root: Node = { children: new Map(), ends: 0 };
  readonly #remembered = new Remembered<Node>((path) => this.#nodeOf(path));
  #nodes = 0;

  add(path: string): void {
    this.#remembered.of(path).ends++;
  }

  #nodeOf(path: string): Node {
    let at = this.#root;
    for (const [depth, segment] of segmentsOf(path).entries()) {
      const name = depth >= MOST_DEPTH ? '*' : placeOf(segment);
      let next = at.children.get(name);
      if (next === undefined) {
        const isFull = at.children.size > 4 * MOST_LITERALS || this.#nodes >= MOST_NODES;
        const place = isFull && name !== '*' ? ':value' : name;
        next = at.children.get(place);
        if (next === undefined) {
          next = { children: new Map(), ends: 0 };
          at.children.set(ownText(place), next); // a part of a line would keep the whole text alive
          this.#nodes++;
        }
      }
      at = next;
      if (name === '*') break;
    }
    return at;
  }

  /** The templates of most requests, those of a place together. */
  templates(): RouteTemplates {
    const found = new Map<string, number>();
    collect(this.#root, '', found);
    const common = [...found].sort(([, one], [, other]) => other - one).slice(0, MOST_TEMPLATES);
    return new RouteTemplates(common.map(([template]) => template).sort());
  }
}

function placeOf(segment: string): string {
  if (segment.length > LONGEST_LITERAL) return ':value';
  return IDS.some((id) => id.test(segment)) ? ':id' : segment;
}

function collect(node: Node, path: string, found: Map<string, number>): void {
  if (node.ends > 0) found.set(path === '' ? '/' : path, (found.get(path === '' ? '/' : path) ?? 0) + node.ends);
  for (const [name, child] of merged(node.children)) collect(child, `${path}/${name}`, found);
}

/** Joins the children of a place where there are many: rare ones are values, those that are common stay. */
function merged(children: ReadonlyMap<string, Node>): ReadonlyMap<string, Node> {
  if (children.size <= MOST_LITERALS) return children;
  const total = [...children.values()].reduce((sum, child) => sum + requestsOf(child), 0);
  const kept = new Map<string, Node>();
  const value: Node = { children: new Map(), ends: 0 };
  for (const [name, child] of children) {
    if (name === '*' || name === ':id' || requestsOf(child) * MOST_LITERALS > total) kept.set(name, child);
    else join(value, child);
  }
  const id = kept.get(':id');
  if (id !== undefined) {
    join(value, id);
    kept.delete(':id');
  }
  kept.set(':value', value);
  return kept;
}

function join(into: Node, from: Node): void {
  into.ends += from.ends;
  for (const [name, child] of from.children) {
    const known = into.children.get(name);
    if (known === undefined) into.children.set(name, child);
    else join(known, child);
  }
}

function requestsOf(node: Node): number {
  let sum = node.ends;
  for (const child of node.children.values()) sum += requestsOf(child);
  return sum;
}
