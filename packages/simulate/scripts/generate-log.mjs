// Writes an access log (Apache combined) as a busy site has it: few clients send most requests, and many send one.
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const AGENTS = [
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148',
  'Mozilla/5.0 (X11; Linux x86_64; rv:127.0) Gecko/20100101 Firefox/127.0',
  'curl/8.8.0',
];
const STATUSES = [200, 200, 200, 200, 200, 304, 304, 301, 404, 500];
const BLOCK = 10_000;
/** Requests of clients that send one. */
const NEW_SHARE = 0.05;
const START_MS = Date.UTC(2026, 4, 1);

/** A generator of numbers from 0 to 1, the same for each seed. */
function randomOf(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function stampOf(atMs) {
  const at = new Date(atMs);
  const two = (value) => String(value).padStart(2, '0');
  return `${two(at.getUTCDate())}/${MONTHS[at.getUTCMonth()]}/${at.getUTCFullYear()}:${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())} +0000`;
}

/** Texts of lines, whose clients follow a heavy tail: the n-th of them is as frequent as 1/n, and so many are new. */
function* logBlocks({ lines, seconds, seed }) {
  const random = randomOf(seed);
  const clients = 100_000;
  let fresh = 0;
  let last = '';
  let stamp = '';
  for (let done = 0; done < lines;) {
    const block = [];
    for (let i = 0; i < BLOCK && done < lines; i++, done++) {
      const number = random() < NEW_SHARE ? 16_000_000 + (fresh++ % 2_000_000_000) : Math.floor(clients ** random());
      const address = `${10 + ((number >>> 24) % 200)}.${(number >>> 16) & 255}.${(number >>> 8) & 255}.${number & 255}`;
      const second = Math.floor((done / lines) * seconds);
      if (second !== last) stamp = stampOf(START_MS + second * 1000);
      last = second;
      const target = random() < 0.5 ? `/articles/${Math.floor(random() * 500)}/comments?page=2` : '/static/style.css';
      block.push(
        `${address} - - [${stamp}] "GET ${target} HTTP/1.1" ${STATUSES[Math.floor(random() * STATUSES.length)]} ${Math.floor(random() * 40_000)} "https://example.org/" "${AGENTS[number % AGENTS.length]}"\n`,
      );
    }
    yield block.join('');
  }
}

export async function writeLog(path, options) {
  const file = createWriteStream(path);
  for (const block of logBlocks(options)) if (!file.write(block)) await once(file, 'drain');
  file.end();
  await once(file, 'close');
}
