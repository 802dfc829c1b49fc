// Opens many streams of HTTP/2 on each of many connections, and drops the connections after 0 to 12 ms.
import { once } from 'node:events';
import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';

const AT_ONCE = 25;
const [port, connections, requests] = process.argv.slice(2).map(Number);

async function drop(afterMs) {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => {});
  const closed = once(session, 'close');
  await once(session, 'connect').catch(() => {});
  for (let i = 0; i < requests; i++) session.request({ ':path': '/' }).on('error', () => {});
  await sleep(afterMs);
  session.destroy();
  await closed;
}

for (let done = 0; done < connections; done += AT_ONCE) {
  await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => drop((done + i) % 13)));
}
