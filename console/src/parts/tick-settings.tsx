// The fields for what a schedule does at its ticks: whether they may overlap, and by how much messages are due later.

export function TickSettings({
  overlap,
  jitter,
  onOverlap,
  onJitter,
}: {
  readonly overlap: string;
  readonly jitter: string;
  readonly onOverlap: (overlap: string) => void;
  readonly onJitter: (jitter: string) => void;
}) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      <label className="block">
        <span className="label">While a message is open</span>
        <select className="input" value={overlap} onChange={(event) => onOverlap(event.target.value)}>
          <option value="allow">Create the next one</option>
          <option value="skip">Skip the tick</option>
        </select>
      </label>
      <label className="block">
        <span className="label">Jitter: due up to this much later</span>
        <input
          className="input mono"
          placeholder="none, or for example 30s"
          value={jitter}
          onChange={(event) => onJitter(event.target.value)}
        />
      </label>
    </div>
  );
}
