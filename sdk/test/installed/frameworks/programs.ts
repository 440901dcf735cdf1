// Starts each framework, from npm and for real, with a receiver at /hook. The frameworks are those of this folder's package.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import express from 'express';
import fastify from 'fastify';
import { H3, serve } from 'h3';
import * as h3Before from 'h3-1';
import { type Context, Hono } from 'hono';
import { receive as receiveExpress } from 'postrider-sdk/express';
import { receive as receiveFastify } from 'postrider-sdk/fastify';
import { receive as receiveH3 } from 'postrider-sdk/h3';
import { receive as receiveHono } from 'postrider-sdk/hono';
import { receivePages } from 'postrider-sdk/next';
import { createBuilder, preview } from 'vite';
import { binaryOf, installed, programFolder } from '../../../../packaging/installed.ts';
import { bundled } from '../../frameworks/bundle.ts';
import type { Keys, Programs, Started } from '../../frameworks/check-receiver.ts';
import { handle } from '../../frameworks/handler.ts';

const SHARED = join(import.meta.dirname, '..', '..', 'frameworks');
const MOST = { bodyBytesMax: 100_000 };

async function listening(server: Server): Promise<Started> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function onNode(listener: RequestListener): Promise<Started> {
  return listening(createServer(listener));
}

export const PROGRAMS: Programs = {
  Express(keys) {
    const app = express();
    app.post('/hook', receiveExpress({ keys, ...MOST }, handle));
    app.use(express.json());
    return onNode(app as RequestListener);
  },

  'Express after a parser of raw bodies'(keys) {
    const app = express();
    app.use(express.raw({ type: '*/*', limit: 200_000 }));
    app.post('/hook', receiveExpress({ keys, ...MOST }, handle));
    return onNode(app as RequestListener);
  },

  /** Of an empty body the parser leaves nothing, not even the event of its end. */
  'Express after a parser that takes only what is empty'(keys) {
    const app = express();
    app.use((request, response, next) => {
      if (request.headers['content-length'] !== '0') return next();
      express.json({ type: '*/*' })(request, response, next);
    });
    app.post('/hook', receiveExpress({ keys, ...MOST }, handle));
    return onNode(app as RequestListener);
  },

  async Fastify(keys) {
    const app = fastify();
    app.register(receiveFastify({ keys, ...MOST }, handle), { prefix: '/hook' });
    app.post('/parsed', async (request) => request.body);
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/hook`, close: () => app.close() };
  },

  async Hono(keys) {
    const app = new Hono();
    app.post(
      '/hook',
      receiveHono<Context>({ keys, ...MOST }, (delivery, c) => handle(delivery) ?? c.body(null)),
    );
    // Hono runs on any server of web requests; this is the one of h3.
    return served(app.fetch);
  },

  'h3 and Nuxt, version 1'(keys) {
    const app = h3Before.createApp();
    app.use('/hook', h3Before.eventHandler(receiveH3({ keys, ...MOST }, handle)));
    return onNode(h3Before.toNodeListener(app));
  },

  'h3, version 2'(keys) {
    const app = new H3({ silent: true }).post('/hook', receiveH3({ keys, ...MOST }, handle));
    return served(app.fetch.bind(app));
  },

  'Next.js, as its pages call it'(keys) {
    return onNode((request, response) => {
      const receives = receivePages({ keys, ...MOST }, handle);
      receives(request, response).catch(() => response.writeHead(500).end());
    });
  },

  'Cloudflare Workers': startWorkerd,
  SvelteKit: startSvelteKit,
};

async function served(fetch: (request: Request) => Response | Promise<Response>): Promise<Started> {
  const server = serve({ fetch } as unknown as H3, { port: 0, hostname: '127.0.0.1', silent: true });
  await server.ready();
  return { url: `${server.url}hook`, close: () => server.close(true) };
}

const WORKERD = ['darwin-64', 'darwin-arm64', 'linux-64', 'linux-arm64'].map((each) => `@cloudflare/workerd-${each}`);

async function startWorkerd(keys: Keys): Promise<Started> {
  const workerd = await installed(join(import.meta.dirname, '..', 'workerd'));
  const binary = binaryOf(workerd, WORKERD, join('bin', 'workerd'));
  if (binary === null) throw new Error('npm has no workerd for this machine');
  const folder = programFolder(workerd);
  writeFileSync(join(folder, 'worker.js'), await bundled(join(SHARED, 'worker.ts')));
  writeFileSync(
    join(folder, 'config.capnp'),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .receiver)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const receiver :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
  bindings = [(name = "KEYS", text = ${JSON.stringify(keys.join(','))})],
);`,
  );
  const child = spawn(binary, ['serve', join(folder, 'config.capnp'), '--control-fd=3'], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  const { port } = (await firstLine(child, 3)) as { port: number };
  return {
    url: `http://127.0.0.1:${port}/hook`,
    async close() {
      child.kill();
      await once(child, 'exit');
      rmSync(folder, { recursive: true });
    },
  };
}

async function firstLine(child: ChildProcess, from: number): Promise<unknown> {
  const pipe = child.stdio[from] as NodeJS.ReadableStream;
  const [text] = (await Promise.race([once(pipe, 'data'), once(child, 'exit').then(() => ['{}'])])) as [Buffer];
  return JSON.parse(String(text).split('\n')[0]!);
}

async function startSvelteKit(keys: Keys): Promise<Started> {
  const folder = programFolder(import.meta.dirname);
  const route = join(folder, 'src', 'routes', 'hook');
  mkdirSync(route, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(folder, 'src', 'app.html'),
    '<html><head>%sveltekit.head%</head><body>%sveltekit.body%</body></html>',
  );
  writeFileSync(
    join(route, '+server.ts'),
    `import { receive } from 'postrider-sdk/sveltekit';
import { handle } from ${JSON.stringify(join(SHARED, 'handler.ts'))};
export const POST = receive(${JSON.stringify({ keys, ...MOST })}, handle);`,
  );
  const { sveltekit } = await import('@sveltejs/kit/vite');
  const before = process.cwd();
  process.chdir(folder);
  // Built: in production SvelteKit refuses what a form of another page could send, and these deliveries look like that.
  const plugins = async () => [await sveltekit({ csrf: { trustedOrigins: ['*'] } })];
  const builder = await createBuilder({ root: folder, logLevel: 'silent', plugins: await plugins() });
  await builder.buildApp();
  const vite = await preview({
    root: folder,
    logLevel: 'silent',
    preview: { host: '127.0.0.1', port: 0 },
    plugins: await plugins(),
  });
  const { port } = vite.httpServer.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/hook`,
    async close() {
      await vite.close();
      process.chdir(before);
      rmSync(folder, { recursive: true });
    },
  };
}
