// A reader of the live stream over a real socket: collects events as they come, or does not read at all.

import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Rider } from './harness.ts';
import type { Cleanup } from './receiver.ts';
import { waitFor } from './wait.ts';

export interface TailEvent {
  readonly id: string;
  readonly event: string;
  readonly data: { readonly messageId: string; readonly state: string; readonly url: string };
}

export interface TailOptions {
  readonly query?: string;
  readonly token?: string;
  readonly lastEventId?: string;
  /** In place of the token. */
  readonly headers?: Readonly<Record<string, string>>;
}

export class Tail {
  readonly response: IncomingMessage;
  readonly events: TailEvent[] = [];
  bytes = 0;
  isEnded = false;
  readonly #request: ClientRequest;
  readonly #rider: Rider;
  #text = '';

  constructor(rider: Rider, request: ClientRequest, response: IncomingMessage) {
    this.#rider = rider;
    this.#request = request;
    this.response = response;
    response.on('close', () => {
      this.isEnded = true;
    });
    response.on('error', () => {}); // cut off: what was read before is what the test looks at
  }

  read(): this {
    this.response.on('data', (chunk: Buffer) => {
      this.bytes += chunk.length;
      this.#text += chunk.toString('utf8');
      const blocks = this.#text.split('\n\n');
      this.#text = blocks.pop()!;
      for (const block of blocks) if (!block.startsWith(':')) this.events.push(parseEvent(block));
    });
    return this;
  }

  /** The events, once there are so many; the clock moves meanwhile, since news are gathered for a moment. */
  async received(count: number): Promise<TailEvent[]> {
    return waitFor(`${count} live events`, () => {
      this.#rider.clock.advance(100);
      return this.events.length >= count && this.events.slice();
    });
  }

  states(): string[] {
    return this.events.map(({ event }) => event);
  }

  close(): void {
    this.#request.destroy();
  }
}

function parseEvent(block: string): TailEvent {
  const fields = Object.fromEntries(
    block.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
  );
  return { id: fields.id!, event: fields.event!, data: JSON.parse(fields.data!) as TailEvent['data'] };
}

/** Connected: what happens from now on is for this reader. Not reading yet. */
export function openTail(t: Cleanup, rider: Rider, options: TailOptions = {}): Promise<Tail> {
  const {
    query = '',
    token = rider.token!,
    lastEventId,
    headers: shown = { Authorization: `Bearer ${token}` },
  } = options;
  return new Promise((resolve, reject) => {
    const headers = {
      ...shown,
      ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
    };
    const request = httpRequest(`${rider.url}/v2/events/stream${query}`, { headers }, (response) => {
      if (response.statusCode === 200) resolve(new Tail(rider, request, response));
      else reject(new Error(`the stream answered ${response.statusCode}`));
    });
    request.on('error', reject);
    request.end();
    t.after(() => {
      request.destroy();
    });
  });
}
