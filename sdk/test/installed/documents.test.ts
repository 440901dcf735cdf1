// The code of the SDK's documents: every block is compiled, strictly, against the packages that it names.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { installed, programFolder } from '../../../packaging/installed.ts';

const ROOT = join(import.meta.dirname, '..', '..', '..');
const PAGES = ['sdk/README.md', 'docs/sdk.md', 'docs/sdk-from-qstash.md', 'docs/guides/long-jobs.md'];
const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const POSTRIDER = `import { Postrider } from 'postrider-sdk';
const postrider = new Postrider({ baseUrl: 'https://postrider.example.com', token: 'token' });
`;

test('every block of TypeScript in the documents of the SDK compiles', async (t) => {
  const folder = programFolder(await installed(join(import.meta.dirname, 'frameworks')));
  t.after(() => rmSync(folder, { recursive: true }));
  const files = PAGES.flatMap((page) => {
    const text = readFileSync(join(ROOT, page), 'utf8');
    return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code = ''], index) => {
      const name = `${page.replaceAll(/\W/g, '-')}-${index}.ts`;
      const isAlone = /\bpostrider\b(?!-)/.test(code) && !code.includes('new Postrider(');
      writeFileSync(join(folder, name), `${isAlone ? POSTRIDER : ''}${code}\nexport {};\n`);
      return name;
    });
  });
  assert.ok(files.length > 20, `${files.length} blocks`);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    module: 'nodenext',
    target: 'es2024',
    noEmit: true,
  };
  const more = { allowImportingTsExtensions: true, skipLibCheck: true, lib: ['es2025', 'dom'], types: ['node'] };
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { ...compilerOptions, ...more }, files }),
  );
  const { stdout } = spawnSync(process.execPath, [TSC, '-p', folder], { encoding: 'utf8' });
  assert.equal(stdout, '');
});
