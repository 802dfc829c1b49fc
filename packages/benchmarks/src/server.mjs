// The process of a web server that is measured: over sockets by others, and in the process by itself.
import { Duplex } from 'node:stream';
import { cpuUs } from './in-turn.mjs';
import { HANDS, sluiceOptions } from './servers/settings.mjs';

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** A connection without a socket, whose other side is here. */
class Connection extends Duplex {
  #answered;

  constructor(remoteAddress) {
    super();
    this.remoteAddress = remoteAddress;
  }

  /** Resolves when an answer begins. */
  ask() {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.push(REQUEST);
    });
  }

  _read() {}

  _write(bytes, _encoding, done) {
    if (bytes.toString('latin1', 0, 5) === 'HTTP/') this.#answered();
    done();
  }
}

export async function open({ framework, name, limit, redisUrl }) {
  const { sluice, peer, written, serve } = await import(`./servers/${framework}.mjs`);
  const byHand = HANDS[name];
  const limiter =
    name === 'sluice' ? sluice(sluiceOptions(limit, redisUrl)) : byHand ? written(byHand(limit)) : peer(limit);
  const server = await serve(limiter);
  return {
    about: () => ({ port: server.address().port }),
    usage: () => ({ cpuUs: cpuUs() }),
    answer: async ({ connections, ms }) => {
      const clients = Array.from({ length: connections }, (_, i) => new Connection(`127.2.0.${i}`));
      for (const client of clients) server.emit('connection', client);
      const [startUs, endMs] = [cpuUs(), performance.now() + ms];
      let requests = 0;
      do {
        await Promise.all(clients.map((client) => client.ask()));
        requests += connections;
      } while (performance.now() < endMs);
      const spentUs = cpuUs() - startUs;
      for (const client of clients) client.destroy();
      return { cpuUs: spentUs / requests };
    },
  };
}
