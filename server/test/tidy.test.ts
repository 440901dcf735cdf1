// Holds the project to its own rules, which no linter knows: who imports whom, where time, chance, SQL and settings
// may come from, and how files are named. The rules and their planted violations are in tidy/.

import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { findAllProblems, type TextFile } from './tidy/rules.ts';

const root = join(import.meta.dirname, '..', '..');

/** The names in .gitignore: it holds whole folders and suffixes only, which is all this understands. */
function ignoredNames(): (name: string) => boolean {
  const lines = readFileSync(join(root, '.gitignore'), 'utf8').split('\n').filter(Boolean);
  const folders = new Set(['.git', ...lines.map((line) => line.replace(/\/$/, ''))]);
  const suffixes = lines.filter((line) => line.startsWith('*')).map((line) => line.slice(1));
  return (name) => folders.has(name) || suffixes.some((suffix) => name.endsWith(suffix));
}

function textFiles(): TextFile[] {
  const isIgnored = ignoredNames();
  const walk = (folder: string): TextFile[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (isIgnored(entry.name)) return [];
      if (entry.isDirectory()) return walk(path);
      const text = entry.isFile() ? readFileSync(join(root, path), 'utf8') : '\0';
      return text.includes('\0') ? [] : [{ path, text }];
    });
  return walk('');
}

test('the project keeps its own rules', () => {
  const problems = findAllProblems(textFiles());
  assert.equal(problems.length, 0, `\n${problems.join('\n')}\n`);
});

test('whatever is exported is used by the product, not by tests alone', () => {
  const code = textFiles().filter(({ path }) =>
    /^(bench|cli\/src|sdk\/src|console\/src|server\/(src|bin|scripts))\/.*\.[jt]sx?$/.test(path),
  );
  const unused = code
    // The SDK offers every call of the API to its users.
    .filter(({ path }) => /\/src\//.test(path) && !/(?:\/index|^sdk\/src\/calls)\.ts$/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/^export (?:async )?(?:function\*?|const|class) (\w+)/gm)]
        .map(([, name]) => name!)
        .filter((name) => {
          const use = new RegExp(`\\b${name}\\b`, 'g');
          return (
            (text.match(use) ?? []).length < 2 && !code.some((other) => other.path !== path && use.test(other.text))
          );
        })
        .map((name) => `${path}: ${name}`),
    );
  assert.deepEqual(unused, []);
});

test('every link from one document to a file leads to one', () => {
  const broken = textFiles()
    // The page of the benchmark is a form: docs/performance.md is made from it, and its links are meant from there.
    .filter(({ path }) => path.endsWith('.md') && path !== 'bench/page.md')
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\]\(([^)\s#]+)[^)]*\)/g)]
        .map(([, target]) => target!)
        .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(root, dirname(path), target)))
        .map((target) => `${path}: ${target}`),
    );
  assert.deepEqual(broken, []);
});

test('no package that the service needs runs a script when it is installed', () => {
  interface Locked {
    readonly hasInstallScript?: boolean;
    readonly dev?: boolean;
  }
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, Locked>>;
  };
  const { allowScripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    allowScripts: Readonly<Record<string, boolean>>;
  };
  const scripted = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  assert.deepEqual(
    scripted.filter(([, { dev }]) => !dev).map(([path]) => path),
    [],
  );
  assert.deepEqual(
    scripted.map(([path]) => path.replace(/^.*node_modules\//, '')).sort(),
    Object.keys(allowScripts).sort(),
  );
});
