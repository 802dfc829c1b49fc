/** A place in a file. */
export interface Place {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** From 1, in UTF-16 code units. */
  readonly column: number;
}

/** Something in a file that cannot be used, and where. */
export interface Problem extends Place {
  readonly message: string;
}

/** A configuration that cannot be used. The message has a line for each problem: `path:line:column: message`. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  /** Every problem of the files, in the order of the files and lines. */
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    super(problems.map(formatProblem).join('\n'));
    this.problems = problems;
  }
}

/** One line of text: `path:line:column: message`. */
export function formatProblem({ path, line, column, message }: Problem): string {
  return `${path}:${String(line)}:${String(column)}: ${message}`;
}
