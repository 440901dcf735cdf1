// The URL of a database: one server or several, and which of them is used.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDatabaseUrl, SERVERS_MAX, shownDatabase } from '../../../src/rules/nodes/database-url.ts';

function parsed(text: string) {
  const found = parseDatabaseUrl(text);
  assert.ok(!('rule' in found), 'rule' in found ? found.rule : '');
  return found;
}

function ruleOf(text: string): string {
  const found = parseDatabaseUrl(text);
  assert.ok('rule' in found, text);
  return found.rule;
}

test('one server is one URL, which stays as it is', () => {
  for (const url of [
    'postgres://me:secret@db:5432/store',
    'postgresql://db/store?sslmode=verify-full',
    'postgres:///store',
  ]) {
    assert.deepEqual(parsed(url), { servers: [url], target: 'any', options: '' });
  }
});

test('several servers are tried in the given order, and one that can be written to is used', () => {
  const { servers, target } = parsed('postgres://me:a,b%40c@one:5432,two,[::1]:6000/store?sslmode=require');
  assert.deepEqual(servers, [
    'postgres://me:a,b%40c@one:5432/store?sslmode=require',
    'postgres://me:a,b%40c@two/store?sslmode=require',
    'postgres://me:a,b%40c@[::1]:6000/store?sslmode=require',
  ]);
  assert.equal(target, 'read-write');
});

test('what is ours is not given to the driver', () => {
  const url = 'postgres://one,two/store?target_session_attrs=primary&options=-c%20search_path%3Dmine&sslmode=require';
  assert.deepEqual(parsed(url), {
    servers: ['postgres://one/store?sslmode=require', 'postgres://two/store?sslmode=require'],
    target: 'primary',
    options: '-c search_path=mine',
  });
});

test('a parameter that would have no effect, and a server that cannot be written to, are refused', () => {
  assert.match(
    ruleOf('postgres://db/store?schema=mine'),
    /must not have the parameter "schema", which would have no effect/,
  );
  assert.match(ruleOf('postgres://db/store?constructor=1'), /"constructor"/);
  for (const target of ['standby', 'prefer-standby', 'read-only', '', 'constructor']) {
    assert.match(ruleOf(`postgres://db/store?target_session_attrs=${target}`), /read-write, primary or any/);
  }
  assert.match(ruleOf('postgres:///store?host=one,two'), /list them before the path/);
});

test('a list of servers with a hole, too many servers, and what is no URL are refused', () => {
  for (const url of ['postgres://one,/store', 'postgres://,one/store', 'postgres://me@one,,two/store']) {
    assert.match(ruleOf(url), /a host before and after each comma/);
  }
  assert.match(
    ruleOf(`postgres://${Array.from({ length: SERVERS_MAX + 1 }, () => 'one').join()}/store`),
    /at most 16 servers/,
  );
  for (const url of ['mysql://db/store', 'store', '', 'postgres://one:port/store', 'postgres://one:99999,two/store']) {
    assert.match(ruleOf(url), /must be a URL such as postgres:/);
  }
  assert.equal(ruleOf('mysql://db/store'), 'must be a URL such as postgres://user:password@host:5432/database');
  const most = Array.from({ length: SERVERS_MAX }, () => 'one').join();
  assert.equal(parsed(`postgres://${most}/store`).servers.length, SERVERS_MAX);
});

test('people are shown where it is, and no secret', () => {
  assert.equal(shownDatabase('postgres://me:secret@one:5432,two/store?password=secret'), 'one:5432,two/store');
  assert.equal(shownDatabase('postgres:///store?host=/run/postgresql'), 'localhost/store');
});
