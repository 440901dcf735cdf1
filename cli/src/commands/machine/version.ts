// `postrider version`.

import { VERSION } from '../../../../server/src/version.ts';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';

export async function version({ out }: Invocation): Promise<number> {
  if (out.isJson)
    out.json({ version: VERSION, node: process.versions.node, platform: `${process.platform}-${process.arch}` });
  else out.line(VERSION);
  return EXIT.done;
}
