// Without a browser of Playwright's own: CHROMIUM_PATH names another one.

const { CHROMIUM_PATH } = process.env;

export default {
  testDir: '.',
  reporter: 'line',
  use: { launchOptions: CHROMIUM_PATH ? { executablePath: CHROMIUM_PATH, args: ['--no-sandbox'] } : {} },
};
