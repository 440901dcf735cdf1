// Loaded before a test file: gives it another text for one module. The text lies in a file that the run has written,
// without types: to remove them would be half of the work of a short test.

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const { MUTATED_MODULE, MUTATED_TEXT } = process.env;

registerHooks({
  load(url, context, next) {
    if (url !== MUTATED_MODULE) return next(url, context);
    return { format: 'module', source: readFileSync(MUTATED_TEXT!, 'utf8'), shortCircuit: true };
  },
});
