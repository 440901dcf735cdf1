// Nodes of two versions over one database, under load of every kind, while the newer version adds a column to every
// table: in any order, of any type. Nobody may notice. Then everything must end, and all that was accepted is looked for.

import { Chance } from '../simulation/chance.ts';
import { migrationProblems } from '../store/migration-rule.ts';
import { type Cleanup, startReceiver } from '../support/receiver.ts';
import { waitFor } from '../support/wait.ts';
import { NewerProgram } from './newer-program.ts';
import { type Node, Nodes } from './nodes.ts';
import { makeThings, SchemaLoad } from './schema-load.ts';

/** As a migration may add them (`store/migration-rule.ts`). */
const TYPES = [
  'text',
  "text NOT NULL DEFAULT 'none'",
  'text COLLATE "C"',
  'bigint',
  'integer NOT NULL DEFAULT 0',
  'boolean NOT NULL DEFAULT false',
  'bytea',
  "bytea NOT NULL DEFAULT ''",
  'jsonb',
  'timestamptz',
  'numeric DEFAULT 1.5',
  "text[] NOT NULL DEFAULT '{}'",
  'uuid',
];
/** Longer names than ours, so that none is there already. */
const columnName = (number: number) => `added_later_${number}`;
/** How many calls each worker makes between two changes. */
const CALLS_BETWEEN = 20;
const WORKERS = 4;

export interface SchemaCampaignOptions {
  readonly seed: number;
  readonly url: string;
  readonly cleanup: Cleanup;
  /** How many newer versions come one after another. Each adds its share of the columns. */
  readonly versions: number;
  readonly nodes: number;
}

export interface SchemaReport {
  readonly columns: number;
  readonly versions: number;
  readonly calls: number;
  readonly messages: number;
  readonly refused: number;
  readonly problems: readonly string[];
}

export async function schemaCampaign(options: SchemaCampaignOptions): Promise<SchemaReport> {
  const { seed, url, cleanup, versions } = options;
  const chance = new Chance(seed);
  const nodes = new Nodes(cleanup, url);
  const receiver = await startReceiver(cleanup, ({ target }) => (target.startsWith('/failing') ? 500 : 200));
  const running = await nodes.start(options.nodes);
  await makeThings(running[0]!, receiver.url);
  const tables = await tableNames(nodes);
  const changes = shuffled(tables, chance).map(
    (table, at) => `ALTER TABLE ${table} ADD COLUMN ${columnName(at)} ${chance.pick(TYPES)};`,
  );
  const newer = new NewerProgram(cleanup);
  const load = new SchemaLoad(seed, receiver.url, () => running);
  const working = load.start(WORKERS);
  try {
    for (let version = 0; version < versions; version += 1) {
      await load.calls(CALLS_BETWEEN * WORKERS);
      const share = changes.slice(
        Math.floor((changes.length * version) / versions),
        Math.floor((changes.length * (version + 1)) / versions),
      );
      for (const sql of share) {
        requireAllowed(sql);
        newer.add(sql);
      }
      const started = await nodes.startFrom(newer.bin);
      running.push(started);
      // Nodes of both versions work side by side, and one of the older ones leaves.
      await load.calls(CALLS_BETWEEN * WORKERS);
      if (running.length > options.nodes) await leave(running, chance);
    }
    await load.calls(CALLS_BETWEEN * WORKERS);
  } finally {
    load.stop();
    await working;
  }
  const left = await waitFor('every message to end', async () => (await nodes.tables.countOpen()) === 0).then(
    () => [],
    async () => [`${await nodes.tables.countOpen()} messages have not ended`],
  );
  const missing = await notStored(nodes, load.accepted);
  const arrived = new Set(receiver.arrivals.map((arrival) => arrival.header('Service-Message-Id')));
  const undelivered = await notDelivered(
    nodes,
    [...load.accepted].filter((id) => !arrived.has(id)),
  );
  return {
    columns: changes.length,
    versions,
    calls: load.made,
    messages: load.accepted.size,
    refused: load.refused,
    problems: [
      ...load.problems,
      ...left,
      ...missing.map((id) => `${id} was accepted and is not stored`),
      ...undelivered.map((id) => `${id} is said to be delivered and never arrived`),
      ...running.flatMap(({ process }) =>
        process.stderr === '' ? [] : [`a node logged: ${process.stderr.slice(0, 500)}`],
      ),
    ],
  };
}

async function leave(running: Node[], chance: Chance): Promise<void> {
  const [node] = running.splice(chance.below(running.length - 1), 1) as [Node];
  node.process.signal('SIGTERM');
  await node.process.exit;
}

async function tableNames(nodes: Nodes): Promise<string[]> {
  const rows = await nodes.tables.query<{ name: string }>(
    `SELECT relname::text AS name FROM pg_class
       WHERE relkind IN ('r', 'p') AND relpersistence = 'p' AND relnamespace = current_schema()::regnamespace ORDER BY relname`,
  );
  return rows.map(({ name }) => name);
}

/** A run that changes what no migration may change would show nothing. */
function requireAllowed(sql: string): void {
  const problems = migrationProblems({ version: Number.MAX_SAFE_INTEGER, name: 'newer', sql });
  if (problems.length > 0) throw new Error(problems.join('\n'));
}

async function notStored(nodes: Nodes, ids: ReadonlySet<string>): Promise<string[]> {
  const rows = await nodes.tables.query<{ id: string }>(
    'SELECT g.id FROM unnest($1::text[]) AS g (id) WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.id = g.id)',
    [[...ids]],
  );
  return rows.map(({ id }) => id);
}

/** Those that failed or were cancelled need not have arrived. */
async function notDelivered(nodes: Nodes, ids: readonly string[]): Promise<string[]> {
  const rows = await nodes.tables.query<{ id: string }>(
    "SELECT id FROM messages WHERE id = ANY ($1::text[]) AND state = 'delivered'",
    [ids],
  );
  return rows.map(({ id }) => id);
}

function shuffled<T>(list: readonly T[], chance: Chance): T[] {
  const left = [...list];
  return list.map(() => left.splice(chance.below(left.length), 1)[0]!);
}
