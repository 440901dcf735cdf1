// A real Chromium: the one that CHROMIUM_PATH names, or an installed one. Tests that need it are skipped where there is none.

import { after, before } from 'node:test';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { chromiumPath, lacks, whySkipped } from '../../server/test/support/machine.ts';
import { waitFor } from '../../server/test/support/wait.ts';

/** For tests and suites that need one. */
export const IN_BROWSER = { skip: lacks('chromium') };
export const IN_BROWSER_WITH_CURL = { skip: lacks('chromium', 'curl') };

/** Only a failing test waits so long: a busy machine must not be taken for a fault. */
export const PATIENCE_MS = 180_000;

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

export async function launchBrowser(): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === null) throw new Error(whySkipped('chromium'));
  return chromium.launch({
    executablePath,
    timeout: PATIENCE_MS,
    args: [
      ...(isRoot() ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-background-networking',
      '--no-first-run',
      '--force-color-profile=srgb',
    ],
  });
}

/** One browser for all tests of a file. */
export function sharedBrowser(): () => Browser {
  let browser: Browser | Error = new Error('the browser is not started yet');
  before(async () => {
    if (IN_BROWSER.skip) return;
    // Told to the tests: after a hook that fails, the others that close things are not called, and the file never ends.
    browser = await launchBrowser().catch((error: Error) => error);
  });
  after(() => (browser instanceof Error ? undefined : browser.close()));
  return () => {
    if (browser instanceof Error) throw browser;
    return browser;
  };
}

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 375, height: 740 };

/** Runs in every page before its own scripts: keeps the text of each notice, which goes by itself after some seconds. */
const KEEP_NOTICES = `{
  window.notices = [];
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes)
        if (node.parentElement?.ariaLabel === 'Notices') window.notices.push(node.innerText);
  }).observe(document, { subtree: true, childList: true });
}`;

/** Waits until the page has shown a notice with this text. On a busy machine it may be gone before anybody looks. */
export async function noticed(page: Page, text: string): Promise<void> {
  // The policy of the page refuses waitForFunction with a text from its second look on.
  const look = `window.notices.some((each) => each.includes(${JSON.stringify(text)}))`;
  await waitFor(`the notice “${text}”`, () => page.evaluate<boolean>(look));
}

export interface OpenedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What the page complained about: errors, refusals of its policy. */
  readonly complaints: string[];
  /** Requests to anywhere but the service. */
  readonly strangers: string[];
}

/** A page of its own, with everything noted that must not happen on it. */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: DESKTOP, reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  await context.addInitScript(KEEP_NOTICES);
  const page = await context.newPage();
  const complaints: string[] = [];
  const strangers: string[] = [];
  const { origin } = new URL(url);
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    // Chromium itself reports every answer over 399; the page deals with those.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  page.on('request', (request) => {
    const target = request.url();
    if (!target.startsWith(origin) && !target.startsWith('data:') && !target.startsWith('blob:'))
      strangers.push(target);
  });
  await page.goto(url);
  return { page, context, complaints, strangers };
}

type Session = Awaited<ReturnType<BrowserContext['storageState']>>;
const sessions = new Map<string, Promise<Session>>();

async function signIn(browser: Browser, link: string): Promise<Session> {
  const { page, context } = await openPage(browser, link);
  await page.getByRole('navigation', { name: 'Screens' }).waitFor();
  const session = await context.storageState();
  await context.close();
  return session;
}

/** A page of its own that is signed in and shows a screen. Only the first one of a service follows the link first. */
export async function openScreen(
  browser: Browser,
  { url, link }: { readonly url: string; readonly link: string },
  path: string,
): Promise<OpenedPage> {
  const session = sessions.get(url) ?? signIn(browser, link);
  sessions.set(url, session);
  const opened = await openPage(browser, `${url}/console/${path}`, { storageState: await session });
  await opened.page.getByRole('navigation', { name: 'Screens' }).waitFor();
  return opened;
}
