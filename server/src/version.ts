// The version of this program, as its package says it.

import { shippedVersion } from './shipped-files.ts';

export const VERSION = shippedVersion();
