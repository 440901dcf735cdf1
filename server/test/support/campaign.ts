// How much of a campaign a test file runs: `npm test` a short form of it, `npm run test:all` more or the rest, and
// `npm run test:long` the whole, as does a file that is named alone.

export type Part = 'short' | 'rest' | 'whole';

export const part = (process.env.POSTRIDER_TEST_PART ?? 'whole') as Part;
export const isShort = part === 'short';

/** What the commands run of a campaign. */
export function lengthOf<T>(lengths: Readonly<Record<Part, T>>): T {
  return lengths[part];
}
