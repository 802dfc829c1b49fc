import { UsageError } from '../terminal/failure.ts';

/** All paths that no template covers have one key: otherwise clients could make keys without end. */
const OTHER = '(other)';

interface Branch {
  readonly literals: Map<string, Branch>;
  parameter: Branch | undefined;
  /** The template that ends here. */
  template: string | undefined;
  /** The template that covers all below. */
  rest: string | undefined;
}

/** Templates of routes, such as `/users/:id` and `/files/*`. A literal segment takes precedence over a parameter. */
export class RouteTemplates {
  readonly #root: Branch = branch();

  /** @throws UsageError for a text that is no template. */
  constructor(templates: readonly string[]) {
    for (const template of templates) this.#add(template);
  }

  /** The template of a path, or `(other)`. */
  of(path: string): string {
    return this.#find(segmentsOf(path));
  }

  #add(template: string): void {
    if (!/^\/\S*$/.test(template)) {
      throw new UsageError(
        `--route must be the path of a route, such as /users/:id or /files/*, got ${JSON.stringify(template)}`,
      );
    }
    let at = this.#root;
    for (const segment of segmentsOf(template)) {
      if (segment === '*') {
        at.rest ??= template;
        return;
      }
      if (segment.startsWith(':')) at = at.parameter ??= branch();
      else {
        let next = at.literals.get(segment);
        if (next === undefined) at.literals.set(segment, (next = branch()));
        at = next;
      }
    }
    at.template ??= template;
  }

  #find(segments: readonly string[]): string {
    const search = (at: Branch, i: number): string | undefined => {
      const segment = segments[i];
      if (segment === undefined) return at.template ?? at.rest;
      const literal = at.literals.get(segment);
      return (
        (literal === undefined ? undefined : search(literal, i + 1)) ??
        (at.parameter === undefined ? undefined : search(at.parameter, i + 1)) ??
        at.rest
      );
    };
    return search(this.#root, 0) ?? OTHER;
  }
}

function branch(): Branch {
  return { literals: new Map(), parameter: undefined, template: undefined, rest: undefined };
}

/** Empty segments and the slash at the end do not count; capitals and escapes of letters do not distinguish. */
function segmentsOf(path: string): readonly string[] {
  let plain = path;
  try {
    plain = decodeURIComponent(path);
  } catch {
    // A path that cannot be decoded stands as it is.
  }
  return plain
    .split('/')
    .filter((segment) => segment !== '')
    .map((segment) => (segment.startsWith(':') ? segment : segment.toLowerCase()));
}
