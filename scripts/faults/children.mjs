import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A child process of these scripts, which replies to questions and reports events. */
export class Child {
  #process;
  #questions = new Map();
  #next = 0;

  /** @param onTold - Called with each event that the process reports. */
  constructor(file, settings, { execArgv = [], onTold = () => undefined } = {}) {
    this.#process = fork(fileURLToPath(file), [JSON.stringify(settings)], {
      execArgv: ['--no-warnings', ...execArgv],
    });
    running.add(this.#process);
    this.#process.on('message', ({ id, answer, told }) => {
      if (told !== undefined) onTold(told);
      else this.#questions.get(id)?.(answer);
    });
    this.#process.on('exit', (code, signal) => {
      if (!running.delete(this.#process)) return;
      console.error(`${file} ended by itself: ${code ?? signal}`);
      process.exit(2);
    });
  }

  async ask(question) {
    const id = this.#next++;
    const answer = new Promise((resolve) => this.#questions.set(id, resolve));
    this.#process.send({ id, question });
    try {
      return await answer;
    } finally {
      this.#questions.delete(id);
    }
  }

  async end() {
    running.delete(this.#process);
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await gone;
  }
}

/** The other side, in the child process: its start options, and how it replies. */
export const settings = JSON.parse(process.argv[2]?.startsWith('{') ? process.argv[2] : '{}');

export function tell(told) {
  process.send({ told });
}

export function answerTo(questions) {
  process.on('message', async ({ id, question }) => {
    process.send({ id, answer: await questions[question.what](question) });
  });
  process.on('disconnect', () => process.exit());
}
