// The client that programs use: calls are grouped by resource, lists are read entry by entry, and every method takes an
// AbortSignal.

import { type BatchElement, type BatchOptions, type BatchSlots, type Exact, sendBatch } from './batch.ts';
import * as calls from './calls.ts';
import { bind, type Publish } from './client.ts';
import { PartlyDoneError } from './errors.ts';
import { isTemporaryError, type TailedEvent, type TailOptions, tail } from './event-stream.ts';
import type { AuditQuery, DeadLetterQuery, DeadLetterSelection, MessageQuery, OneOrMore } from './message-query.ts';
import { type Listing, listing, readWhole } from './pages.ts';
import { type PublishRequest, settingsOf } from './publish-request.ts';
import { type ClientOptions, pause, retry } from './retry.ts';
import { type AskPrefix, type Exchange, exchangeWith, type Send, type SendOptions } from './send.ts';
import type { MessageOptions } from './setting-options.ts';
import type {
  Alert,
  AuditEntry,
  DeadLetter,
  FlowKey,
  Host,
  Job,
  Message,
  MessageEvent,
  MessageWithAttempts,
  PageRequest,
  Queue,
  Schedule,
  Topic,
  Why,
} from './shapes.ts';

type InOrder = Omit<PageRequest, 'cursor'>;
type ListRequest = MessageQuery & InOrder;

export interface EndedMessage extends MessageWithAttempts {
  readonly state: 'DELIVERED' | 'FAILED' | 'CANCELLED';
  readonly endedAt: number;
}

const LOOK_MS = 50;
const LOOK_MS_MAX = 2000;

export class Postrider {
  readonly messages: ReturnType<typeof messagesOf>;
  readonly queues: ReturnType<typeof queuesOf>;
  readonly topics: ReturnType<typeof topicsOf>;
  readonly schedules: ReturnType<typeof schedulesOf>;
  readonly alerts: ReturnType<typeof alertsOf>;
  readonly deadLetters: ReturnType<typeof deadLettersOf>;
  readonly flow: ReturnType<typeof flowOf>;
  readonly hosts: ReturnType<typeof hostsOf>;
  readonly bulk: ReturnType<typeof bulkOf>;
  readonly account: ReturnType<typeof accountOf>;
  readonly events: ReturnType<typeof eventsOf>;
  readonly audit: ReturnType<typeof auditOf>;
  /** Publishes a message to a URL or to a topic. */
  readonly publish: Publish;
  /** Sends any call, for instance one of `calls`. */
  readonly send: Send;
  readonly #exchange: Exchange;
  readonly #askPrefix: AskPrefix;

  constructor(options: ClientOptions = {}) {
    const exchange = exchangeWith(options, retry(options));
    const send: Send = (call, sendOptions) => readWhole(exchange, call, sendOptions);
    this.#exchange = exchange;
    this.#askPrefix = exchange.askPrefix;
    this.send = send;
    this.publish = ((request: PublishRequest, sent?: SendOptions) => send(calls.publish(request), sent)) as Publish;
    this.messages = messagesOf(exchange, send);
    this.queues = queuesOf(exchange, send);
    this.topics = topicsOf(exchange, send);
    this.schedules = schedulesOf(exchange, send);
    this.alerts = alertsOf(exchange, send);
    this.deadLetters = deadLettersOf(exchange, send);
    this.flow = flowOf(exchange, send);
    this.hosts = hostsOf(exchange, send);
    this.bulk = bulkOf(exchange, send);
    this.account = accountOf(send);
    this.events = eventsOf(exchange);
    this.audit = auditOf(exchange);
  }

  /** A queue by its name. It is created when its first message is enqueued. */
  queue(name: string) {
    const { send } = this;
    const own = bind(send, {
      get: () => calls.getQueue(name),
      pause: () => calls.pauseQueue(name),
      resume: () => calls.resumeQueue(name),
      set: (change: {
        readonly parallelism?: number;
        readonly paused?: boolean;
        readonly expires?: string | null;
        readonly priority?: number | null;
        readonly outage?: 'retry' | 'park' | null;
      }) => calls.saveQueue({ queueName: name, ...change }),
      delete: (how?: { readonly force?: boolean }) => calls.deleteQueue(name, how),
    });
    const enqueue = (request: PublishRequest, sent?: SendOptions) => send(calls.enqueue(name, request), sent);
    return { ...own, enqueue: enqueue as Publish };
  }

  /**
   * Publishes many messages, each with its own result. A valid message is accepted even if others are not valid. See
   * `isAccepted` of each result.
   */
  async batch<const E extends readonly BatchElement[]>(
    elements: E & { readonly [K in keyof E]: Exact<E[K]> },
    options?: BatchOptions,
  ): Promise<BatchSlots<E>> {
    const prefix = await this.#askPrefix(options?.signal);
    return sendBatch(this.send, elements, options, prefix) as Promise<unknown> as Promise<BatchSlots<E>>;
  }

  /** Live events until `signal` aborts. Lost connections are opened again, without losing or repeating an event. */
  tail(filter: MessageQuery = {}, options?: TailOptions): AsyncGenerator<TailedEvent> {
    return tail(this.#exchange, filter, options);
  }

  /** Why a message is not delivered yet, in words and data. */
  why(messageId: string, options?: SendOptions): Promise<Why> {
    return this.send(calls.whyNotDelivered(messageId), options);
  }

  /**
   * Waits until a message has ended, in whatever state. For a held message, it waits until somebody releases or cancels
   * it. Once the message was found, it also continues while the service is unavailable.
   */
  async waitFor(messageId: string, options?: SendOptions): Promise<EndedMessage> {
    for (let ms = LOOK_MS; ; ms = Math.min(LOOK_MS_MAX, ms * 1.5)) {
      const message = await this.send(calls.getMessage(messageId), options).catch((error: unknown) => {
        if (ms === LOOK_MS || !isTemporaryError(error)) throw error;
      });
      if (message?.endedAt !== undefined) return message as EndedMessage;
      await pause(ms * (0.5 + Math.random() / 2), options?.signal);
    }
  }
}

function messagesOf(exchange: Exchange, send: Send) {
  return {
    ...bind(send, {
      get: calls.getMessage,
      why: calls.whyNotDelivered,
      counts: calls.countMessages,
      cancel: calls.cancelMessage,
      /** Cancels messages by ids or by filter. */
      cancelMany: calls.cancelMessages,
      /** Changes a message that waits. */
      update: calls.updateMessage,
      release: calls.releaseMessage,
      deliverNow: calls.deliverNow,
    }),
    /** Lists messages, newest first. Bodies are left out: `get` returns them. */
    list: (filter: ListRequest = {}, options?: SendOptions): Listing<Message> =>
      listing(exchange, calls.listMessages(filter), 'messages', options),
  };
}

function queuesOf(exchange: Exchange, send: Send) {
  return {
    ...bind(send, {
      get: calls.getQueue,
      save: calls.saveQueue,
      pause: calls.pauseQueue,
      resume: calls.resumeQueue,
      delete: calls.deleteQueue,
    }),
    list: (options?: SendOptions): Listing<Queue> => listing(exchange, calls.listQueues(), null, options),
  };
}

function topicsOf(exchange: Exchange, send: Send) {
  return {
    ...bind(send, {
      get: calls.getTopic,
      addEndpoints: calls.addEndpoints,
      removeEndpoints: calls.removeEndpoints,
      change: calls.changeTopic,
      delete: calls.deleteTopic,
    }),
    list: (options?: SendOptions): Listing<Topic> => listing(exchange, calls.listTopics(), null, options),
  };
}

function schedulesOf(exchange: Exchange, send: Send) {
  return {
    ...bind(send, {
      create: calls.createSchedule,
      get: calls.getSchedule,
      /** Changes parts of a schedule, which keeps its history. */
      change: calls.changeSchedule,
      pause: calls.pauseSchedule,
      resume: calls.resumeSchedule,
      run: calls.runSchedule,
      delete: calls.deleteSchedule,
      /** The next times of a cron expression. */
      times: calls.cronTimes,
    }),
    list: (options?: SendOptions): Listing<Schedule> => listing(exchange, calls.listSchedules(), null, options),
  };
}

function alertsOf(exchange: Exchange, send: Send) {
  return {
    ...bind(send, {
      get: calls.getAlert,
      /** Creates an alert. The service makes its id. */
      create: calls.createAlert,
      /** Creates the alert with this id, or replaces it. */
      save: calls.saveAlert,
      /** Sends a test message to the target of the alert. */
      test: calls.testAlert,
      delete: calls.deleteAlert,
    }),
    list: (options?: SendOptions): Listing<Alert> => listing(exchange, calls.listAlerts(), null, options),
  };
}

function deadLettersOf(exchange: Exchange, send: Send) {
  return {
    ...bind(send, {
      get: calls.getDeadLetter,
      retry: calls.retryDeadLetter,
      delete: calls.deleteDeadLetter,
      /** Counts of dead letters, grouped by host and reason. */
      groups: calls.failureGroups,
    }),
    list: (filter: DeadLetterQuery & InOrder = {}, options?: SendOptions): Listing<DeadLetter> =>
      listing(exchange, calls.listDeadLetters(filter), 'messages', options),
    /**
     * Sends all matching dead letters again, with `changes` to their options. Returns the ids of the new messages. If
     * it fails halfway, `done` of the PartlyDoneError has the ids of the messages that were created before.
     */
    async retryMany(
      selection: DeadLetterSelection,
      changes: MessageOptions = {},
      options?: SendOptions,
    ): Promise<string[]> {
      const settings = settingsOf(changes);
      const ids: string[] = [];
      await throughPages(selection, ids, async (asked) => {
        const { responses, cursor } = await send(calls.retryDeadLetters(asked, settings), options);
        ids.push(...responses.map(({ messageId }) => messageId));
        return cursor;
      });
      return ids;
    },
    /**
     * Deletes all matching dead letters. Returns how many. If it fails halfway, `done` of the PartlyDoneError has the
     * number of each page that was deleted before.
     */
    async deleteMany(selection: DeadLetterSelection, options?: SendOptions): Promise<number> {
      const counts: number[] = [];
      await throughPages(selection, counts, async (asked) => {
        const { deleted, cursor } = await send(calls.deleteDeadLetters(asked), options);
        counts.push(deleted);
        return cursor;
      });
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}

/** Requests page after page. If a page fails, the results of the pages before it are not lost. */
async function throughPages(
  selection: DeadLetterSelection,
  done: readonly unknown[],
  ask: (asked: DeadLetterSelection & { readonly cursor?: string }) => Promise<string | undefined>,
): Promise<void> {
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    try {
      const next = await ask({ ...selection, ...(cursor !== undefined && { cursor }) });
      cursor = (selection as { readonly count?: number }).count ? undefined : next;
    } catch (error) {
      throw isFirst ? error : new PartlyDoneError(done, error);
    }
  }
}

function flowOf(exchange: Exchange, send: Send) {
  return {
    ...bind(send, {
      get: calls.getFlowKey,
      pause: calls.pauseFlowKey,
      resume: calls.resumeFlowKey,
      pin: calls.pinFlowKey,
      unpin: calls.unpinFlowKey,
      resetRate: calls.resetFlowRate,
      /** The attempts in flight on the node that responds, and their limit. */
      parallelism: calls.parallelism,
    }),
    list: (options?: SendOptions): Listing<FlowKey> => listing(exchange, calls.listFlowKeys(), null, options),
  };
}

function hostsOf(exchange: Exchange, send: Send) {
  return {
    ...bind(send, { get: calls.getHost, park: calls.parkHost, resume: calls.resumeHost }),
    list: (options?: SendOptions): Listing<Host> => listing(exchange, calls.listHosts(), null, options),
  };
}

function bulkOf(exchange: Exchange, send: Send) {
  return {
    ...bind(send, { count: calls.countBulk, start: calls.startBulk, get: calls.getBulk, stop: calls.stopBulk }),
    list: (options?: SendOptions): Listing<Job> => listing(exchange, calls.listBulk(), 'jobs', options),
  };
}

function accountOf(send: Send) {
  return bind(send, {
    get: calls.getAccount,
    setOutage: calls.setOutage,
    keys: calls.getKeys,
    rotateKeys: calls.rotateKeys,
    usage: calls.usage,
    overview: calls.overview,
    activity: calls.activity,
  });
}

function eventsOf(exchange: Exchange) {
  return {
    list: (filter: ListRequest = {}, options?: SendOptions): Listing<MessageEvent> =>
      listing(exchange, calls.listEvents(filter), 'events', options),
  };
}

function auditOf(exchange: Exchange) {
  return {
    /** Who has changed what in the account, and which of its calls were refused. */
    list: (filter: AuditQuery & InOrder = {}, options?: SendOptions): Listing<AuditEntry> =>
      listing(exchange, calls.listAudit(filter), 'audit', options),
    /** The same of all accounts. The token needs the scope `admin`. */
    listAll: (
      filter: AuditQuery & { readonly account?: OneOrMore } & InOrder = {},
      options?: SendOptions,
    ): Listing<AuditEntry> => listing(exchange, calls.listAllAudit(filter), 'audit', options),
  };
}
