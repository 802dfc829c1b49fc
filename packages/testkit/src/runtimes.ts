/** A runtime other than the Node.js that runs the tests. */
export interface Runtime {
  /** Such as `Bun`. */
  readonly name: string;
  readonly binary: string;
  /** What runs a program of TypeScript on it. */
  commandOf(program: URL, ...args: readonly string[]): [string, ...string[]];
}

/** The runtimes that `npm run test:runtimes` has installed, in the variable by which it hands them on. */
export function runtimes(): readonly Runtime[] {
  const commands = JSON.parse(process.env['SLUICE_RUNTIMES'] ?? '{}') as Record<string, [string, ...string[]]>;
  return Object.entries(commands).map(([name, command]) => ({
    name,
    binary: command[0],
    commandOf: ({ pathname }, ...args) => [...command, pathname, ...args],
  }));
}
