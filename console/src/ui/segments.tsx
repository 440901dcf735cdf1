// A bar of states: the count of each, as a length and as a number.

export interface Segment {
  readonly label: string;
  readonly count: number;
  readonly tone: string;
}

export function Segments({ parts, nothing }: { readonly parts: readonly Segment[]; readonly nothing: string }) {
  const shown = parts.filter(({ count }) => count > 0);
  return (
    <div>
      <div className="flex h-2 gap-px overflow-hidden rounded-full bg-sunken">
        {shown.map(({ label, count, tone }) => (
          <span key={label} className={`min-w-1 ${tone}`} style={{ flexGrow: count }} />
        ))}
      </div>
      <p className="num mt-1.5 flex flex-wrap gap-x-3 text-2xs text-ink-3">
        {shown.length === 0
          ? nothing
          : shown.map(({ label, count, tone }) => (
              <span key={label} className="inline-flex items-center gap-1">
                <span className={`size-1.5 rounded-full ${tone}`} />
                {count.toLocaleString('en')} {label}
              </span>
            ))}
      </p>
    </div>
  );
}
