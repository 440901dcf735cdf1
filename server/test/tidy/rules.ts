// The project's own rules as pure functions over files: each rule says which files it reads and what it finds in one.
// CONTRIBUTING.md gives the reason for each.

import { basename } from 'node:path';
import { functionsOver } from './function-length.ts';
import { CLI, PARTS, type PartName, partOf, SRC, wrongImport, wrongLayer } from './import-rule.ts';
import { findImports, type SourceView, viewSource } from './source-view.ts';
import { findUnnamedColumns } from './sql-columns-rule.ts';
import { findSqlDecisions } from './sql-decision-rule.ts';
import { findWallTime, isTestFile } from './wall-time-rule.ts';

export interface TextFile {
  /** From the root of the repository, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

interface Finding {
  /** Where in the text; -1 for the file as a whole. */
  readonly at: number;
  readonly message: string;
}

interface Rule {
  readonly reads: (path: string) => boolean;
  readonly find: (file: TextFile, view: SourceView) => Finding[];
}

const FUNCTION_LINES_MAX = 80;

const isSource = (path: string) => /^(?:server|cli|sdk|console)\/src\/.*\.(?:tsx?|sql)$/.test(path);
const isPage = (path: string) => /^console\/src\/.*\.tsx?$/.test(path);
/** Of the service and of the command, which runs it. */
const isSourceCode = (path: string) => [SRC, CLI].some((folder) => path.startsWith(folder)) && path.endsWith('.ts');
const isCode = (path: string) => /^(?:server|cli|sdk|console)\/.*\.(?:tsx?|js)$/.test(path);
const isCodeBeside = (file: string) => (path: string) => isSourceCode(path) && path !== SRC + file;
const isRule = (path: string) => isSourceCode(path) && partOf(path) === 'rules';
const hasSql = (path: string) => /^server\/src\/store\/(?:sqlite|postgres|resources)\/.*\.ts$/.test(path);
const isService = (path: string) => path.startsWith(SRC) && path.endsWith('.ts');

/** A rule that forbids what a pattern matches in one view of a file. */
function ban(reads: Rule['reads'], view: keyof SourceView, pattern: RegExp, message: string): Rule {
  return {
    reads,
    find: (_file, views) =>
      [...views[view].matchAll(pattern)].map((match) => ({
        at: match.index,
        message: `${match[0].replaceAll(/\s+/g, ' ').trim()}: ${message}`,
      })),
  };
}

/**
 * A look-up by a string finds what every object inherits, too: `constructor` is a function. The compiler lets a string
 * into brackets only where a type says that any string will do, or where a cast says it: those are what is looked for.
 */
function findOpenTables({ path }: TextFile, { code }: SourceView): Finding[] {
  const finding = (at: number, what: string) => ({
    at,
    message: `${what}: use a Map, Object.create(null) or Object.hasOwn; an object literal has names that nobody wrote`,
  });
  const tables = [
    ...code.matchAll(/\bRecord\s*<\s*string\b|\{\s*(?:readonly\s+)?\[\w+\s*:\s*string\s*\]\s*:/g),
  ].flatMap(({ index }) => {
    const before = code.slice(0, index).replace(/(?:\b(?:Readonly|Partial)\s*<\s*)*$/, '');
    const after = code.slice(endOfType(code, index)).replace(/^[\s>]*/, '');
    if (/:\s*$/.test(before) && /^=\s*\{/.test(after))
      return [finding(index, 'an object literal that any string opens')];
    if (/\}\s*as\s+$/.test(before)) return [finding(index, 'an object literal that any string opens')];
    if (/\bas\s+$/.test(before) && /^\)\s*\[/.test(after)) return [finding(index, 'a look-up behind a cast')];
    return [];
  });
  const keys = [...code.matchAll(/(?<=[\w$)\]])\[[^[\]\n]*\bas\s+(?!const\b)\w+/g)].map(({ index }) =>
    finding(index, 'a string cast to a key'),
  );
  // In a page, "in" is a word of the text as well.
  const questions = path.endsWith('.tsx')
    ? []
    : [...code.matchAll(/(?<!\bfor\s*\(\s*(?:const|let)\s+)(?<![#[])\b[\w$]+\s+in\s+[\w$(]/g)].map(({ index }) =>
        finding(index, '"in" with a name that is not written out'),
      );
  return [...tables, ...keys, ...questions];
}

/** Behind the bracket that closes the first one opened at or behind `at`. */
function endOfType(code: string, at: number): number {
  let depth = 0;
  for (let i = at; i < code.length; i += 1) {
    if (code[i] === '<' || code[i] === '{') depth += 1;
    else if (code[i] === '}' || (code[i] === '>' && code[i - 1] !== '=')) {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return code.length;
}

/** Calls of the global function, not of a method that happens to have its name (`socket.setTimeout`). */
const TIMERS = /(?:\bglobalThis\s*\.\s*|(?<![.\w$]\s*))(?:setTimeout|setInterval|setImmediate)\b/g;

/**
 * Members that begin with an underscore, methods of streams that are replaced, symbols of packages, and names that are not in the
 * documentation of Node.js.
 */
const INTERNALS = new RegExp(
  [
    String.raw`(?<=\.\s*)_[a-z]\w*`,
    String.raw`^ *(?:override )?(?:async )?_\w+\(`,
    String.raw`\b_handle\b`,
    String.raw`\.\s*(?:push|read|write|end|emit|on|off|pause|resume|destroy|destroySoon)\s*=(?!=|>)`,
    String.raw`\bpino\s*\.\s*symbols\b|\bgetOwnPropertySymbols\b`,
    String.raw`\.\s*(?:listeners|rawListeners)\s*\(`,
    String.raw`\bprocess\s*\.\s*binding\b`,
    String.raw`\b(?:httpAllowHalfOpen|shouldKeepAlive|writeQueueSize|readableFlowing|outputData)\b`,
    String.raw`\bconnection\s*\.\s*stream\b`,
  ].join('|'),
  'gm',
);

export const RULES = {
  imports: {
    reads: isSourceCode,
    find: (file, view) => [
      ...findImports(file.text, view).flatMap((found) => {
        const message = wrongImport(file.path, found);
        return message === null ? [] : [{ at: found.at, message }];
      }),
      ...[...view.code.matchAll(/\bimport\s*\(\s*[^'"\s]/g)].map(({ index }) => ({
        at: index,
        message: 'import() of a computed name cannot be checked: name the file',
      })),
    ],
  },
  'console layers': {
    reads: isPage,
    find: (file, view) =>
      findImports(file.text, view).flatMap((found) => {
        const message = wrongLayer(file.path, found);
        return message === null ? [] : [{ at: found.at, message }];
      }),
  },
  place: {
    reads: isSourceCode,
    find: ({ path }) =>
      partOf(path) === null ? [{ at: -1, message: 'belongs to no part of the tree: see tidy/import-rule.ts' }] : [],
  },
  time: ban(
    isCodeBeside('runtime/world.ts'),
    'code',
    /\bDate\s*\.\s*now\b|(?<![.\w$])Date\s*\(\s*\)|\bnew\s+Date\s*(?=[;,)])|\bTemporal\s*\.\s*Now\b|\bperformance\s*\.\s*now\b|\bprocess\s*\.\s*hrtime\b/g,
    'time comes from the World',
  ),
  timers: ban(
    // It has a method of that name, as every socket.
    (path) => isCodeBeside('runtime/world.ts')(path) && path !== `${SRC}runtime/node-internals/wrapped-socket.ts`,
    'code',
    TIMERS,
    'timers come from the World',
  ),
  'timers elsewhere': ban(
    isCodeBeside('runtime/world.ts'),
    'codeAndText',
    /\bAbortSignal\s*\.\s*timeout\b|\bfrom\s*['"](?:node:)?(?:timers|timers\/promises|perf_hooks)['"]/g,
    'timers come from the World',
  ),
  randomness: ban(
    isCodeBeside('runtime/world.ts'),
    'codeAndText',
    /\bMath\s*\.\s*random\b|\.\s*(?:random(?:Bytes|UUID|Fill|FillSync|Int)|getRandomValues)\b|\bimport\s*\{[^}]*\brandom\w+[^}]*\}\s*from\s*['"](?:node:)?crypto['"]/g,
    'randomness comes from the World',
  ),
  network: ban(
    // The command is a caller of the API, not the service.
    (path) => isCodeBeside('runtime/world.ts')(path) && path !== `${CLI}frame/connection.ts`,
    'code',
    /\bfetch\s*\(/g,
    'requests go out through the sender, behind its egress guard',
  ),
  environment: ban(
    isCodeBeside('node/settings/config.ts'),
    'code',
    /\bprocess\s*\.\s*env\b/g,
    'a setting belongs into the table of node/settings/config.ts',
  ),
  'own place': ban(
    isCodeBeside('shipped-files.ts'),
    'code',
    /\bimport\s*\.\s*meta\b/g,
    'a bundle moves the code: shipped-files.ts knows where files lie',
  ),
  internals: ban(
    (path) => isSourceCode(path) && partOf(path) !== 'node internals',
    'code',
    INTERNALS,
    'what Node.js and packages do inside is used in runtime/node-internals/ alone, behind a self-test',
  ),
  'async rules': ban(isRule, 'code', /\b(?:async|await|Promise)\b/g, 'a rule decides; it never waits'),
  sql: ban(
    (path) => isSourceCode(path) && !hasSql(path),
    'codeAndText',
    /\bSELECT\b|\bINSERT\s+(?:OR\s+\w+\s+)?INTO\b|\bUPDATE\b[^;'"`]*\bSET\b|\bDELETE\s+FROM\b|\b(?:CREATE|DROP|ALTER)\s+(?:UNIQUE\s+)?(?:TABLE|INDEX)\b|\bPRAGMA\b/g,
    'SQL belongs into store/<adapter>/, or store/resources/ if both databases speak it',
  ),
  'decision in SQL': {
    reads: hasSql,
    find: ({ path }, view) => findSqlDecisions(path, view),
  },
  'columns in SQL': {
    reads: hasSql,
    find: ({ path }, view) => findUnnamedColumns(path, view),
  },
  'open table': { reads: isSource, find: findOpenTables },
  any: ban(isCode, 'code', /\bas\s+any\b|:\s*any\b(?!\s*\()|<\s*any\b/g, 'give it its type, or `unknown` and a check'),
  'silenced types': ban(isCode, 'comments', /@ts-(?:ignore|nocheck)\b/g, 'repair the type'),
  eval: ban(isCode, 'code', /(?<![.\w$])eval\s*\(|\bnew\s+Function\b/g, 'text is never run as code'),
  markup: ban(
    isPage,
    'code',
    /\bdangerouslySetInnerHTML\b|\b(?:inner|outer)HTML\b|\binsertAdjacentHTML\b|\bdocument\s*\.\s*write\b/g,
    'what a message contains is text',
  ),
  'service from the page': ban(
    isPage,
    'codeAndText',
    /\bfrom\s*['"][^'"]*server\/[^'"]*['"]/g,
    'the console knows the API only, through the SDK',
  ),
  console: ban(isService, 'code', /\bconsole\s*\.\s*\w+/g, 'only cli/ writes to the terminal; others have the log'),
  'drawer name': {
    reads: isCode,
    find: ({ path }) => {
      const drawer = /^(?:.*-)?(?:utils?|helpers?|common|types|services|managers?|core)$/;
      const names = [...path.split('/').slice(1, -1), basename(path).replace(/\..*$/, '')];
      return names
        .filter((name) => drawer.test(name))
        .map((name) => ({ at: -1, message: `"${name}" says nothing: name the thing it defines or the verb it does` }));
    },
  },
  'function length': {
    reads: (path) => isSource(path) && !path.endsWith('.sql'),
    find: ({ path, text }) =>
      text.startsWith('// Made from ')
        ? []
        : functionsOver(FUNCTION_LINES_MAX, path, text).map(({ at, lines }) => ({
            at,
            message: `a function of ${lines} lines: over ${FUNCTION_LINES_MAX} it is several steps that have names`,
          })),
  },
  'opening comment': {
    reads: isSource,
    find: ({ path, text }) => {
      const opens = path.endsWith('.sql') ? /^--/ : /^(?:\/\/|\/\*)/;
      return opens.test(text) ? [] : [{ at: -1, message: 'opens without saying what it is responsible for' }];
    },
  },
  'wall time': {
    reads: isTestFile,
    find: ({ path }, { code }) => findWallTime(path, code),
  },
  // CI tells what may be skipped by the reason.
  skips: ban(
    isTestFile,
    'code',
    /\bskip(?:: | = |\()(?!(?:\w+ && )?(?:lacks|whySkipped)\(|(?!true\b)[\w.]+(?:\(\))?\s*[,;)}])[^\n]*/g,
    'the reason of a skip is a row of server/test/support/machine.ts',
  ),
  'machine path': {
    reads: () => true,
    find: ({ text }) =>
      [...text.matchAll(/(?<![\w.:/-])\/(?:work|root|home|Users)\//g)].map(({ index }) => ({
        at: index,
        message: 'a path of one machine means nothing on another',
      })),
  },
} satisfies Record<string, Rule>;

export type RuleName = keyof typeof RULES;
export const RULE_NAMES = Object.keys(RULES) as readonly RuleName[];

/** What one rule finds in one file, as `path:line message`. */
export function findProblems(name: RuleName, file: TextFile, view: SourceView = viewOf(file)): string[] {
  const rule: Rule = RULES[name];
  if (!rule.reads(file.path)) return [];
  return rule.find(file, view).map(({ at, message }) => {
    const line = at < 0 ? '' : `:${file.text.slice(0, at).split('\n').length}`;
    return `${file.path}${line} ${message}`;
  });
}

/** All problems of all files. A part of the tree in which no file was read is one too: it means the check is blind. */
export function findAllProblems(files: readonly TextFile[]): string[] {
  const unread = (Object.keys(PARTS) as PartName[])
    .filter((part) => !files.some(({ path }) => partOf(path) === part))
    .map((part) => `no file of the part "${part}" was read`);
  const found = files.flatMap((file) => {
    const view = viewOf(file);
    return RULE_NAMES.flatMap((name) => findProblems(name, file, view));
  });
  return [...unread, ...found];
}

function viewOf({ path, text }: TextFile): SourceView {
  return isCode(path) ? viewSource(text) : { code: '', codeAndText: '', comments: '' };
}
