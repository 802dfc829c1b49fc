import { spawn, type ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { pathToFileURL } from 'node:url';
import { childrenOf, type SourceFile, type SyntaxNode } from './source-file.ts';

/**
 * A text of this many characters is parsed in this process. It cannot overflow the parser's stack: some 5600 open
 * brackets overflow one of 8 MB, and 700 one of 1 MB.
 */
const SHORT = 500;
/** Deeper programs are left, because what reads them calls itself for each level. */
const DEEPEST = 1000;
const TOO_DEEP = 'it nests too deep';
/** How long the other process may take for a file. */
const LONGEST_S = 60;

/** What the other process answers: a program, or why there is none. */
interface Answer {
  readonly program?: SyntaxNode;
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
      if (text.length > SHORT) return { path, text, program: await apart.parse(path, text) };
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
    if (this.#child?.connected !== true) this.#child = start();
    const { program, error } = await asked(this.#child, { path, text }).catch((ended: unknown) => {
      this.#child = undefined;
      throw ended;
    });
    if (error !== undefined) throw new Error(error);
    return program as SyntaxNode;
  }

  /** Of a process that has ended already, too. */
  close(): void {
    if (this.#child?.connected === true) this.#child.disconnect();
    this.#child = undefined;
  }
}

function start(): ChildProcess {
  const url = pathToFileURL(createRequire(import.meta.url).resolve('oxc-parser')).href;
  // A deep program is not sent: both writing and reading it call themselves for each level.
  const program = `import { parseSync } from ${JSON.stringify(url)};
const nodesIn = (node) => Object.values(node).flat().filter((value) => typeof value?.type === 'string');
const isDeep = (program) => {
  let level = [program];
  for (let depth = 0; depth <= ${String(DEEPEST)} && level.length > 0; depth++) level = level.flatMap(nodesIn);
  return level.length > 0;
};
const parsed = (path, text) => {
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) return { error: errors[0].message };
  return isDeep(program) ? { error: ${JSON.stringify(TOO_DEEP)} } : { program };
};
const whyNot = (error) =>
  error instanceof RangeError && error.message.startsWith('Maximum call stack')
    ? ${JSON.stringify(TOO_DEEP)}
    : 'the parser failed: ' + error.message;
process.on('message', ({ path, text }) => {
  try {
    process.send(parsed(path, text));
  } catch (error) {
    process.send({ error: whyNot(error) });
  }
});`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    // Regular expressions and large integers keep their values.
    serialization: 'advanced',
    // Options of this process, such as modules to load first or a debugger, are not for the parser.
    env: { ...process.env, NODE_OPTIONS: undefined },
    // Where it leaves a core file, if the system writes them.
    cwd: tmpdir(),
  });
  // One that could not be started fails once more when it is written to.
  return child.on('error', () => undefined);
}

/** Rejects when the process ends before it answers, or does not answer in time: it is killed then. */
function asked(child: ChildProcess, question: { readonly path: string; readonly text: string }): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`the parser has not answered for ${question.path} within ${String(LONGEST_S)} s`));
    }, LONGEST_S * 1000);
    const failed = (error: Error): void => {
      clearTimeout(late);
      reject(error);
    };
    const ended = (): void => {
      failed(new Error(`${TOO_DEEP}, or something else has ended the parser`));
    };
    child.once('exit', ended).once('error', failed);
    child.once('message', (answer) => {
      clearTimeout(late);
      child.off('exit', ended).off('error', failed);
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
