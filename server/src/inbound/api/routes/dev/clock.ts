// The clock of the service, in development only: shows its time, and lets a test move it.

import type { Claim } from '../../../../rules/delivery/message.ts';
import {
  type ManualClockOrder,
  type ManualClockOrderBody,
  type ManualClockOrderResult,
  readManualClockOrder,
} from '../../../../rules/time/clock-order.ts';
import type { Principal } from '../../../../store/ports/access-store.ts';
import type { Api, RouteContext } from '../../api.ts';
import { ApiError } from '../../errors.ts';
import { ClockAnswer } from '../../shapes/answers.ts';
import Type from '../../shapes/schema.ts';

/** A clock that callers of the API can move. */
export interface MovableClock {
  readonly isRunning: boolean;
  /** The time at which the current advance ends. Null when there is none. */
  readonly advancingTo: number | null;
  underWay(): readonly Claim[];
  /** Carries out an order. An advance ends early when `signal` aborts, because its caller has disconnected. */
  carryOut(order: ManualClockOrder, signal: AbortSignal): Promise<ManualClockOrderResult>;
}

/** Limit for the running attempts that a response names. */
const NAMED_MAX = 100;

const Duration = (description: string) => Type.Optional(Type.Union([Type.String(), Type.Number()], { description }));

const Order = Type.Object(
  {
    advance: Duration('How far: a duration such as 1h, or seconds.'),
    advanceTo: Duration('To which instant: an ISO date such as 2030-01-01T00:00:00Z, or milliseconds since 1970.'),
    freeze: Type.Optional(Type.Literal(true, { description: 'Stops the clock.' })),
    run: Type.Optional(Type.Literal(true, { description: 'The clock runs from now on, as fast as real time.' })),
    wait: Duration('How long an advance waits for one attempt, in real time. Default: 10s.'),
  },
  { additionalProperties: false },
);

/** `clockControl` is null when the clock is the real one. */
export function clockRoutes(
  api: Api,
  { world }: Pick<RouteContext<unknown>, 'world'>,
  clockControl: MovableClock | null,
): void {
  /** A token without the scope `admin` sees only the messages of its own account. */
  const shown = (all: readonly Claim[], { account, token }: Principal) => {
    const underWay = all.filter(({ message }) => token.scopes.includes('admin') || message.accountId === account.id);
    return {
      now: world.clock.now(),
      clock: clockControl === null ? 'real' : clockControl.isRunning ? 'running' : 'frozen',
      ...(clockControl && clockControl.advancingTo !== null && { advancingTo: clockControl.advancingTo }),
      underWay: underWay.slice(0, NAMED_MAX).map(({ message: { id, url, claimedAt } }) => ({
        messageId: id,
        url,
        ...(claimedAt !== null && { since: claimedAt }),
      })),
      underWayCount: underWay.length,
    };
  };

  api.add({
    method: 'GET',
    path: '/v2/dev/clock',
    scope: 'read',
    summary: 'The current time of the service, and the running attempts',
    answer: ClockAnswer,
    isRead: false,
    handle: async ({ principal }) => shown(clockControl?.underWay() ?? [], principal),
  });

  api.add({
    method: 'POST',
    path: '/v2/dev/clock',
    audit: 'none',
    storesNothing: true,
    scope: 'manage',
    summary: 'Move, stop or start a manual clock',
    body: Order,
    answer: ClockAnswer,
    handle: async ({ principal, body, reply }) => {
      if (!clockControl) {
        throw new ApiError(
          'clock_not_manual',
          'the clock of this service is the real one; start it with: postrider dev --clock manual',
        );
      }
      const order = readManualClockOrder(body as ManualClockOrderBody);
      if ('problem' in order) throw new ApiError(order.problem.code, order.problem.message);
      const gone = new AbortController();
      const { socket } = reply.raw.req;
      const leave = () => gone.abort();
      // When a caller has closed its side, we cannot know whether it still waits. So the advance ends.
      socket.once('end', leave);
      reply.raw.once('close', () => {
        socket.off('end', leave);
        leave();
      });
      const result = await clockControl.carryOut(order, gone.signal);
      if (result.kind === 'refused') throw new ApiError(result.problem.code, result.problem.message);
      return shown(result.underWay, principal);
    },
  });
}
