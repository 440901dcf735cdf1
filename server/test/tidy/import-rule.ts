// Who may import whom. The parts of server/src and cli/src are listed here with what each may see; a file that belongs to
// no part is a problem, so that the table cannot fall behind the tree.

import { posix } from 'node:path';
import type { Import } from './source-view.ts';

export const SRC = 'server/src/';
export const CLI = 'cli/src/';

interface Part {
  /** What it may import, besides itself. */
  readonly sees: readonly PartName[];
  /** What it may import with `import type` only. */
  readonly seesTypesOf?: readonly PartName[];
  /** Whether it may use packages and node's own modules. */
  readonly usesPackages: boolean;
}

const PART_NAMES = [
  'shipped files',
  'collections',
  'world',
  'runtime',
  'node internals',
  'rules',
  'lane part',
  'loop turns',
  'address ranges',
  'settings',
  'store port',
  'store',
  'store adapter',
  'store thread',
  'delivery',
  'upkeep',
  'accounts',
  'acks',
  'audit',
  'public tokens',
  'telemetry',
  'publish',
  'inbound',
  'node',
  'cli',
  'cli service',
] as const;
export type PartName = (typeof PART_NAMES)[number];

export const PARTS: Readonly<Record<PartName, Part>> = {
  'shipped files': { sees: [], usesPackages: true },
  collections: { sees: [], usesPackages: false },
  world: { sees: [], usesPackages: true },
  runtime: { sees: ['collections', 'world'], usesPackages: true },
  'node internals': { sees: ['world'], usesPackages: true },
  rules: { sees: ['collections'], usesPackages: false },
  'lane part': { sees: ['rules'], usesPackages: false },
  'loop turns': { sees: ['rules'], seesTypesOf: ['world'], usesPackages: false },
  'address ranges': { sees: [], usesPackages: true },
  settings: { sees: ['rules', 'address ranges'], usesPackages: true },
  'store port': { sees: ['rules'], seesTypesOf: ['world'], usesPackages: false },
  store: {
    sees: ['collections', 'lane part', 'rules', 'store port'],
    seesTypesOf: ['world', 'shipped files'],
    usesPackages: true,
  },
  'store adapter': {
    sees: ['collections', 'lane part', 'node internals', 'rules', 'store port', 'store', 'shipped files'],
    seesTypesOf: ['world'],
    usesPackages: true,
  },
  // A thread begins here, with a world of its own.
  'store thread': {
    sees: ['collections', 'runtime', 'rules', 'store port', 'store', 'store adapter', 'world'],
    usesPackages: true,
  },
  delivery: {
    sees: ['collections', 'runtime', 'lane part', 'node internals', 'rules', 'store port', 'world'],
    seesTypesOf: ['loop turns'],
    usesPackages: true,
  },
  upkeep: { sees: ['collections', 'runtime', 'rules', 'store port', 'world'], usesPackages: true },
  accounts: { sees: ['collections', 'rules', 'store port', 'world'], usesPackages: true },
  acks: { sees: ['rules', 'store port'], usesPackages: true },
  audit: { sees: ['rules', 'store port', 'store'], usesPackages: true },
  'public tokens': { sees: ['accounts', 'store port'], usesPackages: false },
  telemetry: {
    sees: ['node internals', 'rules', 'store port', 'world'],
    seesTypesOf: ['acks', 'delivery'],
    usesPackages: true,
  },
  publish: { sees: ['collections', 'rules', 'store port', 'world'], usesPackages: true },
  inbound: {
    sees: [
      'accounts',
      'address ranges',
      'collections',
      'lane part',
      'node internals',
      'rules',
      'publish',
      'store port',
      'world',
      'telemetry',
    ],
    seesTypesOf: ['acks', 'audit', 'loop turns', 'settings'],
    usesPackages: true,
  },
  node: { sees: PART_NAMES.filter((name) => !name.startsWith('cli')), usesPackages: true },
  // A caller of the API, through the SDK. It shares the settings and the rules.
  cli: { sees: ['cli service', 'shipped files', 'settings', 'rules', 'world', 'public tokens'], usesPackages: true },
  // Runs the service, or opens its store.
  'cli service': {
    sees: [
      'cli',
      'node',
      'shipped files',
      'settings',
      'rules',
      'world',
      'accounts',
      'address ranges',
      'audit',
      'store port',
    ],
    usesPackages: true,
  },
};

/** Files that are a part by themselves, or belong to another part than their folder. */
const FILES: Readonly<Record<string, PartName>> = {
  'index.ts': 'node',
  'shipped-files.ts': 'shipped files',
  'runtime/world.ts': 'world',
  'runtime/lane-part.ts': 'lane part',
  'runtime/loop-turns.ts': 'loop turns',
  'runtime/address-ranges.ts': 'address ranges',
  'accounts/well-known.ts': 'public tokens',
  'store/sqlite/thread/thread.ts': 'store thread',
};

const FOLDERS: Readonly<Record<string, PartName>> = {
  'runtime/collections': 'collections',
  'runtime/node-internals': 'node internals',
  'node/settings': 'settings',
  'store/ports': 'store port',
  'store/sqlite': 'store adapter',
  'store/postgres': 'store adapter',
};

const CONSOLE = 'console/src/';
/** From below: each may see those below it. A folder that is not named is a screen; screens do not see each other. */
const CONSOLE_LAYERS = ['base', 'ui', 'parts', 'screen', 'app'];

/** Why a file of the console may not import another, or null. */
export function wrongLayer(path: string, { specifier }: Import): string | null {
  if (!path.startsWith(CONSOLE) || !specifier.startsWith('.')) return null;
  const [from, to] = [path, posix.join(posix.dirname(path), specifier)].map(
    (file) => file.slice(CONSOLE.length).split('/')[0]!,
  );
  if (from === to || from!.includes('.')) return null;
  const layer = (folder: string) => CONSOLE_LAYERS.indexOf(CONSOLE_LAYERS.includes(folder) ? folder : 'screen');
  return layer(to!) < layer(from!) ? null : `${from}/ may not see ${to}/: what both need belongs below them`;
}

/** The part a path of the repository belongs to, or null when it belongs to none. */
export function partOf(path: string): PartName | null {
  if (path.startsWith(CLI)) return path.startsWith(`${CLI}service/`) ? 'cli service' : 'cli';
  if (!path.startsWith(SRC)) return null;
  const inside = path.slice(SRC.length);
  const named = FILES[inside];
  if (named !== undefined) return named;
  const [folder, ...rest] = inside.split('/');
  if (rest.length === 0) return null;
  const inFolder = FOLDERS[`${folder}/${rest[0]}`];
  if (rest.length > 1 && inFolder !== undefined) return inFolder;
  return PART_NAMES.find((name) => name === folder) ?? null;
}

/** A development dependency, which an installed service does not have. */
const TYPES_ONLY: ReadonlySet<string> = new Set(['typebox']);

/** What is wrong with one import of one file, or null. */
export function wrongImport(path: string, { specifier, isTypeOnly }: Import): string | null {
  const from = partOf(path);
  if (from === null) return null;
  const { sees, seesTypesOf = [], usesPackages } = PARTS[from];
  const target = posix.join(posix.dirname(path), specifier);
  if (TYPES_ONLY.has(specifier) && !isTypeOnly) return `only types may be imported from "${specifier}"`;
  if (!specifier.startsWith('.') || target === 'server/package.json') {
    return usesPackages ? null : `${from} uses no packages and none of node's modules, but imports "${specifier}"`;
  }
  const to = partOf(target);
  if (to === null) return `"${specifier}" belongs to no part of ${SRC} or ${CLI} that can be imported`;
  const isOwn = to === from && (from !== 'store adapter' || adapterOf(target) === adapterOf(path));
  if (isOwn || sees.includes(to)) return null;
  if (seesTypesOf.includes(to)) return isTypeOnly ? null : `${from} may import only types of ${to} ("${specifier}")`;
  return `${from} must not import ${to} ("${specifier}")`;
}

/** `sqlite` of server/src/store/sqlite/files/open.ts: adapters do not know each other. */
function adapterOf(path: string): string | undefined {
  return path.slice(SRC.length).split('/')[1];
}
