// Bytes that are not text: sixteen bytes a line, in hexadecimal and, if printable, as characters.

import { useMemo, useState } from 'react';

const LINE = 16;
const LINES_SHOWN = 64;

export function HexView({ bytes }: { readonly bytes: Uint8Array }) {
  const [shown, setShown] = useState(LINES_SHOWN);
  const text = useMemo(() => hexLines(bytes.subarray(0, shown * LINE)).join('\n'), [bytes, shown]);
  const isMore = bytes.length > shown * LINE;
  return (
    <>
      <pre tabIndex={0} role="group" aria-label="body in hex" className="mono max-h-96 overflow-auto p-3 leading-5">
        {text}
      </pre>
      {isMore && (
        <button type="button" className="link px-3 pb-3 text-xs" onClick={() => setShown(shown * 4)}>
          Show more
        </button>
      )}
    </>
  );
}

export function hexLines(bytes: Uint8Array): string[] {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += LINE) {
    const part = [...bytes.subarray(at, at + LINE)];
    const hex = part.map((byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const printed = part.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : '·')).join('');
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(3 * LINE - 1)}  ${printed}`);
  }
  return lines;
}
