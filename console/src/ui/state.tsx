// The states of a message: one name and one colour each, the same on every screen.

import type { Message, MessageState } from 'postrider-sdk';

export const STATES: Readonly<
  Record<MessageState, { readonly label: string; readonly text: string; readonly dot: string; readonly soft: string }>
> = {
  CREATED: { label: 'Waiting', text: 'text-waiting', dot: 'bg-waiting', soft: 'bg-waiting-soft' },
  ACTIVE: { label: 'In flight', text: 'text-active', dot: 'bg-active', soft: 'bg-active-soft' },
  RETRY: { label: 'Retrying', text: 'text-retrying', dot: 'bg-retrying', soft: 'bg-retrying-soft' },
  HELD: { label: 'Held', text: 'text-held', dot: 'bg-held', soft: 'bg-held-soft' },
  CANCEL_REQUESTED: {
    label: 'Being cancelled',
    text: 'text-cancelled',
    dot: 'bg-cancelled',
    soft: 'bg-cancelled-soft',
  },
  DELIVERED: { label: 'Delivered', text: 'text-delivered', dot: 'bg-delivered', soft: 'bg-delivered-soft' },
  FAILED: { label: 'Failed', text: 'text-failed', dot: 'bg-failed', soft: 'bg-failed-soft' },
  CANCELLED: { label: 'Cancelled', text: 'text-cancelled', dot: 'bg-cancelled', soft: 'bg-cancelled-soft' },
};

export const STATE_NAMES = Object.keys(STATES) as readonly MessageState[];

export const OPEN_STATES: readonly MessageState[] = ['CREATED', 'ACTIVE', 'RETRY', 'HELD', 'CANCEL_REQUESTED'];

export function isOpen(message: Pick<Message, 'state'>): boolean {
  return OPEN_STATES.includes(message.state);
}

export function StateLabel({ state, isSoft = false }: { readonly state: MessageState; readonly isSoft?: boolean }) {
  const { label, text, dot, soft } = STATES[state];
  return (
    <span
      className={`inline-flex items-center gap-1.5 text-xs font-medium whitespace-nowrap ${text} ${isSoft ? `${soft} h-6 rounded-full px-2.5` : ''}`}
    >
      <span
        className={`size-2 shrink-0 rounded-full ${dot} ${state === 'ACTIVE' || state === 'CANCEL_REQUESTED' ? 'breathe' : ''}`}
      />
      {label}
    </span>
  );
}

/** A status code in the colour of its meaning. */
export function StatusCode({ status }: { readonly status: number | undefined }) {
  if (status === undefined) return <span className="text-ink-3">—</span>;
  const tone = status >= 200 && status < 300 ? 'text-delivered' : 'text-failed';
  return <span className={`mono num font-medium ${tone}`}>{status}</span>;
}
