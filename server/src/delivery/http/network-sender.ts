// The Sender that uses the real network, in the thread that creates it. It signs each delivery, makes the attempt, and
// reports results in batches. It decides nothing about retries.

import { parseTargetUrl, type TargetUrl } from '../../rules/publish/destination.ts';
import { unsendableProblem } from '../../rules/publish/headers.ts';
import { Pool } from '../../runtime/collections/pool.ts';
import { TurnoverMap } from '../../runtime/collections/turnover.ts';
import { Deadlines } from '../../runtime/deadlines.ts';
import { laneMax } from '../../runtime/lane-part.ts';
import type { World } from '../../runtime/world.ts';
import { createDial, type Network, systemNetwork } from '../egress/dial.ts';
import type { EgressPolicy } from '../egress/egress.ts';
import { Lookups } from '../egress/lookups.ts';
import type { Delivery, Sender, SendReport } from '../engine/sender.ts';
import { WireWindow } from '../engine/wire-window.ts';
import { type AttemptOwner, type AttemptWorld, NetworkAttempt } from './attempt.ts';
import { Connections } from './connections.ts';
import { LargeSignatures } from './large-signatures.ts';
import { base64urlOfBytes, type SignatureInput, signatureHeaders, signatureHeadersOnThreads } from './sign.ts';

export interface NetworkSenderOptions {
  readonly world: World;
  readonly policy: EgressPolicy;
  /** Limit for connections to one host and port. An attempt without a connection waits, while its deadline runs. */
  readonly hostConnectionsMax: number;
  /** The prefix of our own headers, such as `Service-`. Without its hyphen it is also the issuer of the signatures. */
  readonly headerPrefix: string;
  readonly network?: Network;
}

/**
 * From this size on, a body is signed on another thread. Signing a smaller body takes less time than handing it over.
 */
const SIGNED_BESIDE_FROM_BYTES = 64 * 1024;

export interface NetworkSender extends Sender {
  /** The shared pools of this thread, by name in the table of budgets. */
  readonly pools: Readonly<Record<'lookups' | 'answers', Pool>>;
}

export function createNetworkSender(options: NetworkSenderOptions): NetworkSender {
  return new SenderHere(options);
}

class SenderHere implements NetworkSender {
  readonly #world: World;
  readonly #signer: Signer;
  readonly #largeSignatures = new LargeSignatures();
  readonly #lookups: Lookups;
  readonly #wire: WireWindow;
  readonly #connections: Connections;
  readonly #means: AttemptWorld;
  readonly pools: NetworkSender['pools'];
  readonly #owner: AttemptOwner = {
    attemptEnded: (lease, startedAt, outcome) => {
      this.#running.delete(lease);
      if (lease !== this.#dropping) this.#report(lease, startedAt, outcome);
    },
    bodyWritten: (lease) => this.#onWritten([lease]),
  };
  readonly #running = new TurnoverMap<string, NetworkAttempt>();
  /** Attempts that have not begun, each with a function that cancels it. */
  readonly #waiting = new Map<string, () => void>();
  #listener: (reports: readonly SendReport[]) => void = () => {};
  #onWritten: (leases: readonly string[]) => void = () => {};
  #ended: SendReport[] = [];
  #isClosed = false;
  /** The lease that is being dropped. The end of its attempt is not reported. */
  #dropping: string | null = null;

  constructor(options: NetworkSenderOptions) {
    const { world, policy, hostConnectionsMax, headerPrefix, network = systemNetwork } = options;
    const { clock } = world;
    this.#world = world;
    this.#signer = new Signer(world, headerPrefix);
    this.#lookups = new Lookups(clock, (hostname) => network.lookup(hostname));
    this.#wire = new WireWindow(clock);
    const dial = createDial({ policy, network, lookups: this.#lookups });
    this.#connections = new Connections({ clock, dial, wire: this.#wire, hostConnectionsMax });
    const answers = new Pool(laneMax('answers'));
    const deadlines = new Deadlines(clock);
    this.#means = { connections: this.#connections, deadlines, wire: this.#wire, answers };
    this.pools = { lookups: this.#lookups.pool, answers };
  }

  send(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.#start(delivery);
  }

  onReports(listener: (reports: readonly SendReport[]) => void): void {
    this.#listener = listener;
  }

  onWritten(listener: (leases: readonly string[]) => void): void {
    this.#onWritten = listener;
  }

  mayStartUntil(untilMs: number): void {
    if (!this.#wire.extend(untilMs)) return;
    this.#giveBackWaiting();
    for (const attempt of this.#running.values()) attempt.dropUnsent();
  }

  drop(leases: readonly string[]): readonly string[] {
    return leases.filter((lease) => this.#drop(lease));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#giveBackWaiting();
    for (const attempt of this.#running.values()) attempt.interrupt('cut off: this server is shutting down');
    await this.#connections.close();
    this.#handOver();
  }

  #start(delivery: Delivery): void {
    if (this.#isClosed) {
      this.#report(delivery.lease, this.#world.clock.now(), 'unsent');
      return;
    }
    const target = parseTargetUrl(delivery.url);
    if ('problem' in target) {
      this.#report(delivery.lease, this.#world.clock.now(), { kind: 'refusedByPolicy', reason: target.problem });
      return;
    }
    const wrong = unsendableProblem(delivery.headers);
    if (wrong !== null) {
      const reason = `the request cannot be sent: ${wrong}`;
      this.#report(delivery.lease, this.#world.clock.now(), { kind: 'refusedByPolicy', reason });
      return;
    }
    if (this.#connections.hasIdle(target)) this.#begin(delivery, target);
    else this.#beginWithLookup(delivery, target);
  }

  /**
   * Waits until the name can be looked up. Until then the attempt has not begun: no deadline runs, and nothing is
   * signed.
   */
  #beginWithLookup(delivery: Delivery, target: TargetUrl): void {
    let hasBegun = false;
    const takeBack = this.#lookups.whenFree(delivery.accountId, target.hostname, () => {
      hasBegun = true;
      this.#waiting.delete(delivery.lease);
      this.#begin(delivery, target);
    });
    if (!hasBegun) this.#waiting.set(delivery.lease, takeBack);
  }

  #begin(delivery: Delivery, target: TargetUrl): void {
    if (delivery.body.length < SIGNED_BESIDE_FROM_BYTES) {
      this.#attempt(delivery, target, this.#signer.signatureOf(delivery));
      return;
    }
    // The attempt begins when the delivery is signed.
    const takeBack = this.#largeSignatures.add({
      accountId: delivery.accountId,
      sign: () => this.#signer.largeSignatureOf(delivery),
      done: (signature) => {
        this.#waiting.delete(delivery.lease);
        this.#attempt(delivery, target, signature);
      },
    });
    this.#waiting.set(delivery.lease, takeBack);
  }

  #attempt(delivery: Delivery, target: TargetUrl, signature: string[]): void {
    const { lease, accountId, method, headers, body, timeoutMs, mustStartBefore } = delivery;
    const attempt = new NetworkAttempt(this.#means, this.#owner, lease, this.#world.clock.now());
    this.#running.set(lease, attempt);
    attempt.start({ accountId, target, method, headers, signature, body, timeoutMs, mustStartBefore });
  }

  #giveBackWaiting(): void {
    for (const [lease, takeBack] of [...this.#waiting]) {
      takeBack();
      this.#waiting.delete(lease);
      this.#report(lease, this.#world.clock.now(), 'unsent');
    }
  }

  /** Returns true if not a byte of the request was written. */
  #drop(lease: string): boolean {
    const takeBack = this.#waiting.get(lease);
    if (takeBack) {
      takeBack();
      return this.#waiting.delete(lease);
    }
    this.#dropping = lease;
    const isUnsent = this.#running.get(lease)?.dropUnsent() ?? false;
    this.#dropping = null;
    return isUnsent;
  }

  #report(lease: string, startedAt: number, outcome: SendReport['outcome']): void {
    const { clock } = this.#world;
    this.#ended.push({ lease, startedAt, endedAt: clock.now(), outcome });
    if (this.#ended.length === 1) clock.soon(() => this.#handOver());
  }

  #handOver(): void {
    if (this.#ended.length === 0) return;
    const reports = this.#ended;
    this.#ended = [];
    this.#listener(reports);
  }
}

/** Shared by all calls, because no call waits while it uses the array. */
const JTI = new Uint8Array(16);

/** Signs requests when they are sent. */
class Signer {
  readonly #world: World;
  readonly #issuer: string;
  readonly #signatureName: string;

  constructor(world: World, headerPrefix: string) {
    this.#world = world;
    this.#issuer = headerPrefix.replace(/-$/, '');
    this.#signatureName = `${headerPrefix}Signature`;
  }

  /** The headers of the signatures: a name, its value, the next name, … */
  signatureOf(delivery: Delivery): string[] {
    return signatureHeaders(this.#signatureName, this.#inputOf(delivery));
  }

  largeSignatureOf(delivery: Delivery): Promise<string[]> {
    const input = this.#inputOf(delivery);
    // If there is no memory for a copy of the body, the body is signed on this thread.
    return signatureHeadersOnThreads(this.#signatureName, input).catch(() =>
      signatureHeaders(this.#signatureName, input),
    );
  }

  #inputOf({ signingKey: key, messageId, url, body }: Delivery): SignatureInput {
    const nowMs = this.#world.clock.machineNow();
    const jti = `jwt_${base64urlOfBytes(this.#world.random.bytes(JTI.length, JTI))}`;
    return { key, issuer: this.#issuer, messageId, url, body, nowMs, jti };
  }
}
