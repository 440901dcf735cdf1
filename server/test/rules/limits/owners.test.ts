import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Owner, Owners } from '../../../src/rules/limits/owners.ts';
import { Member } from '../../../src/runtime/collections/member-list.ts';

class Connection extends Member {
  readonly name: string;
  constructor(name: string) {
    super();
    this.name = name;
  }
}

/** So many connections of the owner, those of `closable` waiting for a request. */
function open(owners: Owners<Connection>, owner: Owner<Connection>, count: number, closable: readonly string[] = []) {
  for (let made = 0; made < count; made += 1) owners.change(owner, 1);
  for (const name of closable) owner.closable.add(new Connection(name));
}

const NO_LIMIT = 1000;

test('the connection to close is the one that has waited longest, of the account with the most', () => {
  const owners = new Owners<Connection>();
  open(owners, owners.account('few'), 2, ['few 1']);
  open(owners, owners.account('many'), 3, ['many 1', 'many 2']);
  assert.equal(owners.firstToClose(NO_LIMIT)?.name, 'many 1');
  owners.account('many').closable.first!.leave();
  assert.equal(owners.firstToClose(NO_LIMIT)?.name, 'many 2');
});

test('an account whose connections are all in use is passed over, and the next one is looked at', () => {
  const owners = new Owners<Connection>();
  open(owners, owners.account('busy'), 9);
  open(owners, owners.account('idle'), 1, ['idle 1']);
  assert.equal(owners.firstToClose(NO_LIMIT)?.name, 'idle 1');
  assert.equal(new Owners<Connection>().firstToClose(0), null);
});

test('the account with the most changes when connections end', () => {
  const owners = new Owners<Connection>();
  const [first, second] = [owners.account('first'), owners.account('second')];
  open(owners, first, 3, ['first 1']);
  open(owners, second, 2, ['second 1']);
  for (const _ of [1, 2]) owners.change(first, -1);
  assert.equal(owners.firstToClose(NO_LIMIT)?.name, 'second 1');
  owners.change(first, 1);
  owners.change(first, 1);
  assert.equal(owners.firstToClose(NO_LIMIT)?.name, 'first 1');
});

test('callers without an account go first while they have more than their part, and last otherwise', () => {
  const owners = new Owners<Connection>();
  open(owners, owners.account('account'), 5, ['account 1']);
  open(owners, owners.network('192.0.2.0/24'), 2, ['network 1']);
  open(owners, owners.network('198.51.100.0/24'), 1);
  assert.equal(owners.unknownConnections, 3);
  assert.equal(owners.firstToClose(2)?.name, 'network 1');
  assert.equal(owners.firstToClose(3)?.name, 'account 1');
  owners.account('account').closable.first!.leave();
  assert.equal(owners.firstToClose(3)?.name, 'network 1', 'no request of an account is given up');
  owners.network('192.0.2.0/24').closable.first!.leave();
  owners.account('account').closable.add(new Connection('account 2'));
  assert.equal(owners.firstToClose(2)?.name, 'account 2', 'no network has a connection to close');
});

test('an account and a network of the same name are two owners, and one without connections is forgotten', () => {
  const owners = new Owners<Connection>();
  const account = owners.account('same');
  assert.equal(owners.account('same'), account);
  assert.notEqual(owners.network('same'), account);
  assert.deepEqual([account.isKnown, owners.network('same').isKnown], [true, false]);
  owners.change(account, 1);
  assert.deepEqual([account.connections, owners.unknownConnections], [1, 0]);
  assert.equal(owners.account('same'), account);
  owners.change(account, -1);
  assert.equal(account.list, null, 'nothing holds it any more');
  assert.notEqual(owners.account('same'), account);
  // Its connection may come again.
  owners.change(account, 1);
  assert.equal(owners.account('same'), account);
});

test('the owner with the most unread bytes is an account, unless callers without one have more than their part', () => {
  const owners = new Owners<Connection>();
  assert.equal(owners.mostUnread(0), null);
  const [little, much] = [owners.account('little'), owners.account('much')];
  const [first, second] = [owners.network('first'), owners.network('second')];
  for (const owner of [little, much, first, second]) owners.change(owner, 1);
  assert.equal(owners.mostUnread(0), null, 'nobody has any');
  little.unreadBytes = 10;
  much.unreadBytes = 50;
  first.unreadBytes = 20;
  second.unreadBytes = 30;
  assert.equal(owners.mostUnread(50), much);
  assert.equal(owners.mostUnread(49), second);
  second.unreadBytes = 60;
  assert.equal(owners.mostUnread(80), second);
  much.unreadBytes = 60;
  assert.equal(owners.mostUnread(80), much, 'of equal ones, the one that came first');
});
