// What a page shows while it does not know yet: "Loading…", or what it knows already. Never a zero, never that there is
// nothing. Each kind of request is held back in turn, and what the page showed meanwhile is compared with what it shows
// when everything has arrived. Then the same with an error in place of the response.

import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import type { BrowserContext, Page, Route } from 'playwright-core';
import { openPage, sharedBrowser } from './browser.ts';
import { sharedService } from './service.ts';

const browser = sharedBrowser();
const service = sharedService();

/** Says who is signed in. Without it there is no console. */
const SESSION = '/v2/account';
/** The live stream never ends, and its state is shown beside the list. The clock is not shown unless it is a manual one. */
const NOT_HELD = new Set([SESSION, '/v2/events/stream', '/v2/dev/clock']);
/** What a page may show although it does not know the rest. */
const KNOWN_BEFORE = /^(Loading…|Counting…|Searching older messages…|–|–\/s|– of|Live|Connecting|Offline|Not live.*)$/;
/** It needs nothing but what its user types. */
const FORM = 'send';
/** Shown beside something else, which is complete without it: counts, and names to choose from. */
const MAY_BE_MISSING = new Set([
  '/v2/overview',
  '/v2/messages/counts?text',
  '/v2/topics',
  // Rows are read again soon.
  '/v2/messages?messageIds',
]);
const QUIET_POLLS = 6;

/** Keeps every line that the page has ever shown. */
const WATCHED = `
  window.shownLines = new Set();
  const note = () => {
    for (const part of document.querySelectorAll('main'))
      for (const line of part.innerText.split('\\n')) window.shownLines.add(line.trim());
  };
  new MutationObserver(note).observe(document, { subtree: true, childList: true, characterData: true });
`;

/** Ages and rates change by themselves. */
const withoutTime = (line: string) =>
  line
    .replace(/\b(\d+(\.\d+)?\s?(ms|s|min|m|h|d))+\b/g, '#')
    .replace(/\b(just now|now)\b/g, '#')
    .replace(/(#\s?)+( ago)?/g, '#')
    .replace(/^[\d.,]+\/s$/, '#/s');

function kindOf(url: string): string | null {
  const { pathname, searchParams } = new URL(url);
  const path = pathname.replace(/\/(msg|dlq)_\w+/g, '/$1_…');
  if (!path.startsWith('/v2/') || NOT_HELD.has(path)) return null;
  const names = [...new Set(searchParams.keys())].filter((name) => name !== 'count' && name !== 'cron').sort();
  return names.length === 0 ? path : `${path}?${names.join('&')}`;
}

interface Visit {
  readonly kinds: ReadonlySet<string>;
  /** All lines that were shown before the rest arrived. */
  readonly early: ReadonlySet<string>;
  readonly loaded: ReadonlySet<string>;
  readonly alerts: number;
}

async function lines(page: Page): Promise<ReadonlySet<string>> {
  const all = await page.evaluate<string[]>(
    "[...document.querySelectorAll('main')].flatMap((part) => part.innerText.split('\\n'))",
  );
  return new Set(all.map((line) => withoutTime(line.trim())));
}

/** A page whose responses of some kinds are answered otherwise, until all of them come. */
class SlowPage {
  readonly kinds = new Set<string>();
  readonly page: Page;
  readonly #pending = new Set<unknown>();
  #answer: ((route: Route, kind: string) => unknown) | null = null;

  constructor(page: Page) {
    this.page = page;
    page.on('request', (request) => kindOf(request.url()) !== null && this.#pending.add(request));
    page.on('requestfinished', (request) => this.#pending.delete(request));
    page.on('requestfailed', (request) => this.#pending.delete(request));
  }

  async open(path: string, answer: (route: Route, kind: string) => unknown): Promise<void> {
    this.#answer = answer;
    await this.page.addInitScript(WATCHED);
    await this.page.route('**/v2/**', (route) => {
      const kind = kindOf(route.request().url());
      if (kind !== null) this.kinds.add(kind);
      return this.#answer === null || kind === null ? route.continue() : this.#answer(route, kind);
    });
    await this.page.goto(`${service().url}/console/${path}`);
    await this.page.getByRole('navigation', { name: 'Screens' }).waitFor();
    await this.quiet();
  }

  isHeld(route: Route): void {
    this.#pending.delete(route.request());
  }

  /** Too early, it sees less than there is to see: no test fails because of it. */
  async quiet(): Promise<void> {
    for (let last = '', polls = 0; polls < QUIET_POLLS; ) {
      const now = [...(await lines(this.page))].join();
      polls = now === last && this.#pending.size === 0 ? polls + 1 : 0;
      last = now;
      await this.page.waitForTimeout(30);
    }
  }

  async end(): Promise<Visit> {
    const early = new Set((await this.page.evaluate<string[]>('[...window.shownLines]')).map(withoutTime));
    const alerts = await this.page.locator('main').getByRole('alert').count();
    this.#answer = null;
    return { kinds: this.kinds, early, alerts, loaded: new Set() };
  }
}

/** Every response is held back. Then one kind after the other comes, the first or the last one first. */
async function visitSlowly(context: BrowserContext, path: string, order: 'forward' | 'backward'): Promise<Visit> {
  const slow = new SlowPage(await context.newPage());
  try {
    const held: { readonly kind: string; readonly route: Route }[] = [];
    const free = new Set<string>();
    await slow.open(path, (route, kind) => {
      if (free.has(kind)) return route.continue();
      slow.isHeld(route);
      return held.push({ kind, route });
    });
    while (held.length > 1) {
      const { kind } = (order === 'forward' ? held[0] : held.at(-1))!;
      free.add(kind);
      for (const each of held.filter((one) => one.kind === kind)) void each.route.continue();
      held.splice(0, held.length, ...held.filter((one) => one.kind !== kind));
      await slow.quiet();
    }
    const visit = await slow.end();
    await Promise.all(held.map(({ route }) => route.continue()));
    await slow.quiet();
    return { ...visit, loaded: await lines(slow.page) };
  } finally {
    await slow.page.close();
  }
}

/** Responses of these kinds are errors. `loaded` is what the page shows without them. */
async function visitFailing(
  context: BrowserContext,
  path: string,
  isFailing: (kind: string) => boolean,
  loaded: ReadonlySet<string> = new Set(),
): Promise<Visit> {
  const slow = new SlowPage(await context.newPage());
  try {
    await slow.open(path, (route, kind) =>
      isFailing(kind)
        ? route.fulfill({ status: 500, json: { error: 'made to fail', code: 'internal' } })
        : route.continue(),
    );
    return { ...(await slow.end()), loaded };
  } finally {
    await slow.page.close();
  }
}

const falseLines = ({ early, loaded }: Visit) =>
  [...early].filter(
    (line) => line !== '' && !loaded.has(line) && !KNOWN_BEFORE.test(line) && !/made to fail/i.test(line),
  );

/** A line that was false only once was true at that time: a minute was over, for instance. */
async function falseTwice(visit: () => Promise<Visit>): Promise<{ readonly visit: Visit; readonly wrong: string[] }> {
  const first = await visit();
  const wrong = falseLines(first);
  if (wrong.length === 0) return { visit: first, wrong };
  const again = new Set(falseLines(await visit()));
  return { visit: first, wrong: wrong.filter((line) => again.has(line)) };
}

suite('while a response is on its way', () => {
  let paths: readonly string[] = [];
  let context: BrowserContext;
  before(async () => {
    const { publish, sink, ended, client, link } = service();
    const delivered = await publish(sink('ok'), { queue: 'q', body: '{"a":1}' });
    await ended(delivered);
    await ended(await publish(sink('status/500'), { settings: { Retries: '0' } }));
    const later = await publish(sink('ok'), { queue: 'q', settings: { Delay: '1d' } });
    await publish(sink('ok'), {
      settings: { Delay: '1d', 'Flow-Control-Key': 'shop', 'Flow-Control-Value': 'parallelism=2' },
    });
    await client.addEndpoints('news', [{ url: sink('ok') }]);
    for (const { messageId } of [await client.publish({ destination: 'news' })].flat()) await ended(messageId);
    await client.createSchedule({ destination: sink('ok'), settings: { Cron: '0 9 * * *', 'Schedule-Id': 's' } });
    for (const { messageId } of await client.runSchedule('s')) await ended(messageId);
    await client.startBulk('cancel', { label: ['none'] }, 1);
    paths = [
      'messages',
      'messages?state=FAILED',
      'messages?text=a',
      `messages/${delivered}`,
      `messages/${later}`,
      'failures',
      'topics',
      'topics/news',
      'overview',
      'queues?queue=q',
      'schedules?schedule=s',
      'bulk',
      'send',
      `send?from=${delivered}`,
      'settings',
      'sink',
    ];
    const opened = await openPage(browser(), link);
    await opened.page.getByRole('navigation', { name: 'Screens' }).waitFor();
    await opened.page.close();
    context = opened.context;
  });

  for (const order of ['forward', 'backward'] as const) {
    test(`no page shows a zero or says that there is nothing: ${order}`, { timeout: 480_000 }, async () => {
      const wrong: string[] = [];
      for (const path of paths) {
        const found = await falseTwice(() => visitSlowly(context, path, order));
        wrong.push(...found.wrong.map((line) => `${path}: ${line}`));
        if (path !== FORM && !found.visit.early.has('Loading…')) wrong.push(`${path}: does not say that it is loading`);
      }
      assert.deepEqual(wrong, []);
    });
  }

  test('when a response is an error, the page shows the error, and no zero in its place', {
    timeout: 480_000,
  }, async () => {
    const wrong: string[] = [];
    const done = new Set<string>();
    for (const path of paths) {
      const { early: loaded, kinds } = await visitFailing(context, path, () => false);
      const check = async (isFailing: (kind: string) => boolean, named: string) => {
        const visit = await visitFailing(context, path, isFailing, loaded);
        const lies = falseLines(visit);
        // What is true by now was true: somebody has used a token, for instance.
        const now = lies.length === 0 ? loaded : (await visitFailing(context, path, () => false)).early;
        wrong.push(...lies.filter((line) => !now.has(line)).map((line) => `${path}, ${named}: ${line}`));
        if (visit.alerts === 0) wrong.push(`${path}, ${named}: no error is shown`);
      };
      if (path !== FORM) await check(() => true, 'all');
      for (const kind of kinds) {
        if (!done.has(kind) && !MAY_BE_MISSING.has(kind)) await check((each) => each === kind, kind);
        done.add(kind);
      }
    }
    assert.deepEqual(wrong, []);
  });
});
