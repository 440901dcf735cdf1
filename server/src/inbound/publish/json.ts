// Parses JSON from untrusted callers: valid UTF-8, valid JSON, and no more values than a small body needs.

import { ApiError } from '../api/errors.ts';
import { JsonScanner, type JsonShape, shapeProblem } from './json-scanner.ts';

/** With `ignoreBOM`, a byte order mark stays in the text, so that JSON.parse refuses it. */
const STRICT = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const LENIENT = new TextDecoder('utf-8', { fatal: true });

/** Limits for the body of a management call, which may have a few thousand ids or endpoints. */
const MANAGEMENT: JsonShape = { depthMax: 64, valuesMax: 50_000 };
/**
 * Limits for the JSON of one message, in a batch or alone. 64 forwarded headers and all settings are a few hundred keys
 * and values. It also bounds how many headers are read at once.
 */
export const MESSAGE_SHAPE: JsonShape = { depthMax: 64, valuesMax: 2000 };

/** Counts the values before it parses them: a mebibyte of brackets would become hundreds of thousands of objects. */
export function parseManagementJson(body: Uint8Array, shape = MANAGEMENT): unknown {
  const scanner = new JsonScanner();
  scanner.next(body, 0, Number.NEGATIVE_INFINITY);
  const wrong = shapeProblem(scanner.deepest, scanner.values, shape);
  if (wrong !== null) throw new ApiError('bad_body', `the JSON body is too large: ${wrong}`);
  return parseJson(body, LENIENT);
}

/** Parses a part of a larger text. No byte order mark may come before it. */
export function parseJsonPart(bytes: Uint8Array): unknown {
  return parseJson(bytes, STRICT);
}

function parseJson(bytes: Uint8Array, decoder: TextDecoder): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw badJson((error as Error).message);
  }
}

export function badJson(why: string): ApiError {
  return new ApiError('bad_json', `the body is not valid JSON: ${why}`);
}
