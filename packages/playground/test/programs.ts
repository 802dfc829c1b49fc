import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { freePort } from '@sluice/testkit';

const tsc = fileURLToPath(new URL('../../../node_modules/@typescript/native/bin/tsc', import.meta.url));
const prettier = fileURLToPath(new URL('../../../node_modules/prettier/bin/prettier.cjs', import.meta.url));
const cache = fileURLToPath(new URL('../.cache/', import.meta.url));

/** Programs as a user has them: compiled with types against the built packages. */
export interface Programs {
  /** What the compiler says; empty if all is right. */
  readonly errors: string;
  /** The files that Prettier would write in another way. */
  readonly unformatted: string;
  /** Runs one, and resolves with its address when it listens. */
  readonly start: (name: string) => Promise<string>;
  /** Ends all that were started, and removes the files. */
  readonly close: () => Promise<void>;
}

/**
 * Compiles programs that listen on port 3000, each of which is given a free port instead. Those of NestJS compile as
 * CommonJS too, as applications before its version 12 do.
 */
export async function compilePrograms(sources: Readonly<Record<string, string>>): Promise<Programs> {
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(`${cache}programs-`);
  const ports = new Map<string, number>();
  const children: ChildProcess[] = [];
  for (const [name, source] of Object.entries(sources)) {
    const port = await freePort();
    ports.set(name, port);
    const program = source.replaceAll('3000', String(port));
    writeFileSync(`${folder}/${name}.ts`, program);
    if (program.includes('@nestjs/core')) writeFileSync(`${folder}/${name}.cts`, program);
  }
  writeFileSync(
    `${folder}/tsconfig.json`,
    JSON.stringify({
      compilerOptions: {
        ...{ target: 'es2022', module: 'nodenext', moduleDetection: 'force', types: ['node'] },
        ...{ strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
        ...{ experimentalDecorators: true, emitDecoratorMetadata: true, rootDir: '.', outDir: 'out' },
      },
    }),
  );
  const style = ['--no-config', '--single-quote', '--ignore-path', `${folder}/none`];
  const [errors, unformatted] = await Promise.all([
    output([tsc, '-p', folder]),
    output([prettier, '--list-different', ...style, `${folder}/*.ts`]),
  ]);
  return {
    errors,
    unformatted,
    start: async (name) => {
      const program = `${folder}/out/${name}.js`;
      const child = spawn(process.execPath, [program], { stdio: ['ignore', 'ignore', 'inherit'] });
      children.push(child);
      const address = `http://127.0.0.1:${String(ports.get(name))}`;
      await untilListening(address, child);
      return address;
    },
    close: async () => {
      for (const child of children) {
        const exit = once(child, 'exit');
        if (child.exitCode === null && child.kill()) await exit;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What a program of Node.js prints, whatever its exit code. */
async function output(args: readonly string[]): Promise<string> {
  return await new Promise((resolve) => {
    execFile(process.execPath, args, (_error, stdout, stderr) => {
      resolve(stdout + stderr);
    });
  });
}

/** Asks for connections alone: a request would be counted. */
async function untilListening(address: string, child: ChildProcess): Promise<void> {
  const port = Number(new URL(address).port);
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the program has ended with code ${String(child.exitCode)}`);
    const socket = connect(port, '127.0.0.1');
    const connected = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (connected) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
