// Headers and a body, shown as text. JSON is shown as a tree that keeps every digit, binary content as hexadecimal.
// Nothing is ever treated as markup, and no link in it is fetched.

import type { HeaderMap } from 'postrider-sdk';
import { useMemo, useState } from 'react';
import { CopyButton } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { HexView } from './hex-view.tsx';
import { JsonTree, parseJson } from './json-tree.tsx';

/** Limit for the characters of a body that are shown. The download has the whole body. */
const SHOWN_CHARACTERS_MAX = 200_000;

export interface PayloadProps {
  readonly header: HeaderMap | undefined;
  readonly body: string | undefined;
  readonly bodyBase64: string | undefined;
  readonly isCut?: boolean;
  /** The file name of the download. */
  readonly name: string;
  readonly nothing: string;
}

export function Payload({ header = {}, body, bodyBase64, isCut = false, name, nothing }: PayloadProps) {
  const headers = Object.entries(header).flatMap(([key, values]) => values.map((value) => [key, value] as const));
  return (
    <div className="space-y-3">
      {headers.length > 0 && (
        <dl className="overflow-x-auto rounded-md border border-line text-xs">
          {headers.map(([key, value], index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a header may stand more than once
            <div key={`${key} ${index}`} className="flex gap-3 border-b border-line px-3 py-1 last:border-0">
              <dt className="w-36 shrink-0 break-words text-ink-3">{key}</dt>
              <dd className="mono min-w-0 grow break-all">{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {bodyBase64 !== undefined ? (
        <BinaryBody base64={bodyBase64} name={name} />
      ) : body !== undefined ? (
        <TextBody text={body} name={name} />
      ) : (
        <p className="text-sm text-ink-3">{nothing}</p>
      )}
      {isCut && <p className="text-xs text-retrying">The body was longer: only its beginning is stored.</p>}
    </div>
  );
}

function TextBody({ text, name }: { readonly text: string; readonly name: string }) {
  const json = useMemo(() => parseJson(text), [text]);
  const [view, setView] = useState<'tree' | 'text'>('tree');
  const isTree = json !== null && view === 'tree';
  const isLong = text.length > SHOWN_CHARACTERS_MAX;
  return (
    <div className="rounded-md border border-line">
      <div className="flex h-9 items-center gap-1 border-b border-line px-1.5">
        <span className="num grow px-1.5 text-xs text-ink-3">{sizeText(new TextEncoder().encode(text).length)}</span>
        {json !== null && (
          <button type="button" className="btn btn-quiet btn-small" onClick={() => setView(isTree ? 'text' : 'tree')}>
            {isTree ? 'As text' : 'As tree'}
          </button>
        )}
        <CopyButton text={text} label="body" />
        <Download parts={[text]} name={`${name}.txt`} />
      </div>
      {isTree ? (
        <JsonTree value={json.value} />
      ) : (
        <RawText text={isLong ? text.slice(0, SHOWN_CHARACTERS_MAX) : text} label="body" isBare />
      )}
      {isLong && !isTree && (
        <p className="border-t border-line px-3 py-2 text-xs text-ink-3">
          The body is cut off here. The download contains all of it.
        </p>
      )}
    </div>
  );
}

function BinaryBody({ base64, name }: { readonly base64: string; readonly name: string }) {
  const bytes = useMemo(() => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)), [base64]);
  return (
    <div className="rounded-md border border-line">
      <div className="flex h-9 items-center gap-1 border-b border-line px-1.5">
        <span className="num grow px-1.5 text-xs text-ink-3">binary · {sizeText(bytes.length)}</span>
        <CopyButton text={base64} label="body as base64" />
        <Download parts={[bytes]} name={`${name}.bin`} />
      </div>
      <HexView bytes={bytes} />
    </div>
  );
}

function Download({ parts, name }: { readonly parts: BlobPart[]; readonly name: string }) {
  const download = () => {
    // The type is that of plain bytes, so that a browser never opens the content.
    const url = URL.createObjectURL(new Blob(parts, { type: 'application/octet-stream' }));
    const link = document.createElement('a');
    link.href = url;
    link.download = name;
    link.click();
    URL.revokeObjectURL(url);
  };
  return (
    <button type="button" className="btn btn-quiet btn-small" aria-label="Download" title="Download" onClick={download}>
      <Icon name="download" className="size-3.5" />
    </button>
  );
}

export function RawText({
  text,
  label,
  isBare = false,
}: {
  readonly text: string;
  readonly label: string;
  readonly isBare?: boolean;
}) {
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label={label}
      className={`mono max-h-96 overflow-auto p-3 leading-5 break-words whitespace-pre-wrap ${isBare ? '' : 'rounded-md border border-line bg-sunken'}`}
    >
      {text}
    </pre>
  );
}

export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
