import { spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { childrenOf, type SourceFile, type SyntaxNode } from './source-file.ts';

/**
 * A text of this many characters is parsed in this process. It cannot overflow the parser's stack, which some 5600 open
 * brackets do.
 */
const SHORT = 2000;
/** Deeper programs are left, because what reads them calls itself for each level. */
const DEEPEST = 1000;
const TOO_DEEP = 'it nests too deep';

/** What the other process answers: a program as JSON, or why there is none. */
interface Answer {
  readonly program?: string;
  readonly error?: string;
}

/** Parses the files of a project. */
export interface Parser {
  /** Rejects with an Error for a text that is no JavaScript or TypeScript, or nests too deep. */
  parse(path: string, text: string): Promise<SourceFile>;
  close(): void;
}

/** Loads the parser, which is native code: commands that read no project run without it. */
export async function loadParser(): Promise<Parser> {
  const { parseSync } = await import('oxc-parser');
  const apart = new ParserApart();
  return {
    async parse(path, text) {
      if (text.length > SHORT) return { path, text, program: shallow(await apart.parse(path, text)) };
      const { program, errors } = parseSync(path, text);
      const [error] = errors;
      if (error !== undefined) throw new Error(error.message);
      return { path, text, program: shallow(program as unknown as SyntaxNode) };
    },
    close: () => {
      apart.close();
    },
  };
}

/**
 * The parser in a process of its own, started with the first text. A text that nests too deep overflows the stack of
 * native code: that ends its process, and no error can be caught there.
 */
class ParserApart {
  #child: ChildProcess | undefined;

  async parse(path: string, text: string): Promise<SyntaxNode> {
    this.#child ??= start();
    const { program, error } = await asked(this.#child, { path, text }).catch((ended: unknown) => {
      this.#child = undefined;
      throw ended;
    });
    if (error !== undefined) throw new Error(error);
    return JSON.parse(program as string) as SyntaxNode;
  }

  close(): void {
    this.#child?.disconnect();
    this.#child = undefined;
  }
}

function start(): ChildProcess {
  const url = pathToFileURL(createRequire(import.meta.url).resolve('oxc-parser')).href;
  // Only the writing of a program that is deep throws a RangeError.
  const program = `import { parseSync } from ${JSON.stringify(url)};
const written = (_name, value) => (typeof value === 'bigint' ? String(value) : value);
const parsed = (path, text) => {
  const { program, errors } = parseSync(path, text);
  return errors.length > 0 ? { error: errors[0].message } : { program: JSON.stringify(program, written) };
};
process.on('message', ({ path, text }) => {
  try {
    process.send(parsed(path, text));
  } catch (error) {
    process.send({ error: error instanceof RangeError ? ${JSON.stringify(TOO_DEEP)} : error.message });
  }
});`;
  return spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}

/** Rejects when the process ends before it answers. */
function asked(child: ChildProcess, question: { readonly path: string; readonly text: string }): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = (): void => {
      reject(new Error(`${TOO_DEEP}, or something else has ended the parser`));
    };
    child.once('exit', ended).once('error', reject);
    child.once('message', (answer) => {
      child.off('exit', ended).off('error', reject);
      resolve(answer as Answer);
    });
    child.send(question);
  });
}

function shallow(program: SyntaxNode): SyntaxNode {
  let level: readonly SyntaxNode[] = [program];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > DEEPEST) throw new Error(TOO_DEEP);
    level = level.flatMap(childrenOf);
  }
  return program;
}
