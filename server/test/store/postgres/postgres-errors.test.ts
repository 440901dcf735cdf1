// What an error of the driver means: the database is away, nobody knows, or it is a fault of ours.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StoreUnavailable } from '../../../src/store/ports/store.ts';
import { committing, toStoreError } from '../../../src/store/postgres/sessions/errors.ts';

function errorWith(fields: object): Error {
  return Object.assign(new Error('something'), fields);
}

function reasonOf(error: unknown): string {
  return error instanceof StoreUnavailable ? error.reason : 'ours';
}

const REASONS = [
  ['a connection that broke', errorWith({ code: 'ECONNRESET' }), 'unavailable', 'doubtful'],
  ['a broken pipe, whose code looks like a state', errorWith({ code: 'EPIPE' }), 'unavailable', 'doubtful'],
  ['a connection that ended', errorWith({}), 'unavailable', 'doubtful'],
  ['a server that goes away', errorWith({ code: '57P01', severity: 'FATAL' }), 'unavailable', 'doubtful'],
  ['a statement that took too long', errorWith({ code: '57014', severity: 'ERROR' }), 'unavailable', 'unavailable'],
  ['a full disk', errorWith({ code: '53100', severity: 'ERROR' }), 'full', 'full'],
  ['a statement that is wrong', errorWith({ code: '42601', severity: 'ERROR' }), 'ours', 'ours'],
] as const;

for (const [what, error, reason, reasonAtCommit] of REASONS) {
  test(`${what} is told as ${reason}, and where it meets a commit as ${reasonAtCommit}`, async () => {
    assert.equal(reasonOf(toStoreError(error)), reason);
    const told = await committing(Promise.reject(error)).catch((caught: unknown) => toStoreError(caught));
    assert.equal(reasonOf(told), reasonAtCommit);
  });
}
