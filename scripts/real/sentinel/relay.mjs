import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/** A relay of TCP before one port, which can be another later. Keeps the bytes of each side, if it is to. */
export class Relay {
  #server;
  #sockets = new Set();
  target;
  /** What each side has sent, as hex. */
  client = '';
  server = '';

  static async start(target) {
    const relay = new Relay();
    relay.target = target;
    relay.#server = createServer((from) => relay.#pass(from));
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get port() {
    return this.#server.address().port;
  }

  #pass(from) {
    const to = connect(this.target, '127.0.0.1');
    for (const [one, other, side] of [
      [from, to, 'client'],
      [to, from, 'server'],
    ]) {
      this.#sockets.add(one);
      one.setNoDelay(true);
      one.on('data', (bytes) => {
        this[side] += bytes.toString('hex');
        other.write(bytes);
      });
      one.on('error', () => undefined);
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
    }
  }

  close() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
