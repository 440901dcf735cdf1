// A message that was changed on its way is sent as it was before a change or after it, never a mixture; and once a change
// was answered, it is never sent as it was before.

import { differences } from './acceptance-rules.ts';
import type { Evidence } from './evidence.ts';
import type { Content } from './history.ts';

/** The message as the publish or a change made it. */
interface Version {
  readonly content: Content;
  readonly askedAt: number;
  /** When its answer came; infinite without one: then it may take effect late, or never. */
  readonly endedAt: number;
  readonly isCertain: boolean;
}

export function* changes(evidence: Evidence): Iterable<string> {
  const { history, stored, changed, arrivals } = evidence;
  for (const id of changed.keys()) {
    const versions = versionsOf(evidence, id);
    const found = stored.get(id);
    if (!found || versions.length === 0) continue;
    const ofStored = versions.filter(({ content }) => isSame(content, found));
    if (ofStored.length === 0)
      yield `${id} in the store is a mixture: ${[...differences(id, versions[0]!.content, found)]}`;
    else if (ofStored.every((version) => isReplaced(version, versions, Number.POSITIVE_INFINITY))) {
      yield `${id} in the store is as it was before a change that was answered`;
    }
    for (const arrival of arrivals.get(id) ?? []) {
      const sent = versions.filter(({ content }) => isSame(content, arrival));
      if (sent.length === 0) yield `${id} as it arrived at ${arrival.at} is a mixture`;
      else if (sent.every(({ askedAt }) => askedAt > arrival.at)) {
        yield `${id} arrived at ${arrival.at} as it was changed only later`;
      } else if (sent.every((version) => isReplaced(version, versions, arrival.at - history.lateMsMax))) {
        yield `${id} arrived at ${arrival.at} as it was before a change that had been answered`;
      }
    }
  }
}

/** Who changes a version of a message with If-Match changes that one: of two who have read the same, one is refused. */
export function* lostChanges({ changed }: Evidence): Iterable<string> {
  for (const [id, all] of changed) {
    const certain = all.filter(({ outcome }) => outcome === 'changed');
    const [from, to] = [certain.map(({ ifMatch = null }) => ifMatch), certain.map(({ version = null }) => version)];
    for (const version of twice(from)) yield `two changes of version ${version} of ${id} were made`;
    for (const version of twice(to)) yield `two changes of ${id} made the version ${version}`;
  }
}

function twice(versions: readonly (string | null)[]): string[] {
  return versions.filter(
    (version): version is string => version !== null && versions.indexOf(version) !== versions.lastIndexOf(version),
  );
}

function versionsOf({ expected, changed }: Evidence, id: string): Version[] {
  const published = expected.get(id);
  if (!published) return [];
  const { publish, message } = published;
  const first = { content: message, askedAt: publish.askedAt, endedAt: publish.endedAt, isCertain: true };
  const later = changed.get(id)!.map(({ content, askedAt, endedAt, outcome }) => ({
    content,
    askedAt,
    endedAt: outcome === 'changed' ? endedAt : Number.POSITIVE_INFINITY,
    isCertain: outcome === 'changed',
  }));
  return [first, ...later];
}

/** Whether another version had surely taken its place before this time. Of two asked for together, either may be the last. */
function isReplaced(version: Version, versions: readonly Version[], before: number): boolean {
  return versions.some(({ askedAt, endedAt, isCertain }) => isCertain && askedAt > version.endedAt && endedAt < before);
}

function isSame(content: Content, found: Content): boolean {
  return differences('', content, found).next().done === true;
}
