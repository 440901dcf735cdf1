// Mistakes that no test can notice, each as its line with the mistake in it, with the reason. The run fails when it
// finds an unnoticed mistake that is not listed here, or a listed one that a test does notice.

export interface Equivalent {
  readonly lines: readonly string[];
  readonly why: string;
}

const SORTED_ALIKE = 'the sort only asks whether the result is below 0';

export const EQUIVALENT: ReadonlyMap<string, readonly Equivalent[]> = new Map([
  [
    'domain/deduplication.ts',
    [
      {
        lines: [
          'headers.sort(([a], [b]) => (a < b ? -1 : true ? 1 : 0));',
          'headers.sort(([a], [b]) => (a < b ? -1 : false ? 1 : 0));',
          'headers.sort(([a], [b]) => (a < b ? -1 : a >= b ? 1 : 0));',
          'headers.sort(([a], [b]) => (a < b ? -1 : a <= b ? 1 : 0));',
        ],
        why: SORTED_ALIKE,
      },
    ],
  ],
  [
    'domain/message-filter.ts',
    [
      {
        lines: ['for (let at = 0; at <= body.length; at += SEARCHED_AT_ONCE) {'],
        why: 'after the last piece, an empty one adds nothing to what was searched already',
      },
      {
        lines: ['before = piece.slice( text.length);'],
        why: 'finds the same, but holds more of the body as text',
      },
    ],
  ],
  [
    'domain/share-slots.ts',
    [
      {
        lines: ['while (budget.slots >= 0) {'],
        why: 'without a slot nobody is asked for anything; it saves the division',
      },
    ],
  ],
  [
    'domain/slots.ts',
    [
      { lines: ['lastGoes: true,'], why: 'in NO_SLOTS there is no last slot' },
      {
        lines: ['return false ? others : (atHost?.busy.get(accountId) ?? others);'],
        why: 'no account has the id undefined',
      },
    ],
  ],
  [
    'domain/stored-bytes.ts',
    [
      {
        lines: ['if (false) return bytesBesideBody(messages[0]!) + messages[0]!.body.length;'],
        why: 'a shortcut for the most frequent case; the loop counts the same',
      },
    ],
  ],
  [
    'domain/turns.ts',
    [
      {
        lines: ['if (true) this.#nextAt.clear();', 'if (this.#nextAt.size >= 0) this.#nextAt.clear();'],
        why: 'to clear an empty map costs time, and changes nothing',
      },
      {
        lines: ['if (false) return;', 'if (own.at > own.endAt) return;'],
        why: 'what lies beyond one transaction does not fit; leaving it out saves sorting it',
      },
    ],
  ],
]);
