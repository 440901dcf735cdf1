// The clients of the service: publish and cancel through one node, and note what they were answered. A node that dies
// with a request under way leaves its client without an answer.

import { CANCEL_CONFIRMED_MS_MAX } from '../../src/inbound/api/cancelling.ts';
import type { MessageChange } from '../../src/rules/delivery/change.ts';
import type { NewMessage } from '../../src/rules/delivery/message.ts';
import type { Tiers } from '../../src/rules/limits/tier.ts';
import { StoreUnavailable } from '../../src/store/ports/store.ts';
import type { Cancel, Change, ExpectedMessage, Publish } from '../checker/history.ts';
import { NO_CHANGE } from '../conformance/change.ts';
import { planMessages } from '../support/plan-messages.ts';
import type { Happening } from './coverage.ts';
import { type Draft, type DraftAccount, hashOf } from './draft.ts';
import { DEDUPLICATION_WINDOW_MS } from './extras.ts';
import type { SimulatedNode } from './node.ts';

type NewContent = Pick<MessageChange, 'dueAt'> &
  Partial<Pick<MessageChange, 'priority' | 'mustStartBefore'>> & {
    readonly [K in 'target' | 'body' | 'forward']: NonNullable<MessageChange[K]>;
  };

/** Of a message that nobody has changed or tried. */
const FIRST_VERSION = '0-0';

interface UnderWay {
  readonly node: SimulatedNode;
  readonly isPublish: boolean;
  readonly giveUp: () => void;
}

export class Client {
  readonly publishes: Publish[] = [];
  readonly cancels: Cancel[] = [];
  readonly changes: Change[] = [];
  /** Of these the client was told that they are cancelled: none of them starts from then on. */
  readonly cancelled = new Set<string>();
  /** Released by somebody while they were held. */
  readonly released: string[] = [];
  /** Known to be accepted: what may be cancelled or changed. */
  readonly accepted: { readonly id: string; readonly accountId: string; readonly message: ExpectedMessage }[] = [];
  /** Those with a debounce key: they are cancelled, and changed by others with the key alone. */
  readonly debounced: Client['accepted'] = [];
  readonly #tiers: Tiers;
  readonly #nowMs: () => number;
  readonly #trace: (line: string) => void;
  readonly #note: (happening: Happening) => void;
  readonly #underWay = new Set<UnderWay>();
  /** The newest version of each message that a client was told of. */
  readonly #versions = new Map<string, string>();

  constructor(tiers: Tiers, nowMs: () => number, trace: (line: string) => void, note: (happening: Happening) => void) {
    this.#tiers = tiers;
    this.#nowMs = nowMs;
    this.#trace = trace;
    this.#note = note;
  }

  get isIdle(): boolean {
    return this.#underWay.size === 0;
  }

  isWaitingFor(node: SimulatedNode): boolean {
    return [...this.#underWay].some((each) => each.node === node);
  }

  /** The answer of these requests will never come. How many publishes there were. */
  loseAnswers(node: SimulatedNode): number {
    const lost = [...this.#underWay].filter((each) => each.node === node);
    for (const each of lost) each.giveUp();
    return lost.filter(({ isPublish }) => isPublish).length;
  }

  /** What http/ does with a publish: looks up topics, plans, accepts all of it at once, answers. */
  publish(node: SimulatedNode, account: DraftAccount, drafts: readonly Draft[]): void {
    const askedAt = this.#nowMs();
    const expected = drafts.flatMap((draft) => draft.expected);
    this.#trace(`publish ${expected.map(({ url, queue }) => (queue ? `${queue} ${url}` : url)).join(', ')}`);
    const end = (outcome: Publish['outcome'], messages = expected) => {
      this.publishes.push({ outcome, askedAt, endedAt: this.#nowMs(), messages });
      this.#trace(`publish ${outcome}: ${messages.map(({ id, url }) => id ?? url).join(', ')}`);
    };
    const ask = async () => {
      const messages = await this.#plan(node, account, drafts);
      if (!messages) return null;
      const { duplicates, misplaced, debounced } = await node.store.accept(messages, messages[0]!.createdAt);
      if (misplaced) {
        this.#note('debounced in another line refused');
        return null;
      }
      // What was not written is no message of this publish. What took the place of another one has its id.
      return messages.map((message, index) =>
        duplicates[index] === null ? { ...message, id: debounced?.[index]?.messageId ?? message.id } : null,
      );
    };
    this.#follow(node, true, ask(), {
      answered: (messages) => {
        if (!messages) {
          this.#note('publish refused by a limit');
          return end('refused');
        }
        const made = messages.flatMap((message, index) =>
          message ? [{ ...message, expected: expected[index]! }] : [],
        );
        for (const { id, accountId, expected, debounce } of made) {
          const list = debounce ? this.debounced : this.accepted;
          list.push({ id, accountId, message: expected });
        }
        end(
          'ok',
          made.map(({ id, expected }) => ({ ...expected, id })),
        );
      },
      refused: () => {
        this.#note('publish refused by the store');
        end('refused');
      },
      lost: () => end('unknown'),
    });
  }

  cancel(node: SimulatedNode, messageId: string, accountId: string): void {
    const now = node.time.now();
    this.#trace(`cancel ${messageId}`);
    const end = (outcome: Cancel['outcome']) => {
      this.cancels.push({ messageId, outcome, endedAt: this.#nowMs() });
      this.#trace(`cancel ${messageId}: ${outcome}`);
    };
    const ask = async () => {
      const { store } = node;
      const answer = await store.cancel(accountId, [messageId], now, now + this.#tiers.free.retentionMs);
      const claimed = [...answer.requested, ...answer.awaited];
      if (claimed.length === 0) return answer.cancelled.length > 0 ? 'cancelled' : 'notCancelled';
      const left = await store.confirmCancels(accountId, claimed, CANCEL_CONFIRMED_MS_MAX);
      return left.length > 0 ? 'requested' : 'cancelled';
    };
    this.#follow(node, false, ask(), {
      answered: (outcome) => {
        if (outcome === 'cancelled') this.cancelled.add(messageId);
        if (outcome === 'requested') this.#note('cancel requested, not confirmed');
        end(outcome);
      },
      refused: () => end('unknown'),
      lost: () => end('unknown'),
    });
  }

  /** Changes all of the content of a message, and its time if `dueAt` is given. */
  change(node: SimulatedNode, of: Client['accepted'][number], asked: NewContent, hasIfMatch = false): void {
    const { id, accountId, message } = of;
    const askedAt = this.#nowMs();
    this.#trace(`change ${id} to ${asked.target.url}`);
    const [trace] = asked.forward;
    const content = {
      url: asked.target.url,
      method: message.method,
      bodyHash: hashOf(asked.body),
      headers: [...message.headers.filter(([name]) => name === 'Content-Type'), trace!],
    };
    const ifMatch = hasIfMatch ? (this.#versions.get(id) ?? FIRST_VERSION) : null;
    const end = (outcome: Change['outcome'], version: string | null = null) => {
      if (version !== null) this.#versions.set(id, version);
      const what = { messageId: id, content, isTimeChanged: asked.dueAt !== null, ifMatch, version };
      this.changes.push({ ...what, outcome, askedAt, endedAt: this.#nowMs() });
      this.#trace(`change ${id}: ${outcome}`);
    };
    const change = { ...NO_CHANGE, ...asked, versions: ifMatch === null ? null : [ifMatch] };
    this.#follow(node, false, node.store.changeMessage(accountId, id, change, node.time.now()), {
      answered: (answer) => {
        if (answer.outcome === 'changed') return end('changed', answer.version);
        end('refused', answer.outcome === 'otherVersion' ? answer.version : null);
      },
      refused: () => end('refused'),
      lost: () => end('unknown'),
    });
  }

  /** Lets all held messages of an account go on, as a person would who looks at the list of them. */
  releaseHeld(node: SimulatedNode, accountId: string, onReleased: () => void): void {
    const page = { limit: 100, cursor: null, order: 'oldestFirst', withBodies: false } as const;
    const release = async () => {
      const { messages } = await node.store.searchMessages(accountId, { states: ['HELD'] }, page);
      const ids = messages.map(({ id }) => id);
      // Whoever gets no answer may have been heard all the same.
      this.released.push(...ids);
      return ids.length === 0 ? [] : node.store.releaseHeld(accountId, ids, node.time.now());
    };
    this.#follow(node, false, release(), {
      answered: (released) => {
        if (released.length > 0) onReleased();
      },
      refused: () => {},
      lost: () => {},
    });
  }

  async #plan(node: SimulatedNode, account: DraftAccount, drafts: readonly Draft[]): Promise<NewMessage[] | null> {
    const publisher = { accountId: account.id, tier: this.#tiers[account.tier] };
    const messages: NewMessage[] = [];
    for (const { destination, request } of drafts) {
      const to =
        'target' in destination
          ? { kind: 'url' as const, target: destination.target }
          : { kind: 'topic' as const, topic: (await node.store.getTopic(account.id, destination.topicName))! };
      const plan = planMessages({ ...request, destination: to }, publisher, {
        now: node.time.now(),
        wallNow: node.time.wallNow(),
        newId: node.newId,
        deduplicationWindowMs: DEDUPLICATION_WINDOW_MS,
        sha256: hashOf,
      });
      if ('problem' in plan) return null;
      messages.push(...plan.messages);
    }
    return messages;
  }

  #follow<T>(
    node: SimulatedNode,
    isPublish: boolean,
    answer: Promise<T>,
    on: { answered: (value: T) => void; refused: () => void; lost: () => void },
  ): void {
    const underWay: UnderWay = {
      node,
      isPublish,
      giveUp: () => {
        this.#underWay.delete(underWay);
        on.lost();
      },
    };
    this.#underWay.add(underWay);
    answer.then(
      (value) => {
        if (this.#underWay.delete(underWay)) on.answered(value);
      },
      (error) => {
        if (!this.#underWay.delete(underWay)) return;
        if (!(error instanceof StoreUnavailable)) throw error;
        if (error.reason === 'doubtful') on.lost();
        else on.refused();
      },
    );
  }
}
