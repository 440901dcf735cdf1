// The file of `postrider apply`: reads it as YAML, and reports all its problems in one failure.

import { createReadStream } from 'node:fs';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { collect, unreadableFailure } from '../../frame/read-input.ts';
import type { Io } from '../../frame/terminal.ts';
import { readState, type State } from './desired-state.ts';

const FILE_BYTES_MAX = 10 * 1024 ** 2;
const ALIASES_MAX = 100;
const PROBLEMS_SHOWN_MAX = 20;

/** The state that a file describes. Throws with all problems of the file. */
export async function readFileState(path: string | undefined, io: Io): Promise<State> {
  if (path === undefined)
    throw new Failure('no file is given: use -f <file>, or -f - for standard input', { exit: EXIT.usage });
  const name = fileName(path);
  const read = readState(await valueOfYaml(await readText(path, io), name));
  if ('state' in read) return read.state;
  throw cannotApply(name, read.problems);
}

async function valueOfYaml(text: string, name: string): Promise<unknown> {
  const { parseDocument } = await import('yaml');
  const document = parseDocument(text, { schema: 'core', uniqueKeys: true, prettyErrors: true });
  if (document.errors.length > 0) {
    const lines = [...new Set(document.errors.map(yamlProblem))].map((each) => `\n  - ${each}`);
    const more = lines.length > PROBLEMS_SHOWN_MAX ? `\n  and ${lines.length - PROBLEMS_SHOWN_MAX} more` : '';
    throw new Failure(`${name} cannot be read as YAML:${lines.slice(0, PROBLEMS_SHOWN_MAX).join('')}${more}`, {
      exit: EXIT.usage,
    });
  }
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch (error) {
    throw new Failure(`${name} cannot be read: ${(error as Error).message}`, { exit: EXIT.usage });
  }
}

export const fileName = (path: string) => (path === '-' ? 'standard input' : printable(path));

export function cannotApply(name: string, problems: readonly string[]): Failure {
  const list = problems.map((each) => `\n  - ${each}`).join('');
  return new Failure(`${name} cannot be applied, and nothing was changed:${list}`, { exit: EXIT.usage });
}

function yamlProblem({ code, message }: { readonly code: string; readonly message: string }): string {
  if (code === 'MULTIPLE_DOCS') return 'it has more than one document: put all into one, without lines of "---"';
  return code === 'RESOURCE_EXHAUSTION' ? 'it is nested too deeply' : message.split('\n')[0]!;
}

async function readText(path: string, io: Io): Promise<string> {
  try {
    const source = path === '-' ? io.stdin : (createReadStream(path) as AsyncIterable<Uint8Array>);
    const bytes = await collect(source, FILE_BYTES_MAX, () => new Error('it is larger than 10 MiB'));
    return bytes.toString('utf8');
  } catch (error) {
    throw unreadableFailure(printable(path), error);
  }
}
