// The guard at work: names, literal addresses, and the far end of the socket. All on this machine.

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createDial, type Network, systemNetwork } from '../../../src/delivery/egress/dial.ts';
import type { EgressPolicy } from '../../../src/delivery/egress/egress.ts';
import { Lookups } from '../../../src/delivery/egress/lookups.ts';
import { answerWith, OK, startReceiver } from '../http/receivers.ts';
import { manualClock, policyOf, startSender, until } from '../http/senders.ts';

const noName = async () => [];

/** A name server that knows these names only. */
function namesAre(names: Readonly<Record<string, readonly string[]>>): Network & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    connect,
    async lookup(hostname) {
      asked.push(hostname);
      const addresses = names[hostname];
      if (addresses === undefined) throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
      return addresses;
    },
  };
}

test('a name is delivered to when all its addresses are allowed', async (t) => {
  const receiver = await startReceiver(t, answerWith(OK));
  const network = namesAre({ 'good.test': ['127.0.0.1'] });
  const { outcome } = startSender(t, { network });
  const answer = await outcome({ url: `http://good.test:${receiver.port}/` });
  assert.equal(answer.kind === 'answered' && answer.status, 200);
});

test('a name is refused when any one of its addresses is', async (t) => {
  const receiver = await startReceiver(t, answerWith(OK));
  for (const addresses of [
    ['127.0.0.1', '10.0.0.1'],
    ['10.0.0.1', '127.0.0.1'],
    ['127.0.0.1', '127.0.0.1', 'fd00::1'],
  ]) {
    const { outcome } = startSender(t, {
      network: namesAre({ 'mixed.test': addresses }),
      policy: policyOf('127.0.0.1'),
    });
    const answer = await outcome({ url: `http://mixed.test:${receiver.port}/` });
    assert.ok(answer.kind === 'refusedByPolicy');
    assert.match(
      answer.reason,
      /^refused by the egress guard: mixed\.test resolves to an address that is not allowed$/,
    );
    assert.match(answer.detail ?? '', /not allowed: (10\.0\.0\.1|fd00::1) is a (private|unique local) address/);
  }
  assert.equal(receiver.connectionCount, 0);
});

test('literal addresses are judged too, in whatever spelling', async (t) => {
  const receiver = await startReceiver(t, answerWith(OK));
  const network = namesAre({});
  const { outcome } = startSender(t, { policy: { allowed: [], own: [] }, network });
  for (const host of [
    '127.0.0.1',
    '0x7f.1',
    '2130706433',
    '0177.0.0.1',
    '127.1',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    '[::1]',
  ]) {
    const answer = await outcome({ url: `http://${host}:${receiver.port}/` });
    assert.equal(answer.kind, 'refusedByPolicy', host);
  }
  assert.equal(receiver.connectionCount, 0);
  assert.deepEqual(network.asked, []);
});

test('a socket that ends up at another address than was judged is refused, before a byte is sent', async (t) => {
  let receivedBytes = 0;
  const elsewhere = await startReceiver(
    t,
    (socket) => socket.on('data', (bytes) => (receivedBytes += bytes.length)),
    undefined,
    '127.0.0.2',
  );
  const network: Network = {
    lookup: async () => ['127.0.0.1'],
    connect: ({ port }) => connect({ host: '127.0.0.2', port }),
  };
  const { outcome } = startSender(t, { network, policy: policyOf('127.0.0.1') });
  const answer = await outcome({ url: `http://rebound.test:${elsewhere.port}/` });
  assert.deepEqual(answer, {
    kind: 'refusedByPolicy',
    reason: 'refused by the egress guard: rebound.test resolves to an address that is not allowed',
    detail:
      'refused by the egress guard: rebound.test resolves to an address that is not allowed: 127.0.0.2 is a loopback address',
  });
  assert.equal(elsewhere.connectionCount, 1);
  assert.equal(receivedBytes, 0);
});

test('the connection is made to the judged addresses, without asking the name server again', async (t) => {
  const receiver = await startReceiver(t, answerWith(OK));
  const network = namesAre({ 'once.test': ['127.0.0.1'] });
  const { outcome } = startSender(t, { network });
  await outcome({ url: `http://once.test:${receiver.port}/` });
  assert.deepEqual(network.asked, ['once.test']);
});

test('with several addresses the next is tried when one refuses', async (t) => {
  const receiver = await startReceiver(t, answerWith(OK), undefined, '127.0.0.3');
  const { outcome } = startSender(t, { network: namesAre({ 'two.test': ['127.0.0.2', '127.0.0.3'] }) });
  const answer = await outcome({ url: `http://two.test:${receiver.port}/` });
  assert.equal(answer.kind, 'answered');
});

test('when all addresses refuse, each is named to the operator, and the name to the account', async (t) => {
  const { outcome } = startSender(t, { network: namesAre({ 'dead.test': ['127.0.0.2', '127.0.0.3'] }) });
  assert.deepEqual(await outcome({ url: 'http://dead.test:9/' }), {
    kind: 'unreachable',
    reason: 'connection refused by dead.test:9',
    detail: 'connection refused by 127.0.0.2:9; connection refused by 127.0.0.3:9',
  });
});

test('our own listen address is refused once it is known, unless allowed', async (t) => {
  const receiver = await startReceiver(t, answerWith(OK));
  const listening = { ip: '127.0.0.1', port: receiver.port };
  const guarded: EgressPolicy = { allowed: [], own: [] };
  const dial = createDial({ policy: guarded, network: systemNetwork, lookups: new Lookups(manualClock(), noName) });
  guarded.own = [listening];
  const target = { protocol: 'http:', hostname: '127.0.0.1', port: receiver.port } as const;
  await assert.rejects(dial(target, 'acc_1', new AbortController().signal), /refused by the egress guard/);

  const policy = policyOf('127.0.0.1');
  policy.own = [listening];
  const { outcome } = startSender(t, { policy });
  assert.equal((await outcome({ url: receiver.url })).kind, 'answered');
});

test('a name that does not exist is unreachable, not refused', async (t) => {
  const { outcome } = startSender(t, { network: namesAre({ 'empty.test': [] }) });
  const unknown = await outcome({ url: 'http://no.such.host/' });
  assert.deepEqual(unknown, { kind: 'unreachable', reason: 'name not found: no.such.host' });
  const empty = await outcome({ url: 'http://empty.test/' });
  assert.deepEqual(empty, { kind: 'unreachable', reason: 'name not found: empty.test' });
});

test('the real name server is asked when none is put in its place', async () => {
  assert.ok((await systemNetwork.lookup('localhost')).length > 0);
});

test('an attempt that times out while connecting stops connecting', async (t) => {
  let dialled: ReturnType<typeof connect> | null = null;
  const network: Network = {
    lookup: async () => ['127.0.0.1'],
    // A socket that never gets anywhere, as towards a host that swallows packets.
    connect: () => {
      dialled = connect({ host: 'void.test', port: 1, lookup: () => {} });
      return dialled;
    },
  };
  const { outcome, clock } = startSender(t, { network });
  const answer = outcome({ url: 'http://void.test/', timeoutMs: 1_000 });
  await until(() => dialled !== null);
  clock.advance(1_000);
  assert.deepEqual(await answer, { kind: 'timedOut', timeoutMs: 1_000 });
  await until(() => dialled?.destroyed === true);
});
