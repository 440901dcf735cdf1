// Shows for every rule of the tidy check that it catches a planted violation and leaves its innocent neighbours alone.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { PARTS } from './import-rule.ts';
import { findAllProblems, findProblems, RULE_NAMES, type RuleName, type TextFile } from './rules.ts';
import { viewSource } from './source-view.ts';

const engine = (text: string): TextFile => ({ path: 'server/src/delivery/engine/engine.ts', text });
const at = (path: string, text = ''): TextFile => ({ path, text });
const machinePath = (top: string) => ['', top, 'someone', 'notes'].join('/');

interface Samples {
  readonly bad: readonly TextFile[];
  readonly good: readonly TextFile[];
}

const SAMPLES: Record<RuleName, Samples> = {
  imports: {
    bad: [
      at('server/src/rules/publish/publish.ts', "import type { Store } from '../../store/ports/store.ts';"),
      at('server/src/rules/publish/publish.ts', "import { createHash } from 'node:crypto';"),
      at('server/src/runtime/world.ts', "import { idMaker } from '../rules/requests/id.ts';"),
      at('server/src/store/ports/store.ts', "import { open } from '../sqlite/files/open.ts';"),
      at('server/src/store/ports/store.ts', "import { systemWorld } from '../../runtime/world.ts';"),
      at('server/src/store/sqlite/files/open.ts', "import { rows } from '../../postgres/messages/messages.ts';"),
      at('server/src/store/sqlite/files/open.ts', "import { engine } from '../../../delivery/engine/engine.ts';"),
      engine("import { openSqlite } from '../../store/sqlite/files/open.ts';"),
      engine("import {\n  listen,\n} from '../../inbound/server/listener.ts';"),
      engine("export * from '../../inbound/server/listener.ts';"),
      engine("const late = await import('../../inbound/server/listener.ts');"),
      engine('const late = await import(name);'),
      engine("new Worker(new URL('../../inbound/server/listener.ts', import.meta.url));"),
      engine("import type { Config } from '../../node/settings/config.ts';"),
      engine("import '../../node/main.ts';"),
      engine("import { run } from '../../simulation/run.ts';"),
      at('server/src/upkeep/leases.ts', "import { tokens } from '../accounts/tokens.ts';"),
      at('server/src/accounts/tokens.ts', "import { log } from '../telemetry/log.ts';"),
      at('server/src/telemetry/log.ts', "import { engine } from '../delivery/engine/engine.ts';"),
      at('server/src/inbound/server/listener.ts', "import { engine } from '../../delivery/engine/engine.ts';"),
      at('server/src/inbound/server/listener.ts', "import { parseConfig } from '../../node/settings/config.ts';"),
      at(
        'server/src/inbound/api/routes/topics.ts',
        "import { openSqlite } from '../../../store/sqlite/files/open.ts';",
      ),
      at('server/src/node/settings/config.ts', "import { systemWorld } from '../../runtime/world.ts';"),
      at('server/src/node/main.ts', "import { main } from '../../../cli/src/main.ts';"),
      at('cli/src/service/run.ts', "import { openSqlite } from '../../../server/src/store/sqlite/files/open.ts';"),
      at('cli/src/commands/messages/tail.ts', "import { start } from '../../../../server/src/node/main.ts';"),
      at('server/src/inbound/api/routes/topics.ts', "import Type, { type Static } from 'typebox';"),
    ],
    good: [
      at('server/src/rules/publish/publish.ts', "import { idMaker } from '../requests/id.ts';"),
      at('server/src/runtime/world.ts', "import { randomFillSync } from 'node:crypto';"),
      at('server/src/store/ports/store.ts', "import type { Clock } from '../../runtime/world.ts';"),
      at(
        'server/src/store/sqlite/files/open.ts',
        "import { migrate } from '../../migrations.ts';\nimport fs from 'node:fs';",
      ),
      at('server/src/store/sqlite/files/open.ts', "new URL('../migrations/', import.meta.url)"),
      engine(
        "import { systemWorld } from '../../runtime/world.ts';\nimport type { Store } from '../../store/ports/store.ts';",
      ),
      engine("// import '../../node/main.ts';\nconst text = \"import '../../node/main.ts';\";"),
      at('server/src/inbound/api/routes/topics.ts', "import { tokens } from '../../../accounts/tokens.ts';"),
      at('server/src/inbound/server/listener.ts', "import type { Config } from '../../node/settings/config.ts';"),
      at('server/src/inbound/api/shapes/schema.ts', "import type { TSchema } from 'typebox';"),
      at('server/src/node/main.ts', "import { openSqlite } from '../store/sqlite/files/open.ts';"),
      at('cli/src/service/run.ts', "import { start } from '../../../server/src/node/main.ts';"),
      at('cli/src/frame/output.ts', "new URL('../../../server/package.json', import.meta.url)"),
      at(
        'cli/src/commands/messages/tail.ts',
        "import { parseCron } from '../../../../server/src/rules/schedules/cron.ts';",
      ),
      at('server/test/inbound/x.test.ts', "import { openSqlite } from '../../src/store/sqlite/files/open.ts';"),
    ],
  },
  'console layers': {
    bad: [
      at('console/src/base/session.ts', "import { Icon } from '../ui/icon.tsx';"),
      at('console/src/queues/queue-why.tsx', "import { Timeline } from '../messages/timeline.tsx';"),
      at('console/src/messages/page.tsx', "import { Shell } from '../app/shell.tsx';"),
    ],
    good: [
      at('console/src/app/router.tsx', "import { QueuesScreen } from '../queues/queues-screen.tsx';"),
      at('console/src/queues/queue-why.tsx', "import { WhyBox } from '../parts/why-box.tsx';"),
      at('console/src/parts/payload.tsx', "import { HexView } from './hex-view.tsx';"),
      at('console/src/main.tsx', "import { App } from './app/app.tsx';"),
    ],
  },
  place: {
    bad: [at('server/src/engine.ts'), at('server/src/sender/send.ts')],
    good: [at('server/src/inbound/api/routes/topics.ts'), at('server/src/node/settings/config.ts')],
  },
  time: {
    bad: [
      engine('const at = Date.now();'),
      engine('const clock = Date . now;'),
      engine('const at = new Date();'),
      engine('const at = new Date( ).getTime();'),
      engine('const at = Date();'),
      engine('const at = new Date;'),
      engine('performance.now()'),
      engine('process.hrtime.bigint()'),
      engine('Temporal.Now.instant()'),
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the template is the sample
      engine('const text = `at ${Date.now()}`;'),
    ],
    good: [
      engine('const text = new Date(startedAt).toISOString();'),
      engine('const at = this.clock.now(); // not Date.now()'),
      engine("const text = 'Date.now()';"),
      at('server/src/runtime/world.ts', 'Date.now()'),
      at('server/test/x.test.ts', 'Date.now()'),
    ],
  },
  internals: {
    bad: [
      engine('socket._read(0);'),
      engine('const size = handle.writeQueueSize;'),
      engine('const { _handle } = socket as Inside;'),
      engine('socket.push = take;'),
      engine('socket.destroySoon = () => {};'),
      engine('  override _write(chunk: Buffer): void {}'),
      engine('  _dump(): void {}'),
      engine('const [first] = server.listeners(name);'),
      engine('const stream = log[pino.symbols.streamSym];'),
      engine('client.connection.stream.destroy();'),
      engine('if (response.shouldKeepAlive) return;'),
    ],
    good: [
      engine('const handle = (_event: string) => {}; for (const [, _rest] of all) handle(_rest);'),
      engine('this.#list.push(each); // not socket._read(0)'),
      engine("const text = 'socket._read(0)';"),
      engine('const isSame = one.read === other.read;'),
      at('server/src/runtime/node-internals/socket-bytes.ts', 'socket._read(0);'),
      at('server/test/x.test.ts', 'socket._read(0);'),
    ],
  },
  timers: {
    bad: [
      engine('setTimeout(fire, 10);'),
      engine('globalThis.setTimeout(fire, 10);'),
      engine('const timer = setInterval(fire, 10);'),
      engine('await new Promise((done) => setImmediate(done));'),
    ],
    good: [
      engine('socket.setTimeout(1000);'),
      engine('clearTimeout(timer);'),
      at('server/src/runtime/world.ts', 'setTimeout(fire, 10)'),
    ],
  },
  'timers elsewhere': {
    bad: [
      engine('fetchIt({ signal: AbortSignal.timeout(10) });'),
      engine("import { setTimeout as sleep } from 'node:timers/promises';"),
      engine("import { performance } from 'node:perf_hooks';"),
    ],
    good: [engine("import { join } from 'node:path';")],
  },
  randomness: {
    bad: [
      engine('Math.random()'),
      engine("import { createHmac, randomBytes } from 'node:crypto';"),
      engine("import {\n  randomUUID,\n} from 'crypto';"),
      engine('crypto.randomUUID()'),
      engine('crypto.getRandomValues(bytes)'),
      engine('crypto.randomFillSync(bytes)'),
    ],
    good: [
      engine('world.random.bytes(16)'),
      engine("import { createHmac } from 'node:crypto';"),
      at('server/src/rules/requests/id.ts', 'function idMaker(randomBytes: Bytes) { return randomBytes(16); }'),
      at('server/src/runtime/world.ts', "import { randomFillSync } from 'node:crypto';"),
    ],
  },
  network: {
    bad: [engine('await fetch(url)'), engine('globalThis.fetch (url)'), at('cli/src/main.ts', 'fetch(url)')],
    good: [
      engine('await prefetch(url)'),
      engine('// fetch(url) would follow redirects'),
      at('cli/src/frame/connection.ts', 'await fetch(url)'),
    ],
  },
  environment: {
    bad: [engine('process.env.HOME'), at('cli/src/service/run.ts', 'process . env')],
    good: [at('server/src/node/settings/config.ts', 'process.env'), at('server/test/x.test.ts', 'process.env')],
  },
  'own place': {
    bad: [engine("new URL('./thread.ts', import.meta.url)"), at('cli/src/service/run.ts', 'import . meta . dirname')],
    good: [at('server/src/shipped-files.ts', 'import.meta.url'), at('server/test/x.test.ts', 'import.meta.dirname')],
  },
  'async rules': {
    bad: [
      at('server/src/rules/delivery/settle.ts', 'export async function settle() {}'),
      at('server/src/rules/delivery/settle.ts', 'await later;'),
      at('server/src/rules/delivery/settle.ts', 'type Later = Promise<void>;'),
    ],
    good: [
      at('server/src/rules/delivery/settle.ts', '// never async\nconst isAsyncQueue = true;'),
      engine('async () => {}'),
    ],
  },
  'decision in SQL': {
    bad: [
      at(
        'server/src/store/sqlite/deliveries/accept.ts',
        "db.run('UPDATE messages SET state = iif(due_at > ?, 1, 2)');",
      ),
      at('server/src/store/postgres/deliveries/accept.ts', 'db.run(`UPDATE m\n SET state = CASE WHEN a THEN b END`);'),
      at('server/src/store/postgres/deliveries/accept.ts', "db.run('UPDATE m SET due_at = greatest($1, due_at)');"),
      at('server/src/store/sqlite/deliveries/accept.ts', "db.run('UPDATE m SET window_count = max(0, window_count)');"),
      at(
        'server/src/store/sqlite/deliveries/accept.ts',
        "db.run('SELECT 1 FROM k WHERE window_start_at + period_ms < ?');",
      ),
      at('server/src/store/sqlite/deliveries/accept.ts', "db.run('SELECT ? - parallelism FROM queues');"),
      at('server/src/store/resources/queues.ts', "yield* get('SELECT ? - parallelism FROM queues', [1]);"),
      // What is on the list must be there.
      at('server/src/store/sqlite/deliveries/message-sql.ts', "db.run('SELECT 1');"),
    ],
    good: [
      at(
        'server/src/store/sqlite/deliveries/accept.ts',
        "db.run('SELECT count(*), max(seq) FROM m WHERE due_at <= ? LIMIT ?');",
      ),
      at(
        'server/src/store/sqlite/deliveries/accept.ts',
        'const at = row.due_at + 1; // CASE\nconst last = Math.max(0, at_count - 1);',
      ),
      at(
        'server/src/store/sqlite/deliveries/message-sql.ts',
        "const READY = 'ready_at = iif(attempts = 0, ?1, ready_at)';",
      ),
      at('server/src/store/move.ts', "const text = 'In any CASE, max(a, b)';"),
    ],
  },
  'columns in SQL': {
    bad: [
      at('server/src/store/postgres/deliveries/accept.ts', "db.all('SELECT * FROM queues');"),
      at('server/src/store/postgres/deliveries/accept.ts', 'db.all(`SELECT\n  q.*, q.line_at FROM queues q`);'),
      at('server/src/store/sqlite/deliveries/accept.ts', "db.all('SELECT 0 AS shard, * FROM usage');"),
      at('server/src/store/sqlite/deliveries/accept.ts', "db.all('DELETE FROM queues RETURNING *');"),
      at('server/src/store/sqlite/deliveries/accept.ts', "db.run('INSERT INTO queues VALUES (?, ?)');"),
      at('server/src/store/sqlite/deliveries/accept.ts', "db.run('INSERT OR IGNORE INTO queues VALUES (?, ?)');"),
      at('server/src/store/postgres/deliveries/accept.ts', 'db.run(`INSERT INTO queues AS q SELECT a FROM b`);'),
      at('server/src/store/postgres/deliveries/accept.ts', `db.run(\`INSERT INTO \${table} SELECT a FROM b\`);`),
      at('server/src/store/postgres/deliveries/accept.ts', "db.all('SELECT a FROM b NATURAL JOIN c');"),
      at('server/src/store/postgres/deliveries/accept.ts', "db.all('SELECT row_to_json(q) FROM queues q');"),
      at('server/src/store/postgres/deliveries/accept.ts', "db.exec('COPY queues FROM STDIN');"),
      // What is on the list must be there.
      at('server/src/store/sqlite/move.ts', "db.all('SELECT t.* FROM b t');"),
    ],
    good: [
      at('server/src/store/postgres/deliveries/accept.ts', "db.get('SELECT count(*) AS n, a * b FROM queues');"),
      at(
        'server/src/store/postgres/deliveries/accept.ts',
        "db.run('INSERT INTO queues AS q (a, b) SELECT a, b FROM c');",
      ),
      at('server/src/store/postgres/deliveries/accept.ts', `db.run(\`INSERT INTO \${table} (a) VALUES ($1)\`);`),
      at(
        'server/src/store/postgres/deliveries/accept.ts',
        "db.run('SELECT 1 FROM json_to_recordset($1::json) AS r (a int)');",
      ),
      at('server/src/store/move.ts', "const text = 'SELECT * FROM nothing';"),
      at('server/src/store/sqlite/deliveries/accept.ts', '// SELECT * would read too much'),
    ],
  },
  sql: {
    bad: [
      engine("db.run('SELECT 1');"),
      engine('db.run(`INSERT OR IGNORE INTO messages`);'),
      engine("db.run('UPDATE messages SET state = 1');"),
      engine("db.run('DELETE FROM messages');"),
      at('server/src/store/migrations.ts', "db.run('CREATE TABLE migrations (id)');"),
      at('server/src/store/ports/store.ts', "db.run('PRAGMA user_version');"),
    ],
    good: [
      at('server/src/store/sqlite/deliveries/accept.ts', "db.run('INSERT INTO messages');"),
      at('server/src/store/resources/topics.ts', "yield* get('SELECT id FROM topics', []);"),
      engine("// no SELECT here\nconst text = 'Select an update, set it aside, delete it from here.';"),
    ],
  },
  'open table': {
    bad: [
      engine("const ORDERS: Readonly<Record<string, Order>> = { newestFirst: 'down' };"),
      engine('const found: Record<string, string[]> = {};'),
      engine('const makers: Record<string, (to: string) => { readonly made: number }> = {};'),
      engine('const words: { readonly [name: string]: string } = { a };'),
      engine("const order = ({ newestFirst: 'down' } as Record<string, string>).order;"),
      engine('const order = (ORDERS as Readonly<Record<string, string>>)[name];'),
      engine('const tier = TIERS[name as TierName];'),
      engine('if (name in ORDERS) go();'),
      at('sdk/src/calls.ts', 'const made: Readonly<Partial<Record<string, number>>> = { a: 1 };'),
      at('console/src/parts/filter.ts', 'const found: Record<string, string> = {};'),
    ],
    good: [
      engine("const ORDERS: ReadonlyMap<string, Order> = new Map([['newestFirst', 'down']]);"),
      engine('const found: Record<string, string[]> = Object.create(null);'),
      engine('const PROBLEMS = { bad: [400] } as const satisfies Record<string, readonly [number]>;'),
      engine('const TIERS: Readonly<Record<TierName, Tier>> = { free };'),
      engine('function headersOf(): Record<string, string> { const made = {}; return made; }'),
      engine("if ('value' in parsed || #open in it) for (const key in parsed) go(key);"),
      engine('type Config = { readonly [K in SettingKey]: string };'),
      engine('const first = rows[0] as Row; const [second] = [rows[1] as Row];'),
      at('console/src/queues/page.tsx', '<p>A queue delivers in order</p>'),
      at('server/test/x.test.ts', 'const found: Record<string, string> = {};'),
    ],
  },
  any: {
    bad: [
      engine('const x = y as any;'),
      engine('let x: any;'),
      engine('const m = new Map<any, string>();'),
      at('server/test/x.test.ts', 'const x = y as any;'),
    ],
    good: [engine("const text = 'x as any'; // as any\nconst company: anything = 1;"), engine('a ? b : any(c)')],
  },
  'silenced types': {
    bad: [engine('// @ts-ignore\nx();'), engine('/* @ts-nocheck */')],
    good: [engine("const text = '@ts-ignore'; // @ts-expect-error the wrong type is the test")],
  },
  eval: {
    bad: [engine('eval(text)'), at('server/bin/x.js', 'new Function(text)')],
    good: [engine('medieval(text); // eval(text)')],
  },
  console: {
    bad: [engine("console.log('here')"), engine("console.error('here')")],
    good: [at('cli/src/service/run.ts', "console.log('ready')"), at('server/bin/postrider.js', "console.log('x')")],
  },
  'drawer name': {
    bad: [
      at('server/src/rules/delivery/types.ts'),
      at('server/src/http/string-utils.ts'),
      at('server/src/core/engine.ts'),
      at('server/test/helpers.ts'),
      at('server/test/http/common.test.ts'),
    ],
    good: [at('server/src/rules/delivery/score.ts'), at('server/src/rules/delivery/prototypes.ts')],
  },
  markup: {
    bad: [
      at('console/src/ui/code.tsx', 'const a = <p dangerouslySetInnerHTML={{ __html: text }} />;'),
      at('console/src/ui/code.tsx', 'element.innerHTML = text;'),
    ],
    good: [at('console/src/ui/code.tsx', '// not dangerouslySetInnerHTML\nconst a = <p>{text}</p>;')],
  },
  'service from the page': {
    bad: [at('console/src/app/app.tsx', "import { parseCron } from '../../../server/src/rules/schedules/cron.ts';")],
    good: [
      at('console/src/app/app.tsx', "import { createClient } from 'postrider-sdk';"),
      at('console/test/service.ts', "import { startPostrider } from '../../server/src/node/main.ts';"),
    ],
  },
  'function length': {
    bad: [
      engine(`function f() {\n${'x();\n'.repeat(79)}}\n`),
      engine(`const f = async (a: string) => {\n${'x();\n'.repeat(79)}};\n`),
      engine(`class A {\n  f(): void {\n${'x();\n'.repeat(79)}}\n}\n`),
      engine(`function f(\n${'  a,\n'.repeat(78)}) {\n}\n`),
      at('console/src/a.tsx', `export function A() {\n  return <b>\n${'<i />\n'.repeat(77)}</b>;\n}\n`),
    ],
    good: [
      engine(`function f() {\n${'x();\n'.repeat(78)}}\n`),
      engine(`class A {\n${'  f(): void {}\n'.repeat(90)}}\n`),
      engine(`// Made from another file.\nfunction f() {\n${'x();\n'.repeat(90)}}\n`),
      at('server/test/x.test.ts', `function f() {\n${'x();\n'.repeat(90)}}\n`),
    ],
  },
  'opening comment': {
    bad: [engine("import { x } from './x.ts';"), at('server/src/store/sqlite/migrations/0001-core.sql', 'BEGIN;')],
    good: [
      engine('// Claims and sends.\n'),
      engine('/* Claims and sends. */'),
      at('server/src/store/sqlite/migrations/0001-core.sql', '-- The tables.'),
    ],
  },
  'wall time': {
    bad: [
      at('server/test/rules/schedules/cron.test.ts', 'const startedAt = performance.now();'),
      at('server/test/outside/a.test.ts', 'await new Promise((resolve) => setTimeout(resolve, 20));'),
      at('sdk/test/a.test.ts', "import { setTimeout as wait } from 'node:timers/promises';"),
      at('console/test/a.test.ts', 'await page.waitForTimeout(300);'),
    ],
    good: [
      at('server/test/support/wait.ts', 'setTimeout(resolve, 3);'),
      at('server/test/lanes/frozen.test.ts', 'const thawsAt = performance.now() + FROZEN_MS;'),
      at(
        'server/test/outside/a.test.ts',
        "await waitFor('the end', () => isOver);\nconst text = 'setTimeout(go, 10)';",
      ),
    ],
  },
  skips: {
    bad: [
      at('server/test/a.test.ts', "test('x', { skip: !existsSync('/dev/full') }, () => {});"),
      at('server/test/a.test.ts', "test('x', {\n  skip: isWindows && 'no such thing here',\n}, () => {});"),
      at('server/test/a.test.ts', "const skip = !isOnPostgres && 'it is for PostgreSQL';"),
      at('server/test/a.test.ts', "if (isMissing) return t.skip('not here');"),
      at('sdk/test/a.test.ts', "test('x', { skip: true }, () => {});"),
      at('sdk/test/a.test.ts', 'return t.skip();'),
    ],
    good: [
      at('server/test/a.test.ts', "test('x', { skip: lacks('linux', 'cc') }, () => {});"),
      at(
        'server/test/a.test.ts',
        "test('x', { skip: onlySqlite }, () => {});\nconst options = { skip: noShim(), a: 1 };",
      ),
      at('server/test/a.test.ts', "if (isMissing) return t.skip(whySkipped('bun'));"),
      at('server/test/a.test.ts', "test('x', { skip: needs && lacks(needs) }, () => {});"),
      at('console/test/a.test.ts', 'if (IN_BROWSER.skip) return;'),
    ],
  },
  'machine path': {
    bad: [
      at('docs/operations.md', `see ${machinePath('home')}`),
      engine(`const file = '${machinePath('root')}';`),
      at('package.json', `{"x":"${machinePath('work')}"}`),
    ],
    good: [at('docs/api.md', `see https://example.com${machinePath('home')} and ./x${machinePath('work')}`)],
  },
};

for (const name of RULE_NAMES) {
  suite(`the rule "${name}"`, () => {
    for (const file of SAMPLES[name].bad) {
      test(`catches ${JSON.stringify(file.text.slice(0, 80))} in ${file.path}`, () => {
        const problems = findProblems(name, file);
        assert.equal(problems.length, 1, problems.join('\n'));
      });
    }
    for (const file of SAMPLES[name].good) {
      test(`allows ${JSON.stringify(file.text.slice(0, 80))} in ${file.path}`, () => {
        assert.deepEqual(findProblems(name, file), []);
      });
    }
  });
}

test('a problem names its file and line', () => {
  const [problem] = findProblems('time', engine('// one\n/* two\n three */\nconst at = Date.now();'));
  assert.equal(problem, 'server/src/delivery/engine/engine.ts:4 Date.now: time comes from the World');
});

test('reading no file at all is a problem, once for every part of the tree', () => {
  assert.equal(findAllProblems([]).length, Object.keys(PARTS).length);
});

test('a part of the tree without a file is a problem', () => {
  assert.ok(findAllProblems([engine('// x')]).includes('no file of the part "store adapter" was read'));
  assert.ok(!findAllProblems([engine('// x')]).includes('no file of the part "delivery" was read'));
});

suite('the view of a source', () => {
  const code = (source: string) => viewSource(source).code.replaceAll(/ +/g, ' ');

  test('leaves out comments and what stands in strings', () => {
    assert.equal(code(`a('b // c') // d`), `a(' ') `);
    assert.equal(code('a /* b\n c */ d'), 'a \n d');
    assert.equal(code(`a("it's", 'say "x"')`), `a(" ", ' ')`);
    assert.equal(code(`a('\\'', b)`), `a(' ', b)`);
  });

  test('keeps the code inside templates, however deep', () => {
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: templates are what is looked at
    assert.equal(code('`x ${a({ b: `y ${c} z` })} w` + d'), '` ${a({ b: ` ${c} ` })} ` + d');
    assert.equal(code('`$x \\` \\${y}` + a'), '` ` + a');
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: templates are what is looked at
  });

  test('tells a regular expression from a division', () => {
    assert.equal(code('a = /[\'"]/g.test(b)'), 'a = / .test(b)');
    assert.equal(code("a / b / c; d('e')"), "a / b / c; d(' ')");
    assert.equal(code("return /[/'] x/; d"), 'return / ; d');
    assert.equal(code("(a + b) / 2; c = '/'"), "(a + b) / 2; c = ' '");
  });

  test('has as many lines and characters as the source', () => {
    const source = "// a\nconst b = `c\nd`; /* e\n f */ 'g'";
    const view = viewSource(source);
    for (const text of Object.values(view)) {
      assert.equal(text.length, source.length);
      assert.equal(text.split('\n').length, 4);
    }
  });
});
