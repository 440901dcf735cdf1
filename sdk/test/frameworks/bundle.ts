// One module of a file and of all that it imports, for runtimes that read no TypeScript.

import { join } from 'node:path';
import { rolldown } from 'rolldown';

const ROOT = join(import.meta.dirname, '..', '..', '..');

export async function bundled(file: string): Promise<string> {
  const build = await rolldown({ cwd: ROOT, input: file, platform: 'browser' });
  const { output } = await build.generate({ format: 'esm' });
  await build.close();
  return output[0].code;
}
