// npm run bench -- <what>: each measurement is a file of its own.

const MEASUREMENTS: Readonly<Record<string, () => Promise<unknown>>> = {
  nodes: () => import('./nodes.ts'),
  growth: () => import('./growth.ts'),
};

const [name = ''] = process.argv.slice(2);
const measure = MEASUREMENTS[name];
if (measure) await measure();
else {
  process.stderr.write(`npm run bench -- <what>, one of: ${Object.keys(MEASUREMENTS).join(', ')}\n`);
  process.exitCode = 1;
}
