// How much of a campaign a test file runs: `npm test` a short form of it, `npm run test:all` the rest, and a file that is
// named alone the whole.

export type Part = 'short' | 'rest' | 'whole';

export const part = (process.env.POSTRIDER_TEST_PART ?? 'whole') as Part;
export const isShort = part === 'short';
