// Removes the C headers of the Node.js that `npm ci` installed: 67 MB that nothing here compiles against.

import { globSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const MODULES = join(import.meta.dirname, '..', 'node_modules');

for (const folder of globSync('{node/node_modules/,}node-*-*/include', { cwd: MODULES })) {
  rmSync(join(MODULES, folder), { recursive: true, force: true });
}
