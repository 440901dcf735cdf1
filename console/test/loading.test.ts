// What a page shows while it does not know yet: "Loading…", or what it knows already. Never a zero, never that there is
// nothing. Each kind of request is held back in turn, and what the page showed meanwhile is compared with what it shows
// when everything has arrived. Then the same with an error in place of the response.

import assert from 'node:assert/strict';
import { before, suite, test } from 'node:test';
import type { Page } from 'playwright-core';
import { waitFor } from '../../server/test/support/wait.ts';
import { IN_BROWSER, openPage, sharedBrowser } from './browser.ts';
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
/** A page is calm when nothing was shown and nothing is on its way for so long: rendering takes a few turns. */
const CALM_TURNS = 8;
const TURN_MS = 10;

/** What a visit does to responses: those of `failing` kinds are errors, and `isSlow` holds all others back. */
interface Plan {
  readonly isSlow?: boolean;
  readonly failing?: 'all' | string;
}

/**
 * Runs in every page before its own scripts. It holds responses back or makes them errors, as the name of the window
 * says, keeps every line that was ever shown, and knows when nothing more comes.
 */
const WATCHED = `{
  const plan = JSON.parse(window.name || '{}');
  const notHeld = new Set(${JSON.stringify([...NOT_HELD])});
  const kinds = new Set();
  const shown = new Set();
  const free = new Set();
  let held = [];
  let pending = 0;
  const text = () => [...document.querySelectorAll('main')].map((part) => part.innerText).join('\\n');
  const note = () => { for (const line of text().split('\\n')) shown.add(line.trim()); };
  new MutationObserver(note).observe(document, { subtree: true, childList: true, characterData: true });
  const kindOf = (url) => {
    const path = url.pathname.replace(/\\/(msg|dlq)_\\w+/g, '/$1_…');
    if (!path.startsWith('/v2/') || notHeld.has(path)) return null;
    const names = [...new Set(url.searchParams.keys())].filter((name) => name !== 'count' && name !== 'cron').sort();
    return names.length === 0 ? path : path + '?' + names.join('&');
  };
  const request = window.fetch.bind(window);
  window.fetch = async (input, init) => {
    const kind = kindOf(new URL(input.url ?? input, location.href));
    if (kind === null) return request(input, init);
    kinds.add(kind);
    if (plan.failing === 'all' || plan.failing === kind)
      return Response.json({ error: 'made to fail', code: 'internal' }, { status: 500 });
    if (plan.isSlow && !free.has(kind)) await new Promise((resolve) => held.push({ kind, resolve }));
    pending += 1;
    const end = () => { pending -= 1; };
    try {
      const response = await request(input, init);
      response.clone().arrayBuffer().then(end, end);
      return response;
    } catch (error) {
      end();
      throw error;
    }
  };
  const until = async (isSo) => {
    for (let calm = 0, last = null; calm < ${CALM_TURNS}; ) {
      const now = text();
      calm = now === last && pending === 0 && isSo() ? calm + 1 : 0;
      last = now;
      await new Promise((resolve) => setTimeout(resolve, ${TURN_MS}));
    }
  };
  /** A screen shows something from the start. One of them loads its script first. */
  const quiet = () => until(() => document.querySelector('nav') && text().trim() !== '');
  const release = (order) => {
    const kind = (order === 'backward' ? held.at(-1) : held[0])?.kind;
    free.add(kind);
    for (const each of held) if (each.kind === kind) each.resolve();
    held = held.filter((each) => each.kind !== kind);
  };
  window.watched = {
    quiet,
    /** One kind after the other comes, until one is left. */
    async releaseInTurn(order) {
      await quiet();
      while (new Set(held.map(({ kind }) => kind)).size > 1) {
        release(order);
        await quiet();
      }
    },
    async releaseAll() {
      while (held.length > 0) {
        release('forward');
        await quiet();
      }
    },
    isAsked: (kind) => kinds.has(kind),
    lines: () => text().split('\\n').map((line) => line.trim()),
    shown: () => [...shown],
    kinds: () => [...kinds],
  };
}`;

/** Ages and rates change by themselves. */
const withoutTime = (line: string) =>
  line
    .replace(/\b(\d+(\.\d+)?\s?(ms|s|min|m|h|d))+\b/g, '#')
    .replace(/\b(just now|now)\b/g, '#')
    .replace(/(#\s?)+( ago)?/g, '#')
    .replace(/^[\d.,]+\/s$/, '#/s');

interface Visit {
  readonly kinds: readonly string[];
  /** All lines that were shown before the rest arrived. */
  readonly early: ReadonlySet<string>;
  readonly loaded: ReadonlySet<string>;
}

async function linesOf(page: Page, which: 'lines' | 'shown'): Promise<ReadonlySet<string>> {
  return new Set((await page.evaluate<string[]>(`window.watched.${which}()`)).map(withoutTime));
}

/** The same page for all visits: a script that it has compiled is not compiled again. */
async function visit(page: Page, path: string, plan: Plan): Promise<void> {
  await page.evaluate(`window.name = ${JSON.stringify(JSON.stringify(plan))}`);
  await page.goto(`${service().url}/console/${path}`);
  await page.evaluate('window.watched.quiet()');
}

/** Every response is held back. Then one kind after the other comes, the first or the last one first. */
async function visitSlowly(page: Page, path: string, order: 'forward' | 'backward'): Promise<Visit> {
  await visit(page, path, { isSlow: true });
  await page.evaluate(`window.watched.releaseInTurn('${order}')`);
  const early = await linesOf(page, 'shown');
  await page.evaluate('window.watched.releaseAll()');
  const kinds = await page.evaluate<string[]>('window.watched.kinds()');
  return { kinds, early, loaded: await linesOf(page, 'lines') };
}

/** Nothing is held back, and nothing fails. */
async function visitQuietly(page: Page, path: string): Promise<ReadonlySet<string>> {
  await visit(page, path, {});
  return linesOf(page, 'shown');
}

/** Returns the lines that were shown, after the error was: waited for, because a page that asks again hides it meanwhile. */
async function visitFailing(page: Page, path: string, failing: string): Promise<ReadonlySet<string> | null> {
  await visit(page, path, { failing });
  if (failing !== 'all') {
    const isAsked = `window.watched.isAsked(${JSON.stringify(failing)})`;
    await waitFor(`a request of ${failing}`, () => page.evaluate<boolean>(isAsked));
  }
  const alert = page.locator('main').getByRole('alert').first();
  const isShown = await alert.waitFor().then(
    () => true,
    () => false,
  );
  await page.evaluate('window.watched.quiet()');
  return isShown ? linesOf(page, 'shown') : null;
}

const falseLines = (early: ReadonlySet<string>, loaded: ReadonlySet<string>) =>
  [...early].filter(
    (line) => line !== '' && !loaded.has(line) && !KNOWN_BEFORE.test(line) && !/made to fail/i.test(line),
  );

suite('while a response is on its way', IN_BROWSER, () => {
  let paths: readonly string[] = [];
  let page: Page;
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
    ({ page } = await openPage(browser(), link));
    await page.getByRole('navigation', { name: 'Screens' }).waitFor();
    await page.addInitScript(WATCHED);
  });

  for (const order of ['forward', 'backward'] as const) {
    test(`no page shows a zero or says that there is nothing: ${order}`, { timeout: 480_000 }, async () => {
      const wrong: string[] = [];
      for (const path of paths) {
        const { early, loaded, kinds } = await visitSlowly(page, path, order);
        let lies = falseLines(early, loaded);
        // A line that was false only once was true at that time: a minute was over, for instance.
        if (lies.length > 0) {
          const again = await visitSlowly(page, path, order);
          const lied = new Set(falseLines(again.early, again.loaded));
          lies = lies.filter((line) => lied.has(line));
        }
        wrong.push(...lies.map((line) => `${path}: ${line}`));
        if (path !== FORM && !early.has('Loading…')) wrong.push(`${path}: does not say that it is loading`);
        if (path !== FORM && kinds.length === 0) wrong.push(`${path}: asks for nothing`);
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
      const loaded = await visitQuietly(page, path);
      const kinds = await page.evaluate<string[]>('window.watched.kinds()');
      const check = async (failing: string) => {
        const shown = await visitFailing(page, path, failing);
        if (shown === null) return wrong.push(`${path}, ${failing}: no error is shown`);
        let lies = falseLines(shown, loaded);
        // A line that was false only once was true at that time: somebody used a token just then, for instance.
        if (lies.length > 0) {
          const now = await visitQuietly(page, path);
          const lied = new Set(falseLines((await visitFailing(page, path, failing)) ?? new Set(), now));
          lies = lies.filter((line) => !now.has(line) && lied.has(line));
        }
        return wrong.push(...lies.map((line) => `${path}, ${failing}: ${line}`));
      };
      if (path !== FORM) await check('all');
      for (const kind of kinds) {
        if (!done.has(kind) && !MAY_BE_MISSING.has(kind)) await check(kind);
        done.add(kind);
      }
    }
    assert.deepEqual(wrong, []);
  });
});
