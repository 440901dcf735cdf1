// Mistakes that no test can notice, each as its line with the mistake in it, with the reason. The run fails when it
// finds an unnoticed mistake that is not listed here, or a listed one that a test does notice.

export interface Equivalent {
  readonly lines: readonly string[];
  readonly why: string;
}

export const EQUIVALENT: ReadonlyMap<string, readonly Equivalent[]> = new Map([
  [
    'domain/clock.ts',
    [
      {
        lines: [': shownMs > 0 && shownMs <= CLOCK_STEP_MS_MAX;'],
        why: 'a clock that shows the same instant says that no time has passed, either way',
      },
      {
        lines: [
          'if (aheadMs >= 0 && Math.abs(aheadMs - sleptMs) <= CLOCK_STEP_MS_MAX) {',
          'if (movedMs <= 0) this.#timesSetBack += 1;',
        ],
        why: 'a clock that is neither ahead nor behind was followed before',
      },
    ],
  ],
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
        why: 'the sort only asks whether the result is below 0',
      },
    ],
  ],
  [
    'domain/header-meaning.ts',
    [
      {
        lines: ['const storedAs = READ_NAMES.get(lowerName) ?? (false ? undefined : OWN_NAMES.get(bare)) ?? null;'],
        why: 'no setting has the name null',
      },
    ],
  ],
  [
    'domain/header-reader.ts',
    [
      {
        lines: [
          '#hasTrace = true;',
          'if (false) return forward;',
          'if ( isWholesale && !this.#hasTrace) return forward;',
          'if (false) return;',
          'if (false) return NO_NAMES;',
        ],
        why: 'a shortcut for requests without such headers; the rest finds none of them',
      },
      { lines: ['return false ? forward : [...forward, ...passedOn];'], why: 'saves a copy of the list' },
      { lines: ['if (false) return null;'], why: 'the check of a content type that is absent finds nothing wrong' },
      {
        lines: ['for (let at = from; at <= stored.length; at += 2) if (stored[at] === name) return at;'],
        why: 'beyond the end of the list there is no name',
      },
    ],
  ],
  [
    'domain/lane-pools.ts',
    [
      {
        lines: [
          'for (let at = 0; at <= accountId.length; at += 1) hash = Math.imul(hash ^ accountId.charCodeAt(at), 0x01000193);',
        ],
        why: 'another hash, but the same for all lanes',
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
      { lines: ['before = piece.slice( text.length);'], why: 'finds the same, but holds more of the body as text' },
    ],
  ],
  [
    'domain/owners.ts',
    [
      {
        lines: [
          'while (false) this.#most -= 1;',
          'while (this.#most >= 0 && !this.#byCount[this.#most]?.first) this.#most -= 1;',
          'while (this.#most <= 0 && !this.#byCount[this.#most]?.first) this.#most -= 1;',
          'for (let count = this.#most; count >= 0; count -= 1) {',
        ],
        why: 'looks at numbers of connections that nobody has; the first owner found is the same',
      },
    ],
  ],
  [
    'domain/pool.ts',
    [
      {
        lines: ['if (false) this.#heldBy.delete(accountId);'],
        why: 'an account that holds 0 is the same as one that is not named, but takes memory',
      },
    ],
  ],
  [
    'domain/publish-settings.ts',
    [
      { lines: ['settings: false ? named : { ...named, forward },'], why: 'saves a copy of the settings' },
      { lines: ['if (true) return error.refusal;'], why: 'only a bug of ours throws anything else' },
      {
        lines: ['const own = headers;', 'if (false) return NO_DESCENT;'],
        why: 'reads more headers than it needs, with the same result',
      },
    ],
  ],
  [
    'domain/recovery-pace.ts',
    [
      { lines: ['#hasStarted = true;'], why: 'it is set whenever it is closed, and read only then' },
      {
        lines: [
          'while (nowMs >= this.#growsAtMs && this.#cap <= this.#concurrency) this.#setCap(2 * this.#cap, this.#growsAtMs);',
          'const growsAtMs = this.#cap <= this.#concurrency ? this.#growsAtMs : Number.POSITIVE_INFINITY;',
        ],
        why: 'a cap is below the concurrency, or infinite',
      },
      { lines: ['return false ? free : { ...free, slots };'], why: 'saves a copy of the limits' },
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
    'domain/topic.ts',
    [
      {
        lines: ['else own.splice(own.findLastIndex((each) => each <= at) + 1, 0, at);'],
        why: 'a position is removed before it is added again',
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
  [
    'domain/unsupported-headers.ts',
    [{ lines: ['if (false) return null;'], why: 'a shortcut for most names; the rest finds the same' }],
  ],
  [
    'domain/why.ts',
    [{ lines: ['if (false) return now;'], why: 'the time computed below is then not in the future either' }],
  ],
]);
