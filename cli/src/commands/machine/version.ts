// `postrider version`.

import { VERSION } from '../../../../server/src/shipped-files.ts';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';

export async function version({ out }: Invocation): Promise<number> {
  out.result(
    { version: VERSION, node: process.versions.node, platform: `${process.platform}-${process.arch}` },
    VERSION,
  );
  return EXIT.done;
}
