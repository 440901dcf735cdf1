// One PostgreSQL connection that prepares each statement once. It knows nothing of messages.

import pg from 'pg';
import { isOutdated } from './errors.ts';

export type Value = string | number | boolean | null | Uint8Array | readonly (string | number | boolean | null)[];

/**
 * Each distinct SQL text is prepared once for each connection, under a name: texts are constants, values are
 * parameters.
 */
const names = new Map<string, string>();
let namesGiven = 0;

function nameOf(text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `s${namesGiven}`;
    namesGiven += 1;
    names.set(text, name);
  }
  return name;
}

export class Database {
  readonly #client: pg.ClientBase;

  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  /** Rows of a query. */
  async all<T>(sql: string, ...values: Value[]): Promise<T[]> {
    return (await this.#query(sql, values)).rows as T[];
  }

  async get<T>(sql: string, ...values: Value[]): Promise<T | undefined> {
    return (await this.#query(sql, values)).rows[0] as T | undefined;
  }

  /** How many rows a statement changed. */
  async run(sql: string, ...values: Value[]): Promise<number> {
    return (await this.#query(sql, values)).rowCount ?? 0;
  }

  /** Statements without parameters; several at once are allowed. */
  async exec(sql: string): Promise<void> {
    await this.#client.query(sql);
  }

  async #query(text: string, values: readonly Value[]): Promise<pg.QueryResult> {
    const name = nameOf(text);
    try {
      return await this.#client.query({ name, text, values: values.map(toParameter) });
    } catch (error) {
      // The next use of the text prepares it again, on every connection. Another connection may have noticed it first.
      if (isOutdated(error) && names.get(text) === name) names.delete(text);
      throw error;
    }
  }
}

/** The driver would send a plain Uint8Array as text. */
function toParameter(value: Value): unknown {
  return value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.byteLength) : value;
}

const { BYTEA, INT8 } = pg.types.builtins;

/** bigint becomes a number: no count, sequence or instant comes near 2^53. bytea becomes a Uint8Array. */
export const typeParsers: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8 && format !== 'binary') return Number;
    const parse = pg.types.getTypeParser(oid, format as 'text');
    return oid === BYTEA ? (value: string) => plainBytes(parse(value) as Buffer) : parse;
  }) as typeof pg.types.getTypeParser,
};

/** The same bytes as a plain Uint8Array instead of the driver's Buffer. */
function plainBytes({ buffer, byteOffset, byteLength }: Buffer): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
