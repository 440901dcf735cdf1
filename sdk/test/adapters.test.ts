// Every adapter in its real framework. Next.js is too large for `npm ci`: `npm run check:next` installs and tests it.

import { suite, test } from 'node:test';
import { sharedService } from '../../console/test/service.ts';
import { checkReceiver } from './frameworks/check-receiver.ts';
import { PROGRAMS } from './frameworks/programs.ts';

const service = sharedService();

suite('adapters', { concurrency: false }, () => {
  for (const [name, start] of Object.entries(PROGRAMS)) {
    test(`${name}: a delivery is verified, handled and answered; what is no delivery is refused`, () =>
      checkReceiver(service(), name, start));
  }
});
