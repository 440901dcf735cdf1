// The licences of other people's code that is inside a package: each asks that its text goes along with the code.

import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** The folder of the package that a module belongs to; null for a module of our own. */
function packageFolder(module: string): string | null {
  const path = module.replaceAll('\\', '/').replace(/^\0/, '').split('?')[0]!;
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? null;
}

function section(folder: string): [title: string, text: string] {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const [file] = globSync('{LICEN[SC]E,licen[sc]e,Licen[sc]e}*', { cwd: folder }).sort();
  if (file === undefined && license === undefined) throw new Error(`${name} says nothing about its licence`);
  const text = file === undefined ? `It has no file of its licence.` : readFileSync(join(folder, file), 'utf8').trim();
  const quoted = text.replaceAll('\r', '').replaceAll(/^/gm, '> ').replaceAll(/^> $/gm, '>');
  return [`${name} ${version}`, `## ${name} ${version} (${license ?? 'see below'})\n\n${quoted}\n`];
}

/** A page with the licence of each package that any of these modules belongs to, and of what the console is built from. */
export function licencesOf(modules: readonly string[], ofConsole: string): string {
  const folders = new Set(modules.map(packageFolder).filter((folder) => folder !== null && existsSync(folder)));
  const sections = [...folders].map((folder) => section(folder!)).sort(([left], [right]) => (left < right ? -1 : 1));
  return [
    '# Licences of code that is inside this package',
    'The server contains the packages below. The console contains those of the second part.',
    ...sections.map(([, text]) => text),
    '# The console',
    ofConsole.replace(/^# .*\n+/, '').replaceAll(/^## /gm, '## '),
  ].join('\n\n');
}
