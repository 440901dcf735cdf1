// Receivers of long jobs: they return 202 and report later how their work has ended, in time or too late, once or twice, or
// never, for this attempt or the one before, at any node. Whoever gets no reply asks again, perhaps another node.

import type { AckReply } from '../../src/acks/acks.ts';
import type { Delivery } from '../../src/delivery/engine/sender.ts';
import type { AckWord } from '../../src/rules/acks/ack.ts';
import type { Word } from '../checker/history.ts';
import type { Chance } from './chance.ts';
import type { Happening } from './coverage.ts';
import { headerOf } from './network.ts';
import { HEADER_PREFIX, type SimulatedNode } from './node.ts';
import type { Timeline } from './timeline.ts';

const OK: AckWord = { kind: 'ok' };
const RETRY: AckWord = { kind: 'failed', error: 'no disk', retry: true };
const NO_RETRY: AckWord = { kind: 'failed', error: 'no such job', retry: false };

type Plan = 'soon' | 'later' | 'fails' | 'gives up' | 'extends' | 'never' | 'too late' | 'twice' | 'contradicts itself';

const PLANS: Readonly<Record<Plan, number>> = {
  soon: 20,
  later: 25,
  fails: 12,
  'gives up': 3,
  extends: 14,
  never: 8,
  'too late': 6,
  twice: 6,
  'contradicts itself': 6,
};
/** How often the receiver also reports for an attempt that it got before. */
const OLD_PERCENT = 35;
const TRIES_MAX = 4;
const REPLY_MS_MAX = 8000;
/** After everything is healed, work ends well and soon. */
const HEALED_MS_MAX = 1500;

interface WorkersWorld {
  readonly timeline: Timeline;
  readonly chance: Chance;
  readonly isHealthy: () => boolean;
  readonly serving: () => readonly SimulatedNode[];
  readonly note: (happening: Happening) => void;
  readonly say: (line: string) => void;
}

export class Workers {
  /** All that was reported, with its reply. */
  readonly words: Word[] = [];
  readonly #world: WorkersWorld;
  /** By message: the URL of the attempt that arrived last. */
  readonly #urls = new Map<string, string>();

  constructor(world: WorkersWorld) {
    this.#world = world;
  }

  /** A delivery has arrived. Before its response is on its way, its receiver may report something. */
  arrived({ messageId, headers }: Delivery): void {
    const url = headerOf(headers, `${HEADER_PREFIX}Ack-Url`);
    if (url === null) return;
    const { chance, isHealthy } = this.#world;
    const before = this.#urls.get(messageId);
    this.#urls.set(messageId, url);
    if (isHealthy()) {
      this.#report(chance.between(0, HEALED_MS_MAX), url, OK);
      return;
    }
    if (before !== undefined && chance.isTrue(OLD_PERCENT)) {
      this.#world.note('ack for an attempt before');
      this.#report(chance.between(0, 5000), before, chance.pick([OK, OK, RETRY]));
    }
    this.#follow(chance.weighted(PLANS), url);
  }

  #follow(plan: Plan, url: string): void {
    const { chance } = this.#world;
    const laterMs = chance.between(0, 12_000);
    if (plan === 'soon') this.#report(chance.between(0, 800), url, OK);
    if (plan === 'later') this.#report(laterMs, url, OK);
    if (plan === 'fails') this.#report(laterMs, url, RETRY);
    if (plan === 'gives up') this.#report(laterMs, url, NO_RETRY);
    if (plan === 'too late') this.#report(chance.between(30_000, 90_000), url, OK);
    if (plan === 'extends') this.#extend(url, chance.between(1, 4));
    if (plan === 'twice') for (const ms of [0, chance.pick([0, 5, 3000])]) this.#report(laterMs + ms, url, OK);
    if (plan === 'contradicts itself') {
      this.#report(laterMs, url, OK);
      this.#report(laterMs + chance.pick([0, 1, 2, 50]), url, chance.pick([RETRY, NO_RETRY]));
    }
  }

  /** A word of progress now and then, and the end after the last one: mostly in time. */
  #extend(url: string, times: number): void {
    const { chance } = this.#world;
    let atMs = 0;
    for (let time = 1; time <= times; time += 1) {
      atMs += chance.between(100, 5000);
      const extendByMs = chance.pick([null, 1000, 4000, 10_000]);
      this.#report(atMs, url, { kind: 'progress', extendByMs, progress: time / (times + 1), note: null });
    }
    if (chance.isTrue(75)) this.#report(atMs + chance.between(0, 5000), url, OK);
  }

  #report(ms: number, url: string, word: AckWord, triesLeft = TRIES_MAX): void {
    this.#world.timeline.after(ms, () => {
      const serving = this.#world.serving();
      if (serving.length > 0) this.#ask(this.#world.chance.pick(serving), url, word, triesLeft);
      else if (triesLeft > 1) this.#report(1000, url, word, triesLeft - 1);
    });
  }

  #ask(node: SimulatedNode, url: string, word: AckWord, triesLeft: number): void {
    const { timeline, say } = this.#world;
    const target = node.acks.targetOf(url.slice(url.lastIndexOf('/') + 1));
    if (!target) throw new Error(`the service does not know its own URL ${url}`);
    const { messageId, attempt } = target;
    const wantedAt = word.kind === 'progress' && word.extendByMs !== null ? node.time.now() + word.extendByMs : null;
    const retry = word.kind === 'failed' && word.retry;
    const asked: Word = { messageId, attempt, kind: word.kind, retry, wantedAt, reply: 'unknown', at: timeline.nowMs };
    const index = this.words.push(asked) - 1;
    let isOver = false;
    const end = (reply: AckReply | null) => {
      if (isOver) return;
      isOver = true;
      const kept = reply?.kind === 'noted' ? { deadlineAt: reply.ack.deadlineAt, latestAt: reply.ack.latestAt } : {};
      this.words[index] = { ...asked, ...kept, reply: reply?.kind ?? 'unknown', at: timeline.nowMs };
      say(`ack ${word.kind} of ${messageId}, attempt ${attempt}: ${reply?.kind ?? 'no reply'}`);
      if (reply) this.#note(word, reply);
      else if (triesLeft > 1) this.#report(500, url, word, triesLeft - 1);
    };
    timeline.after(REPLY_MS_MAX, () => end(null));
    node.acks.receive(target, word).then(end, () => end(null));
  }

  #note(word: AckWord, { kind }: AckReply): void {
    if (kind === 'gone') this.#world.note('ack refused: the attempt is over');
    else if (word.kind === 'ok') this.#world.note('ack of success');
    else if (word.kind === 'failed') this.#world.note('ack of a failure');
    else this.#world.note('ack of progress');
  }
}
