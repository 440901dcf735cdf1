import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Member, MemberList } from '../../../src/runtime/collections/member-list.ts';

class Named extends Member {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}

const [a, b, c] = [new Named('a'), new Named('b'), new Named('c')];

function names(list: MemberList<Named>): string {
  return [...list].map(({ name }) => name).join('');
}

test('members stand in the order in which they joined, and leave from anywhere', () => {
  const list = new MemberList<Named>();
  assert.equal(list.first, null);
  for (const member of [a, b, c]) list.add(member);
  assert.equal(names(list), 'abc');
  b.leave();
  assert.equal(names(list), 'ac');
  list.add(b);
  assert.equal(names(list), 'acb');
  a.leave();
  b.leave();
  assert.equal(names(list), 'c');
  assert.equal(list.first, c);
  c.leave();
  c.leave();
  assert.equal(list.first, null);
  list.add(a);
  assert.equal(names(list), 'a');
  a.leave();
});

test('a member that joins again goes to the end, and one that joins another list leaves the first', () => {
  const [one, other] = [new MemberList<Named>(), new MemberList<Named>()];
  for (const member of [a, b, c]) one.add(member);
  one.add(a);
  assert.equal(names(one), 'bca');
  other.add(c);
  assert.equal(names(one), 'ba');
  assert.equal(names(other), 'c');
  one.delete(c);
  assert.equal(names(other), 'c', 'only its own list lets it go');
  for (const member of [a, b, c]) member.leave();
});

test('the member at hand may leave during a walk', () => {
  const list = new MemberList<Named>();
  for (const member of [a, b, c]) list.add(member);
  for (const member of list) member.leave();
  assert.equal(list.first, null);
});

test('nothing happens to a member that another list deletes', () => {
  const [list, other] = [new MemberList<Named>(), new MemberList<Named>()];
  const [first, second] = [new Named('1'), new Named('2')];
  list.add(first);
  list.add(second);
  other.delete(first);
  assert.equal(names(list), '12');
  assert.equal(other.first, null);
  list.delete(new Named('3'));
  assert.equal(names(list), '12');
});
