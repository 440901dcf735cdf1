// A message that was in flight alone at three crashes: how it is shown, released and cancelled over the API.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { INTERRUPTED_ALONE, limits, settlementOf } from '../../conformance/given.ts';
import { claimBeside } from '../../support/claim-due.ts';
import { type MessageView, type Rider, refusal, startRider } from '../../support/harness.ts';
import { startReceiver } from '../../support/receiver.ts';

const HOUR = 3_600_000;

/** As if three processes had died while it was the only one in flight. */
async function hold(rider: Rider, messageId: string): Promise<void> {
  const { store } = rider.postrider;
  const now = rider.clock.now() + HOUR;
  for (let crash = 0; crash < 3; crash += 1) {
    // While the engine asks, a claim of ours would be answered with nothing.
    await rider.quiet();
    const claims = await claimBeside(store, now, limits());
    const claim = claims.find(({ message }) => message.id === messageId)!;
    await store.settle([settlementOf(claim, INTERRUPTED_ALONE, now)], now);
  }
}

async function startWithHeld(t: Parameters<typeof startRider>[0]) {
  const receiver = await startReceiver(t);
  const rider = await startRider(t);
  const messageId = await rider.accepted(receiver.url, { queue: 'q', headers: { 'Service-Delay': '1h' } });
  await hold(rider, messageId);
  return { receiver, rider, messageId };
}

/** The events of a message are the same, whether it is asked for by its id or found in the list of all. */
async function sameEvents(rider: Rider, messageId: string, state: string): Promise<void> {
  type Page = { readonly events: readonly { readonly messageId: string; readonly state: string }[] };
  const read = (query: string) => rider.manage<Page>('GET', `/v2/events?${query}`);
  const told = ({ events }: Page) =>
    events.filter((event) => event.messageId === messageId).map((event) => event.state);
  const named = told(await read(`messageId=${messageId}`));
  assert.deepEqual(named.toSorted(), told(await read('')).toSorted());
  assert.equal(named.filter((each) => each === state).length, 1);
}

test('a held message is shown with the reason: in reads, lists, counts, why and events', async (t) => {
  const { rider, messageId } = await startWithHeld(t);
  const shown = (await rider.message(messageId)) as MessageView & { heldAt: number; heldReason: string };
  assert.equal(shown.state, 'HELD');
  assert.equal(shown.heldAt, rider.clock.now() + HOUR);
  assert.match(shown.heldReason, /the server crashed 3 times in a row while only this message was in flight/);
  const { messages } = await rider.manage<{ messages: MessageView[] }>('GET', '/v2/messages?state=HELD');
  assert.deepEqual(
    messages.map((message) => message.messageId),
    [messageId],
  );
  const why = await rider.manage<{ reason: string; text: string }>('GET', `/v2/messages/${messageId}/why`);
  assert.equal(why.reason, 'held');
  assert.match(why.text, /release it to try again, or cancel it/);
  const overview = await rider.manage<{ held: number; queues: { held: number }[] }>('GET', '/v2/overview');
  assert.deepEqual([overview.held, overview.queues[0]!.held], [1, 1]);
  const { events } = await rider.manage<{ events: { state: string }[] }>(
    'GET',
    `/v2/events?messageId=${messageId}&state=HELD`,
  );
  assert.deepEqual(
    events.map(({ state }) => state),
    ['HELD'],
  );
  await rider.advance(6000);
  assert.match((await rider.call('GET', '/metrics', { token: null })).text, /^postrider_messages_held 1$/m);
});

test('POST /v2/messages/{id}/release lets it go on; the next of its queue waits until then', async (t) => {
  const { rider, receiver, messageId } = await startWithHeld(t);
  const behind = await rider.accepted(receiver.url, { queue: 'q', headers: { 'Service-Delay': '1h' } });
  await rider.advance(2 * HOUR);
  assert.equal(receiver.arrivals.length, 0);
  assert.deepEqual(await rider.manage('POST', `/v2/messages/${messageId}/release`), { released: 1 });
  const arrivals = await receiver.received(2);
  assert.deepEqual(
    arrivals.map((arrival) => arrival.header('Service-Message-Id')),
    [messageId, behind],
  );
  assert.equal((await rider.ended(messageId)).state, 'DELIVERED');
  await rider.ended(behind);
  await sameEvents(rider, messageId, 'RELEASED');
  refusal(await rider.call('POST', `/v2/messages/${messageId}/release`), 409, 'not_held');
});

test('it cannot be delivered at once, but cancelled; an unknown one cannot be released', async (t) => {
  const { rider, messageId } = await startWithHeld(t);
  refusal(await rider.call('POST', `/v2/messages/${messageId}/retry`), 409, 'message_held');
  refusal(await rider.call('POST', '/v2/messages/msg_none/release'), 404, 'message_not_found');
  assert.deepEqual(await rider.manage('DELETE', '/v2/messages?queueName=q'), { cancelled: 1 });
  assert.equal((await rider.message(messageId)).state, 'CANCELLED');
  await sameEvents(rider, messageId, 'CANCELLED');
});
