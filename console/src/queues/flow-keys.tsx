// Flow keys: limits across URLs. They are shown beside the queues, because a flow key can also be the reason why a
// message waits.

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { calls, type FlowKey } from 'postrider-sdk';
import { useClient } from '../base/session.ts';
import { ActionButton } from '../ui/action.tsx';
import { shownCount } from '../ui/count.ts';
import { ProblemNotice, Section } from '../ui/page.tsx';

export function FlowKeys() {
  const client = useClient();
  const { data: keys, error } = useQuery({
    queryKey: ['flow-keys'],
    queryFn: () => client.listFlowKeys(),
    refetchInterval: 3000,
  });
  if (error && !keys) return <ProblemNotice error={error} />;
  if (!keys || keys.length === 0) return null;
  return (
    <Section title="Flow keys">
      <ul className="card divide-y divide-line">
        {keys.map((key) => (
          <FlowKeyRow key={key.flowControlKey} flowKey={key} />
        ))}
      </ul>
    </Section>
  );
}

function FlowKeyRow({ flowKey }: { readonly flowKey: FlowKey }) {
  const {
    flowControlKey: name,
    isPaused,
    waitListSize,
    isWaitListSizeCut,
    parallelismMax,
    parallelismCount,
    rateMax,
    rateCount,
    ratePeriod,
  } = flowKey;
  return (
    <li className="flex flex-wrap items-center gap-x-6 gap-y-2 px-4 py-3">
      <p className="min-w-32 grow font-medium">
        <Link to="/messages" search={{ flowControlKey: name }} className="break-all hover:underline">
          {name}
        </Link>
        {isPaused && <span className="chip ml-2 border-transparent bg-retrying-soft text-retrying">paused</span>}
      </p>
      <p className="num text-xs text-ink-2">{shownCount(waitListSize, isWaitListSizeCut)} waiting</p>
      {parallelismMax > 0 && (
        <p className="num text-xs text-ink-2">
          {parallelismCount} of {parallelismMax} at once
        </p>
      )}
      {rateMax > 0 && (
        <p className="num text-xs text-ink-2">
          {rateCount} of {rateMax} in {ratePeriod} s
        </p>
      )}
      {isPaused ? (
        <ActionButton
          call={calls.resumeFlowKey(name)}
          icon="play"
          className="btn btn-small btn-primary"
          done={`Flow key “${name}” is resumed`}
        >
          Resume
        </ActionButton>
      ) : (
        <ActionButton
          call={calls.pauseFlowKey(name)}
          icon="pause"
          className="btn btn-small"
          done={`Flow key “${name}” is paused`}
        >
          Pause
        </ActionButton>
      )}
    </li>
  );
}
