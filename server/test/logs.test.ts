// docs/logs.md explains each line that the service may write, and no other.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { linesOf, logLines } from './support/log-lines.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Texts that a call gets from elsewhere: by the file and the expression of the call. */
const FROM_ELSEWHERE: Readonly<Record<string, readonly (readonly [level: string, text: string, file: string])[]>> = {
  'server/src/runtime/node-internals/log-lines.ts: String(msg)': [
    ['info', 'attempt', 'server/src/telemetry/attempt-line.ts'],
  ],
  'server/src/node/open-store.ts: warning': [
    [
      'warn',
      '… is open to other users of this machine and belongs to one of them: run chmod 600 on it',
      'server/src/store/sqlite/files/directory.ts',
    ],
    [
      'warn',
      'the data directory … is open to other users of this machine. Its permissions were not changed, because it …: give postrider a directory of its own, or run chmod 700 on this one',
      'server/src/store/sqlite/files/directory.ts',
    ],
  ],
  'server/src/node/main.ts: text': [
    [
      'warn',
      'the admin token of the settings is not one of this store: only the first start on an empty store takes it over. Make others with postrider token create --admin',
      'server/src/accounts/first-token.ts',
    ],
    [
      'warn',
      'the store has an admin token already, so none was made and … was not written',
      'server/src/accounts/first-token.ts',
    ],
  ],
  // What the database says is in the page in words.
  'server/src/store/postgres/sessions/link.ts: text': [],
};

interface Row {
  readonly level: string;
  readonly text: string;
  readonly fields: string;
}

const rows: readonly Row[] = [...read('docs/logs.md').matchAll(/^\| (\w+) \| `([^`]+)` \|([^|]*)\| .*\|$/gm)].map(
  ([, level, text, fields]) => ({ level: level!, text: text!, fields: fields! }),
);
const found = logLines();
const nameOf = ({ level, text }: { readonly level: string; readonly text: string | null }) => `${level} ${text}`;

test('the page explains each line in the sources, and each line of the page is in the sources', () => {
  assert.ok(found.length > 40);
  const unsaid = found.filter(({ text }) => text === null).map(({ file, expression }) => `${file}: ${expression}`);
  assert.deepEqual(unsaid.toSorted(), Object.keys(FROM_ELSEWHERE).toSorted());
  const elsewhere = Object.values(FROM_ELSEWHERE).flat();
  for (const [, text, file] of elsewhere) {
    const source = read(file).replaceAll(/' \+\s*['`]|` \+\s*['`]/g, '');
    for (const part of text.split('…')) assert.ok(source.includes(part), `${file}: ${part}`);
  }
  const written = new Set([
    ...found.filter(({ text }) => text !== null).map(nameOf),
    ...elsewhere.map(([level, text]) => nameOf({ level, text })),
  ]);
  const explained = new Set(rows.map(nameOf));
  assert.deepEqual([...written.difference(explained)], [], 'missing in docs/logs.md');
  assert.deepEqual([...explained.difference(written)], [], 'docs/logs.md has what is not in the sources');
  assert.equal(explained.size, rows.length, 'a line is explained twice');
});

test('the page names the fields of each line', () => {
  for (const line of found) {
    const row = rows.find((each) => nameOf(each) === nameOf(line));
    for (const field of line.fields) assert.ok(row?.fields.includes(`\`${field}\``), `${line.text}: ${field}`);
  }
});

test('a line that is written in another way is found as well', () => {
  const source = `
    log.warn({ account, why: reasonOf({ a: 1 }) }, \`a \${kind} is \` + 'late');
    options.log('error', {}, isThere ? GONE : 'it is back');
    this.#options.log.info(fields, text);
    const GONE = 'it is ' +
      'gone';
    // log.info({}, 'in a comment');
    const example = "log.info({}, 'in a text')";
    Math.log(2);
  `;
  assert.deepEqual(
    linesOf('x.ts', source).map(({ level, text, fields }) => [level, text, fields.join()]),
    [
      ['warn', 'a … is late', 'account,why'],
      ['info', null, ''],
      ['error', 'it is gone', ''],
      ['error', 'it is back', ''],
    ],
  );
});
