import type { WriteStream } from 'node:tty';

const ENTER = '\x1b[?1049h\x1b[?25l\x1b[2J';
const LEAVE = '\x1b[?25h\x1b[?1049l';

/** A picture on the terminal's second screen, so that the first one, and what was printed on it, comes back afterwards. */
export class Screen {
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
    // Whatever ends the process, the cursor comes back.
    process.once('exit', this.close);
  }

  /** @param linesFor - Makes lines that are no wider than the terminal; those below its last row are left out. */
  draw(linesFor: (columns: number) => readonly string[]): void {
    // Some terminals say that they have no size at all.
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

  /** Forgets what is shown, for a terminal of a new size may have lost it. */
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
