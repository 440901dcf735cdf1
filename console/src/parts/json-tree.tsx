// JSON as a foldable tree. Numbers are shown as they were written: 9007199254740993 does not become …992.

import { useState } from 'react';

/** A number with the digits in which it was written. */
class Literal {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

type Json = null | boolean | string | Literal | readonly Json[] | { readonly [key: string]: Json };

const PARSED_CHARACTERS_MAX = 1_000_000;
const CHILDREN_SHOWN = 100;

/** The parsed text. Null when the text is not a JSON object or array. */
export function parseJson(text: string): { readonly value: Json } | null {
  if (text.length > PARSED_CHARACTERS_MAX || !/^\s*[[{]/.test(text)) return null;
  try {
    const reviver = (_key: string, value: unknown, context?: { readonly source?: string }) =>
      typeof value === 'number' ? new Literal(context?.source ?? String(value)) : value;
    return { value: JSON.parse(text, reviver) as Json };
  } catch {
    return null;
  }
}

export function JsonTree({ value }: { readonly value: Json }) {
  return (
    <div tabIndex={0} role="group" aria-label="body as a tree" className="mono max-h-96 overflow-auto p-3 leading-5">
      <Node value={value} depth={0} />
    </div>
  );
}

function Node({ name, value, depth }: { readonly name?: string; readonly value: Json; readonly depth: number }) {
  const [isUnfolded, setIsUnfolded] = useState(depth < 3);
  const [shown, setShown] = useState(CHILDREN_SHOWN);
  const label = name === undefined ? null : <span className="text-ink-2">{JSON.stringify(name)}: </span>;
  if (value === null || typeof value !== 'object' || value instanceof Literal) {
    return (
      <div className="pl-4 break-words whitespace-pre-wrap">
        {label}
        <Scalar value={value} />
      </div>
    );
  }
  const isList = Array.isArray(value);
  const entries: readonly (readonly [string, Json])[] = Object.entries(value);
  const [open, close] = isList ? '[]' : '{}';
  return (
    <div>
      <button
        type="button"
        aria-expanded={isUnfolded}
        className="flex items-center text-left"
        onClick={() => setIsUnfolded(!isUnfolded)}
      >
        <span
          className={`inline-block w-4 text-ink-3 transition-transform duration-100 ${isUnfolded ? 'rotate-90' : ''}`}
          aria-hidden="true"
        >
          ›
        </span>
        <span className="break-words">
          {label}
          <span className="text-ink-3">
            {open}
            {!isUnfolded && ` ${entries.length} ${close}`}
          </span>
        </span>
      </button>
      {isUnfolded && (
        <>
          <div className="ml-2 border-l border-line pl-2">
            {entries.slice(0, shown).map(([key, child]) => (
              <Node key={key} {...(!isList && { name: key })} value={child} depth={depth + 1} />
            ))}
            {entries.length > shown && (
              <button type="button" className="link pl-4" onClick={() => setShown(shown + 10 * CHILDREN_SHOWN)}>
                {(entries.length - shown).toLocaleString('en')} more
              </button>
            )}
          </div>
          <div className="pl-4 text-ink-3">{close}</div>
        </>
      )}
    </div>
  );
}

function Scalar({ value }: { readonly value: null | boolean | string | number | Literal }) {
  if (value instanceof Literal) return <span className="text-active">{value.source}</span>;
  if (typeof value === 'string') return <span className="text-delivered">{JSON.stringify(value)}</span>;
  return <span className="text-retrying">{String(value)}</span>;
}
