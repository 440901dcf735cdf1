// A real Chromium: the one that is named, the one that is installed, or the one that Debian's package brings.

import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { after, before } from 'node:test';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const INSTALLED = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/usr/bin/google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

const NONE =
  'No Chromium for the console tests: set CHROMIUM_PATH to one, or install it (Debian: apt-get install chromium).';

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

export function findChromium(): string {
  const named = process.env.CHROMIUM_PATH;
  if (named) return named;
  const installed = INSTALLED.find((path) => existsSync(path));
  if (installed) return installed;
  if (isRoot() && existsSync('/usr/bin/apt-get')) {
    const quietly = { stdio: 'ignore', timeout: 600_000 } as const;
    try {
      execFileSync('apt-get', ['update'], quietly);
      execFileSync('apt-get', ['install', '-y', '--no-install-recommends', 'chromium'], quietly);
    } catch {
      // Said below.
    }
    if (existsSync('/usr/bin/chromium')) return '/usr/bin/chromium';
  }
  throw new Error(NONE);
}

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
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
  let browser: Browser;
  before(async () => {
    browser = await launchBrowser();
  });
  after(() => browser?.close());
  return () => browser;
}

export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 375, height: 740 };

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
  context.setDefaultTimeout(45_000);
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
