// The network between one node and its database, in the test's hands: it can be cut, or fall silent as a network does
// when nobody is told (a half-open connection), and it can heal.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

export class TcpProxy {
  readonly #server: Server;
  readonly #port: number;
  readonly #relays = new Set<Relay>();
  #isSilent = false;
  #isRefusing = false;
  #delayMs = 0;

  private constructor(port: number) {
    this.#port = port;
    // Read only when there is somebody to pass it on to; and one side may go on when the other has said its last word.
    this.#server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => this.#take(client));
  }

  /** On a port of its own, in front of `port` of this machine. */
  static async start(port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The ports by which the other side knows the connections. */
  get outerPorts(): number[] {
    return [...this.#relays].flatMap(({ outerPort }) => outerPort ?? []);
  }

  /** Nothing gets through, in either direction, and nobody is told. Who connects is let in, and hears nothing. */
  blackhole(): void {
    this.#isSilent = true;
    for (const relay of this.#relays) relay.hold();
  }

  /** As `blackhole`, for the connections that there are now: new ones are let through. */
  holdPresent(): void {
    for (const relay of this.#relays) relay.hold();
  }

  /** As `blackhole`, for the one connection that the other side knows by this port. */
  holdOne(outerPort: number): void {
    for (const relay of this.#relays) if (relay.outerPort === outerPort) relay.hold();
  }

  /** Every connection breaks, at once and for both sides. New ones are let through. */
  cut(): void {
    for (const relay of this.#relays) relay.break();
  }

  /** From now on, whatever the node sends arrives so much later: every round trip takes that long. */
  slow(ms: number): void {
    this.#delayMs = ms;
  }

  /** What was held on the way arrives now: late, also from those who have given up meanwhile. */
  heal(): void {
    this.#isSilent = false;
    for (const relay of this.#relays) relay.open(this.#port, () => this.#delayMs);
  }

  /** As in front of a server that is down: every connection breaks, and so does every new one until `allow`. */
  refuse(): void {
    this.#isRefusing = true;
    if (!this.#isSilent) this.cut();
  }

  allow(): void {
    this.#isRefusing = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #take(client: Socket): void {
    if (this.#isRefusing && !this.#isSilent) {
      reset(client);
      return;
    }
    const relay = new Relay(client, () => this.#relays.delete(relay));
    this.#relays.add(relay);
    if (!this.#isSilent) relay.open(this.#port, () => this.#delayMs);
  }
}

/** One that has said its last word cannot be reset any more: Node.js would wait for it forever when the process ends. */
function reset(socket: Socket): void {
  if (socket.writableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}

/** One connection: the node's side, and the database's once it is open. */
class Relay {
  readonly #client: Socket;
  readonly #onEnd: () => void;
  #outer: Socket | null = null;
  #closed = 0;
  #isDelayed = false;

  constructor(client: Socket, onEnd: () => void) {
    this.#client = client;
    this.#onEnd = onEnd;
    this.#watch(client);
  }

  get outerPort(): number | undefined {
    return this.#outer?.localPort;
  }

  open(port: number, delayMs: () => number): void {
    if (this.#outer) {
      this.#outer.resume();
    } else {
      this.#outer = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      this.#watch(this.#outer);
      this.#pass(this.#client, this.#outer, delayMs);
      this.#pass(this.#outer, this.#client, () => 0);
    }
    this.#client.resume();
  }

  hold(): void {
    this.#client.pause();
    this.#outer?.pause();
  }

  break(): void {
    reset(this.#client);
    if (this.#outer) reset(this.#outer);
  }

  #pass(from: Socket, to: Socket, delayMs: () => number): void {
    // In order, also when the delay changes.
    let last: Promise<void> = Promise.resolve();
    const later = (work: () => void): void => {
      const ms = delayMs();
      this.#isDelayed ||= ms > 0;
      if (this.#isDelayed) {
        const due = new Promise<void>((resolve) => setTimeout(resolve, ms));
        last = last.then(() => due).then(work);
      } else work();
    };
    from.on('data', (chunk: Buffer) => later(() => void (to.destroyed || to.write(chunk))));
    from.on('end', () => later(() => void (to.destroyed || to.end())));
  }

  #watch(socket: Socket): void {
    // Bytes as they come: what is held back to be joined with more would make every statement slow.
    socket.setNoDelay(true);
    socket.on('error', () => this.break());
    socket.on('close', () => {
      this.#closed += 1;
      if (this.#closed === (this.#outer ? 2 : 1)) this.#onEnd();
    });
  }
}
