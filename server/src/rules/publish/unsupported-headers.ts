// Headers with which the public clients request workflows, which this service does not have. Ignoring them would be
// worse than refusing them: the steps of a workflow would be delivered as plain messages, and each would start the
// workflow again.

/** Why a request with this header is refused, or null. `lowerName`: its name in lower case, without the prefix. */
export function unsupportedProblem(lowerName: string, headerPrefix: string): string | null {
  if (!lowerName.includes('workflow-')) return null;
  const ofDelivery = lowerName.replace(/^(?:failure-)?callback-/, '');
  const forwarded = `forward-${headerPrefix.toLowerCase()}`;
  const bare = ofDelivery.startsWith(forwarded) ? ofDelivery.slice(forwarded.length) : ofDelivery;
  if (!bare.startsWith('workflow-')) return null;
  return 'workflows are not supported by this service, so nothing was accepted; publish a message without this header';
}
