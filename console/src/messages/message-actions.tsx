// The actions that are possible in the current state of the message.

import { Link, useNavigate } from '@tanstack/react-router';
import { calls, type MessageWithAttempts } from 'postrider-sdk';
import { useState } from 'react';
import { useHasScope, useSession } from '../base/session.ts';
import { callOf, draftOf, missingFields } from '../parts/publish-again.ts';
import { useWhy } from '../parts/why-box.tsx';
import { ActionButton, missingScopeText, useCurl } from '../ui/action.tsx';
import { ConfirmButton } from '../ui/confirm.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { isOpen } from '../ui/state.tsx';
import { ChangeMessage } from './change-dialog.tsx';
import { RetryDialog } from './retry-dialog.tsx';

export function MessageActions({ message }: { readonly message: MessageWithAttempts }) {
  const navigate = useNavigate();
  const toCurl = useCurl();
  const { messageId, state } = message;
  const dlqId = dlqIdOf(messageId);
  const draft = draftOf(message, useSession().account.limits.timeoutMsDefault);
  const missing = missingFields(draft);
  return (
    <div className="flex flex-wrap gap-2">
      {state === 'HELD' && <Release messageId={messageId} />}
      {(state === 'CREATED' || state === 'RETRY') && <DeliverNow message={message} />}
      {(state === 'CREATED' || state === 'RETRY' || state === 'HELD') && <ChangeMessage message={message} />}
      {isOpen(message) && state !== 'CANCEL_REQUESTED' && (
        <ConfirmButton
          title="Cancel this message?"
          verb="Cancel it"
          call={calls.cancelMessage(messageId)}
          button="Cancel"
          done="Cancelled"
        >
          <p>
            No further attempt starts. An attempt that is already in flight cannot be stopped; its result is recorded
            here.
          </p>
        </ConfirmButton>
      )}
      {state === 'FAILED' && message.retriedAs === undefined && <Retry message={message} />}
      {state === 'FAILED' && (
        <ConfirmButton
          title="Delete this dead letter?"
          verb="Delete it"
          call={calls.deleteDeadLetter(dlqId)}
          icon="trash"
          label="Delete"
          done="Deleted"
          onDone={() => void navigate({ to: '/messages' })}
        >
          <p>The message, its body and its attempts are deleted permanently.</p>
        </ConfirmButton>
      )}
      <Link to="/send" search={{ from: messageId }} className="btn">
        <Icon name="copy" className="size-3.5" />
        Duplicate
      </Link>
      <CopyButton
        text={() => toCurl(callOf(draft))}
        label="the message as cURL"
        className="btn"
        refusal={
          missing.length === 0
            ? undefined
            : `Redacted, so no command can contain it: ${missing.join(', ')}. Duplicate lets you enter it.`
        }
      >
        cURL
      </CopyButton>
    </div>
  );
}

/** Delivers the message now. In a queue this is possible only for a head whose attempts were interrupted by crashes. */
function DeliverNow({ message: { messageId, queueName } }: { readonly message: MessageWithAttempts }) {
  const { data: why } = useWhy(messageId);
  const mustWait = queueName !== undefined && why?.reason !== 'interrupted';
  return (
    <ActionButton
      call={calls.deliverNow(messageId)}
      icon="send"
      className="btn btn-primary"
      isDisabled={mustWait}
      done="It is due now"
      {...(mustWait && { hint: 'A message in a queue must wait for its turn' })}
    >
      Deliver now
    </ActionButton>
  );
}

function Release({ messageId }: { readonly messageId: string }) {
  return (
    <ConfirmButton
      title="Release this message?"
      verb="Release it"
      call={calls.releaseMessage(messageId)}
      icon="play"
      button="Release"
      className="btn btn-primary"
      isDanger={false}
      done="Released: it will be delivered again"
    >
      <p>
        It was the only message in flight each time the server crashed. If it is the cause, the server will crash again.
      </p>
      <p>Its count of crashes starts again at zero: it is held again after three more.</p>
    </ConfirmButton>
  );
}

/** Sends a dead letter again, unchanged or with changes. */
function Retry({ message }: { readonly message: MessageWithAttempts }) {
  const navigate = useNavigate();
  const may = useHasScope('manage');
  const [isEditing, setIsEditing] = useState(false);
  const dlqId = dlqIdOf(message.messageId);
  const goTo = (id: string) => void navigate({ to: '/messages/$messageId', params: { messageId: id } });
  return (
    <>
      <ActionButton
        call={calls.retryDeadLetter(dlqId)}
        icon="retry"
        className="btn btn-primary"
        done="Sent again, as a new message"
        onDone={({ messageId: id }) => goTo(id)}
      >
        Retry
      </ActionButton>
      <button
        type="button"
        className="btn"
        disabled={!may}
        title={may ? undefined : missingScopeText('manage')}
        onClick={() => setIsEditing(true)}
      >
        <Icon name="edit" className="size-3.5" />
        Retry with edits
      </button>
      <RetryDialog message={message} dlqId={dlqId} isOpen={isEditing} onOpenChange={setIsEditing} onDone={goTo} />
    </>
  );
}

export function dlqIdOf(messageId: string): string {
  return messageId.replace(/^msg_/, 'dlq_');
}
