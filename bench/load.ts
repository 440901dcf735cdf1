// The publishers of a measurement, in a process of their own. Without a rate, each connection sends again as soon as it
// is answered. With one, messages are due at fixed instants, whether or not earlier ones were answered: one that finds
// no free connection waits, and its wait counts. Says how many were accepted twenty times a second, and for each line
// on its standard input how long the answers took since the last one.
// The first line is the LoadSpec, as JSON.

import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { nowUs, stampOf } from './clock.ts';
import { Histogram } from './histogram.ts';
import { placesOf, QUEUE, type RequestShape, STAMP, textOf } from './request.ts';

export interface LoadSpec {
  readonly apis: readonly string[];
  readonly shape: RequestShape;
  readonly connections: number;
  /** Messages a second; 0 for as many as go. */
  readonly rate: number;
  readonly queues?: number;
  /** A new connection for each request. */
  readonly isKeptAlive?: boolean;
  /** Then no more are sent. */
  readonly messagesMax?: number;
}

/** A tick this late is the publishers' own stall: the messages were due when they were due. */
const STALL_US = 5000;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const first = await lines.next();
const {
  apis,
  shape,
  connections,
  rate,
  queues = 1,
  isKeptAlive = true,
  messagesMax = Infinity,
}: LoadSpec = JSON.parse(String(first.value));

let sent = 0;
let accepted = 0;
let refused = 0;
let broken = 0;
let marks = 0;
let lastRefusal = '';
const answered = new Histogram();
const idle: Publisher[] = [];
/** Instants at which messages were due that no connection was free for. */
const waiting: number[] = [];

class Publisher {
  readonly #api: URL;
  readonly #request: Buffer;
  readonly #stamps: readonly number[];
  readonly #queues: readonly number[];
  #socket: Socket | null = null;
  #dueAt = 0;
  #text = '';
  #isWaiting = false;

  constructor(api: URL) {
    this.#api = api;
    const text = textOf(shape, api.host, isKeptAlive);
    this.#request = Buffer.from(text, 'latin1');
    this.#stamps = placesOf(text, STAMP);
    this.#queues = placesOf(text, QUEUE);
    if (isKeptAlive) this.#connect(() => release(this));
    else release(this);
  }

  send(dueAt: number): void {
    this.#dueAt = dueAt;
    const stamp = stampOf(dueAt);
    for (const at of this.#stamps) this.#request.write(stamp, at, 'latin1');
    const queue = String(sent % queues).padStart(QUEUE.length, '0');
    for (const at of this.#queues) this.#request.write(queue, at, 'latin1');
    sent += shape.messages;
    this.#isWaiting = true;
    if (isKeptAlive) this.#socket!.write(this.#request);
    else this.#connect(() => this.#socket!.write(this.#request));
  }

  #connect(then: () => void): void {
    const socket = connect({ host: this.#api.hostname, port: Number(this.#api.port) });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('connect', then);
    socket.on('data', (chunk: string) => this.#read(chunk));
    socket.on('error', () => {});
    socket.on('close', () => this.#onClose());
  }

  #read(chunk: string): void {
    this.#text += chunk;
    const end = this.#text.indexOf('\r\n\r\n');
    if (end === -1) return;
    const length = /content-length: *(\d+)/i.exec(this.#text);
    const isWhole = length
      ? this.#text.length >= end + 4 + Number(length[1])
      : /transfer-encoding: *chunked/i.test(this.#text)
        ? this.#text.endsWith('0\r\n\r\n')
        : true;
    if (!isWhole) return;
    if (/^HTTP\/1\.1 2/.test(this.#text)) accepted += shape.messages;
    else {
      refused += shape.messages;
      lastRefusal = this.#text.slice(0, 300);
    }
    answered.add(nowUs() - this.#dueAt);
    this.#text = '';
    this.#isWaiting = false;
    if (isKeptAlive) release(this);
    else this.#socket!.destroy();
  }

  #onClose(): void {
    this.#text = '';
    const at = idle.indexOf(this);
    if (at !== -1) idle.splice(at, 1);
    if (this.#isWaiting) {
      broken += shape.messages;
      this.#isWaiting = false;
    }
    if (!isKeptAlive) release(this);
    else setTimeout(() => this.#connect(() => release(this)), 20);
  }
}

function release(publisher: Publisher): void {
  if (sent >= messagesMax) return;
  if (rate === 0) publisher.send(nowUs());
  else if (waiting.length > 0) publisher.send(waiting.shift()!);
  else idle.push(publisher);
}

/** Once a millisecond: what became due since. */
function tick(startAt: number): void {
  const perUs = rate / shape.messages / 1e6;
  let due = 0;
  setInterval(() => {
    const now = nowUs();
    for (const until = Math.floor((now - startAt) * perUs); due < until; due += 1) {
      const scheduledAt = startAt + due / perUs;
      const dueAt = now - scheduledAt > STALL_US ? scheduledAt : now;
      const publisher = idle.pop();
      if (publisher) publisher.send(dueAt);
      else waiting.push(dueAt);
    }
  }, 1);
}

function say(more: object = {}): void {
  process.stdout.write(
    `${JSON.stringify({ accepted, refused, broken, waiting: waiting.length, lastRefusal, ...more })}\n`,
  );
}

for (let index = 0; index < connections; index += 1) new Publisher(new URL(apis[index % apis.length]!));
if (rate > 0) tick(nowUs());
setInterval(say, 50);
for await (const _ of lines) {
  marks += 1;
  say({ answered: answered.take(), marks });
}
