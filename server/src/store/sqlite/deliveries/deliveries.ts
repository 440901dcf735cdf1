// The delivery port over SQLite. If a message is due at accept and a slot is free, the message is leased to the engine
// at once. Such a message is written only twice (accepted, settled) and never read back.

import type { NewMessage } from '../../../rules/delivery/message.ts';
import { NO_SLOTS } from '../../../rules/delivery/slots.ts';
import { ENDED_LANE } from '../../../rules/limits/lanes.ts';
import type { NodeDescription } from '../../../rules/nodes/node.ts';
import type { Clock } from '../../../runtime/world.ts';
import type { AcceptResult, DeliveryStore } from '../../ports/delivery-store.ts';
import type { Cancelling } from '../../shared/cancelling.ts';
import { type AcceptReply, acceptResult, mayBeRefused } from '../../shared/commands.ts';
import type { Inbox } from '../../shared/inbox.ts';
import type { StandingOffer } from '../../shared/standing-offer.ts';
import type { Calls } from '../thread/calls.ts';
import { parkedText } from '../thread/parked-text.ts';

export interface DeliveriesOptions {
  readonly calls: Calls;
  readonly offer: StandingOffer;
  readonly inbox: Inbox;
  readonly cancelling: Cancelling;
  readonly clock: Clock;
  readonly node: string;
  readonly about: NodeDescription;
  readonly shownAs?: ShownNode | undefined;
}

/** This node as people see it. */
export interface ShownNode {
  readonly id: string;
  readonly startedAt: number;
}

export function createDeliveries(options: DeliveriesOptions): DeliveryStore {
  const { calls, offer, cancelling, clock, node } = options;
  return {
    accept: accepting(options),
    offer: (limits) => offer.offer(limits),
    onClaims: (listener) => offer.onClaims(listener),
    claimDue: (now) =>
      offer.claimDue(now, async ({ parked, ...limits }, leasePrefix) => {
        const given = { limits: { ...limits, parked: NO_SLOTS.parked }, parked: parkedText(parked) };
        const reply = await calls.ask('claim', { node, now, leasePrefix, ...given });
        if (reply.claims.length > 0) calls.news.noteJournal();
        if (reply.hasMore) calls.hintAtLeftMessages();
        return reply;
      }),
    settle: settling(options),
    release: async (leases, now) => (await calls.ask('release', leases, node, now)).overtaken,
    expireMessages: async (expirations, now) => (await calls.ask('expireMessages', expirations, now)).expired,
    onWork: (listener) => offer.onWork(listener),
    onCancel: (listener) => cancelling.onCancel(listener),
    cancelledClaims: () => calls.ask('cancelledClaims', node),
    orphanedClaims: (asker, stoodStill = false) =>
      calls.ask('orphanedClaims', { asker, nowMs: clock.monotonicMs(), stoodStill }),
    async strayClaims(limit) {
      const leases = await calls.ask('leasesOf', node, limit);
      return leases.filter((lease) => !offer.keeps(lease));
    },
    claimAlone(now) {
      const holder = offer.leaseHolder();
      return offer.leasing(holder, () => calls.ask('claimAlone', holder, now));
    },
    recovery: () => calls.ask('recovery'),
    ...heartbeatAndNodes(options),
    storedTime: () => calls.ask('storedTime'),
    // Other code watches the disk and the files (upkeep/disk.ts, upkeep/files.ts).
    whyNotWritable: async () => null,
  };
}

function accepting({ calls, offer, inbox, node }: DeliveriesOptions): DeliveryStore['accept'] {
  return (messages: readonly NewMessage[], now: number, dayMax: number | null = null): Promise<AcceptResult> =>
    // A single promise and no `then`, to save time: this code runs for each publish.
    new Promise((resolve, reject) => {
      const bytes = inbox.take(messages);
      const isLeased = !mayBeRefused(messages, dayMax);
      const leases = messages.map((message) => (isLeased ? offer.leaseFor(message, now) : null));
      const command = { messages, leases, node, now, dayMax };
      const onReply = (reply: AcceptReply) => {
        try {
          inbox.give(messages, bytes);
          offer.confirm(messages, leases, reply, now);
          calls.tell('accept', reply, command);
          resolve(acceptResult(reply));
        } catch (error) {
          reject(error);
        }
      };
      const onError = (error: Error) => {
        inbox.give(messages, bytes);
        offer.drop(leases);
        reject(error);
      };
      calls.writer.callThen('accept', [command], onReply, onError);
    });
}

function settling({ calls, offer }: DeliveriesOptions): DeliveryStore['settle'] {
  return async (settlements, now, { takesOver = [], canWait = false } = {}) => {
    const successors = offer.successorLeases(takesOver);
    // If ready messages wait for slots, the settlement is not delayed, because it frees some.
    const asked =
      canWait && offer.isCaughtUp(now)
        ? calls.writer.callSometime('settle', settlements, now, successors)
        : calls.writer.call('settle', settlements, now, successors);
    const written = async () => {
      const reply = await asked;
      offer.handOn(reply.claims);
      return reply;
    };
    const reply = await (successors ? offer.leasing(successors, written) : written());
    calls.tell('settle', reply, settlements, now, successors);
    return reply.results;
  };
}

/** The list of nodes has only this process: the file belongs to one process, and its lanes are not listed. */
function heartbeatAndNodes({ calls, clock, node, about, shownAs }: DeliveriesOptions) {
  const shown = shownAs ?? { id: node, startedAt: clock.now() };
  let aliveUntil = clock.now();
  return {
    async heartbeat(id, ttlMs, time) {
      const aliveUntilMs = ttlMs === 0 ? ENDED_LANE : clock.monotonicMs() + ttlMs;
      const kept = await calls.ask('heartbeat', id, aliveUntilMs, time ?? null);
      if (id === node) aliveUntil = clock.now() + ttlMs;
      return { kept, wallAt: null };
    },
    listNodes: async () => [{ ...about, ...shown, aliveUntil, isAlive: aliveUntil > clock.now() }],
  } satisfies Partial<DeliveryStore>;
}
