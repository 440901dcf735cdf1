// Databases for tests on a server that runs already. All of one run start with the name of its home database, so that
// they can be told from those of others and removed together.

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { openPatiently } from './open-patiently.ts';

const PREFIX = 'postrider_test_';
const HOME = `^${PREFIX}[0-9a-f]{8}$`;
/** Any number: who makes the template holds this lock in the home database. */
const TEMPLATE_LOCK = 1;

export class Databases {
  /** Tests in other processes of this run find the server and their names by it. */
  readonly homeUrl: string;
  readonly #home: string;
  readonly #admin: pg.Pool;
  #template: Promise<string> | null = null;

  constructor(homeUrl: string) {
    this.homeUrl = homeUrl;
    this.#home = databaseOf(homeUrl);
    // Kept open, because who is connected to the home database says that the run is not over. An idle connection
    // neither keeps the process alive nor ends it when the server is restarted.
    this.#admin = new pg.Pool({ connectionString: homeUrl, max: 2, idleTimeoutMillis: 0, allowExitOnIdle: true });
    this.#admin.on('error', () => {});
  }

  /** Every database of `server` may be named in place of its own. */
  static async makeHome(server: string): Promise<string> {
    const name = PREFIX + randomBytes(4).toString('hex');
    await withClient(server, (client) => client.query(`CREATE DATABASE ${name}`));
    return urlOf(server, name);
  }

  url(database: string): string {
    return urlOf(this.homeUrl, database);
  }

  /** A fresh one with the present schema, and its name. */
  async createDatabase(): Promise<string> {
    this.#template ??= this.#makeTemplate();
    return this.#create(`TEMPLATE ${await this.#template}`);
  }

  /** One without any schema. */
  createEmptyDatabase(): Promise<string> {
    return this.#create('');
  }

  /** Whoever is connected to it is cut off. */
  async dropDatabase(database: string): Promise<void> {
    await this.#admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  }

  /** Any statement, in the home database: for settings, and for a look at the activity of all. */
  query<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []): Promise<pg.QueryResult<Row>> {
    return this.#admin.query<Row>(sql, [...values]);
  }

  protected async endConnections(): Promise<void> {
    await this.#admin.end();
  }

  async #create(how: string): Promise<string> {
    const name = `${this.#home}_${randomBytes(6).toString('hex')}`;
    await this.#admin.query(`CREATE DATABASE ${name} ${how}`);
    return name;
  }

  /** Once for all processes of the run: copying a schema takes a fraction of the time of making one. */
  async #makeTemplate(): Promise<string> {
    const name = `${this.#home}_template`;
    await withClient(this.homeUrl, async (client) => {
      await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
      const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [name]);
      if (rowCount !== 0) return;
      const unfinished = await this.createEmptyDatabase();
      const store = await openPatiently({ url: this.url(unfinished), node: 'nod_template' });
      await store.close();
      await client.query(`ALTER DATABASE ${unfinished} RENAME TO ${name}`);
    });
    return name;
  }
}

/** A server that was here before the tests and stays after them. */
export class BorrowedServer extends Databases {
  readonly #server: string;

  private constructor(server: string, homeUrl: string) {
    super(homeUrl);
    this.#server = server;
  }

  static async start(server: string): Promise<BorrowedServer> {
    await withClient(server, dropLeftovers);
    const borrowed = new BorrowedServer(server, await Databases.makeHome(server));
    await borrowed.query('SELECT');
    return borrowed;
  }

  async stop(): Promise<void> {
    await this.endConnections();
    await withClient(this.#server, (client) => dropAll(client, databaseOf(this.homeUrl)));
  }
}

/** Of runs that were killed: nobody is in their home database any more. */
async function dropLeftovers(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ datname: string }>(
    `SELECT datname FROM pg_database
     WHERE datname ~ $1 AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datname = pg_database.datname)`,
    [HOME],
  );
  for (const { datname } of rows) await dropAll(client, datname);
}

async function dropAll(client: pg.Client, home: string): Promise<void> {
  const { rows } = await client.query<{ datname: string }>(
    'SELECT datname FROM pg_database WHERE starts_with(datname, $1) ORDER BY datname DESC', // the home itself last
    [home],
  );
  for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
}

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(url);
  client.on('error', () => {}); // a connection that breaks fails the query that runs on it
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function urlOf(server: string, database: string): string {
  const url = new URL(server);
  url.pathname = `/${database}`;
  return url.href;
}

function databaseOf(url: string): string {
  return new URL(url).pathname.slice(1);
}
