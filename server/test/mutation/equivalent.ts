// Mistakes that no test can notice, each as its line with the mistake in it, with the reason. A line that is found at two
// places of its module is listed twice. The run fails when it finds an unnoticed mistake that is not listed here, or a
// listed one that a test does notice.

export interface Equivalent {
  readonly lines: readonly string[];
  readonly why: string;
}

export const EQUIVALENT: ReadonlyMap<string, readonly Equivalent[]> = new Map([
  [
    'rules/alerts/alert-rules.ts',
    [
      {
        lines: ['if (problems.length > 0 || !rule && !target) return { problems };'],
        why: 'a rule or a target that could not be read has told a problem',
      },
      {
        lines: [
          'return [key, true ? found.value : null];',
          'return false ? null : { url: parsed.url, format };',
          "return 'problem' in parsed && format === undefined ? null : { url: parsed.url, format };",
        ],
        why: 'with a problem nothing of the alert is used',
      },
    ],
  ],
  [
    'rules/time/clock.ts',
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
    'rules/schedules/cron.ts',
    [
      {
        lines: ['if (!isInterval && local <= resumesAt) return changeAt;'],
        why: 'a time at the very instant at which the clock goes on is due at that instant either way',
      },
      {
        lines: ['while (day < lastLocal) {'],
        why: 'the rarest day comes long before the last one of the search',
      },
      {
        lines: ['day = true ? day + DAY_MS : Date.UTC(date.getUTCFullYear(), month, 1);'],
        why: 'looks at each day of a month in which there is no run, and then finds the same',
      },
    ],
  ],
  [
    'rules/publish/deduplication.ts',
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
    'rules/delivery/descent.ts',
    [
      {
        lines: ['const room = most < share ? Math.floor(share / most) : Math.min(1, share);'],
        why: 'with exactly one for each, both sides give one',
      },
    ],
  ],
  [
    'rules/publish/destination.ts',
    [
      {
        lines: ['if (false) return urlDestination(text);'],
        why: 'a shortcut for the usual form; the rest leaves it as it is',
      },
      {
        lines: ['if (queryAt >= 0 && isName(given.slice(0, queryAt))) {'],
        why: 'an empty text is no name',
      },
      {
        lines: ['if (false) return known;'],
        why: 'reads the same host once more',
      },
    ],
  ],
  [
    'rules/publish/header-meaning.ts',
    [
      {
        lines: ['const storedAs = READ_NAMES.get(lowerName) ?? (false ? undefined : OWN_NAMES.get(bare)) ?? null;'],
        why: 'no setting has the name null',
      },
    ],
  ],
  [
    'rules/publish/header-reader.ts',
    [
      {
        lines: ['#hasTrace = true;', 'if (false) return forward;', 'if (false) return;', 'if (false) return NO_NAMES;'],
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
    'rules/publish/headers.ts',
    [
      {
        lines: ['if (true) {'],
        why: 'checks a name once more that was found sound before',
      },
    ],
  ],
  [
    'rules/requests/id.ts',
    [
      {
        lines: ['if (true) {'],
        why: 'encodes the same time once more, to the same text',
      },
    ],
  ],
  [
    'runtime/collections/lane-pools.ts',
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
    'rules/reads/message-filter.ts',
    [
      {
        lines: ['for (let at = 0; at <= body.length; at += SEARCHED_AT_ONCE) {'],
        why: 'after the last piece, an empty one adds nothing to what was searched already',
      },
      { lines: ['before = piece.slice( text.length);'], why: 'finds the same, but holds more of the body as text' },
    ],
  ],
  [
    'rules/publish/misspelt-settings.ts',
    [
      {
        lines: ['const [first] = false ? [] : misspeltSettings(unknown, headerPrefix);'],
        why: 'a shortcut for requests without such names; the search finds none',
      },
    ],
  ],
  [
    'rules/limits/owners.ts',
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
    'runtime/collections/pool.ts',
    [
      {
        lines: ['if (false) this.#heldBy.delete(accountId);'],
        why: 'an account that holds 0 is the same as one that is not named, but takes memory',
      },
    ],
  ],
  [
    'rules/publish/publish-settings.ts',
    [
      { lines: ['settings: false ? named : { ...named, forward },'], why: 'saves a copy of the settings' },
      {
        lines: ['if (true) return error.refusal;', 'if (true) return error.refusal;'],
        why: 'only a bug of ours throws anything else',
      },
      {
        lines: ['const own = headers;', 'if (false) return NO_DESCENT;'],
        why: 'reads more headers than it needs, with the same result',
      },
    ],
  ],
  [
    'rules/publish/query-settings.ts',
    [
      {
        lines: ['if (false) return { destination, settings, foreign };'],
        why: 'saves joining the parameters, of which none was taken, to the same text',
      },
    ],
  ],
  [
    'rules/delivery/recovery-pace.ts',
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
    'rules/requests/request-head.ts',
    [
      {
        lines: ['if (method === undefined && target === undefined) {'],
        why: 'the line has both of them, or is no request line',
      },
      {
        lines: ['if (false) return target;'],
        why: 'a shortcut for most targets; a path is no URL, and stays as it is',
      },
    ],
  ],
  [
    'rules/delivery/share-slots.ts',
    [
      {
        lines: ['while (budget.slots >= 0) {'],
        why: 'without a slot nobody is asked for anything; it saves the division',
      },
    ],
  ],
  [
    'rules/delivery/slots.ts',
    [
      { lines: ['lastGoes: true,'], why: 'in NO_SLOTS there is no last slot' },
      {
        lines: ['return false ? others : (atHost?.busy.get(accountId) ?? others);'],
        why: 'no account has the id undefined',
      },
    ],
  ],
  [
    'rules/limits/stored-bytes.ts',
    [
      {
        lines: ['if (false) return bytesBesideBody(messages[0]!) + messages[0]!.body.length;'],
        why: 'a shortcut for the most frequent case; the loop counts the same',
      },
    ],
  ],
  [
    'rules/limits/take-in-turn.ts',
    [
      {
        lines: ['while (last < rounds.length && rounds[last]!.length < room) {'],
        why: 'a round that fits exactly is then the last one, and is taken whole too',
      },
    ],
  ],
  [
    'rules/time/time-zone.ts',
    [
      {
        lines: ['if (false) return 0;'],
        why: 'this runtime writes GMT+00:00 for an offset of zero, where others write GMT alone',
      },
      {
        lines: ['const middle = Math.ceil((before + changed) / 2);'],
        why: 'the search ends at the same instant from either side of the middle',
      },
      {
        lines: ['const key = timeZone;'],
        why: 'finds the same, but keeps a format for each spelling of a name',
      },
    ],
  ],
  [
    'rules/publish/topic.ts',
    [
      {
        lines: ['else own.splice(own.findLastIndex((each) => each <= at) + 1, 0, at);'],
        why: 'a position is removed before it is added again',
      },
    ],
  ],
  [
    'rules/limits/turns.ts',
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
    'rules/publish/unsupported-headers.ts',
    [{ lines: ['if (false) return null;'], why: 'a shortcut for most names; the rest finds the same' }],
  ],
  [
    'rules/delivery/why.ts',
    [{ lines: ['if (false) return now;'], why: 'the time computed below is then not in the future either' }],
  ],
  [
    'rules/time/written-time.ts',
    [
      {
        lines: ['const at = false ? Number.NaN : Date.parse(whole);'],
        why: 'undefined is no date either',
      },
    ],
  ],
]);
