import type { WriteStream } from 'node:tty';
import { renderLine } from './line.ts';
import type { Run } from './run.ts';
import { Screen } from './screen.ts';
import { curlLines, progressLine, summaryLines } from './summary.ts';

/** Ends the showing. */
export type StopShowing = () => void;

const REDRAWN_EVERY_MS = 500;
const PROGRESS_EVERY_MS = 5000;

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
  // Ctrl-Z: the shell gets its screen and its cursor back for as long as it takes.
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

/** Says at the start how to ask the API, and every few seconds how far it is. */
export function showProgress(run: Run, print: (text: string) => void): StopShowing {
  for (const line of curlLines(run.url)) print(renderLine(line, false));
  const timer = setInterval(() => {
    print(renderLine(progressLine(run), false));
  }, PROGRESS_EVERY_MS);
  return () => {
    clearInterval(timer);
  };
}
