import type { WriteStream } from 'node:tty';
import { curlLines, progressLine, summaryLines, type Run } from './summary.ts';
import { renderLine } from './text.ts';

/** Ends the showing. */
export type StopShowing = () => void;

const REDRAWN_EVERY_MS = 500;
const PROGRESS_EVERY_MS = 5000;

// The terminal's second screen without a cursor, and back.
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[2J';
const LEAVE = '\x1b[?25h\x1b[?1049l';

/** Draws the summary twice a second, in place. */
export function showLive(run: Run, terminal: WriteStream, color: boolean): StopShowing {
  const screen = new Screen(terminal);
  const draw = (): void => {
    screen.draw((columns) => summaryLines(run, true, columns).map((line) => renderLine(line, color, columns)));
  };
  const redraw = (): void => {
    screen.clear();
    draw();
  };
  // Ctrl-Z: restores the screen and the cursor for the shell meanwhile.
  const suspend = (): void => {
    screen.close();
    process.kill(process.pid, 'SIGSTOP');
  };
  const resume = (): void => {
    screen.open();
    redraw();
  };
  screen.open();
  draw();
  const timer = setInterval(draw, REDRAWN_EVERY_MS);
  terminal.on('resize', redraw);
  process.on('SIGTSTP', suspend).on('SIGCONT', resume);
  return () => {
    clearInterval(timer);
    terminal.removeListener('resize', redraw);
    process.removeListener('SIGTSTP', suspend).removeListener('SIGCONT', resume);
    screen.close();
  };
}

/** Prints at the start how to use the API, and every few seconds the progress. */
export function showProgress(run: Run, print: (text: string) => void): StopShowing {
  for (const line of curlLines(run.url)) print(renderLine(line, false));
  const timer = setInterval(() => {
    print(renderLine(progressLine(run), false));
  }, PROGRESS_EVERY_MS);
  return () => {
    clearInterval(timer);
  };
}

/**
 * A picture on the terminal's second screen, so that the first one, and what was printed on it, comes back afterwards.
 */
class Screen {
  readonly #terminal: WriteStream;
  #shown: readonly string[] = [];
  #isOpen = false;

  constructor(terminal: WriteStream) {
    this.#terminal = terminal;
  }

  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#terminal.write(ENTER);
    // Restores the cursor at any end of the process.
    process.once('exit', this.close);
  }

  /** @param linesFor - Makes lines that are no wider than the terminal; those below its last row are left out. */
  draw(linesFor: (columns: number) => readonly string[]): void {
    // Some terminals report a size of 0.
    const { columns, rows } = { columns: this.#terminal.columns || 80, rows: this.#terminal.rows || 24 };
    const lines = linesFor(columns).slice(0, rows);
    let output = '';
    // Only what changed is written: nothing flickers, and text that is being selected stays selected.
    for (let i = 0; i < Math.max(lines.length, this.#shown.length); i++) {
      if (lines[i] !== this.#shown[i]) output += `\x1b[${String(i + 1)};1H\x1b[2K${lines[i] ?? ''}`;
    }
    this.#shown = lines;
    if (output !== '') this.#terminal.write(output);
  }

  /** Forgets what is shown, because a resized terminal may have lost it. */
  clear(): void {
    this.#shown = [];
    this.#terminal.write('\x1b[2J');
  }

  readonly close = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    process.removeListener('exit', this.close);
    this.#terminal.write(LEAVE);
  };
}
