// Counts in a readable form: `10,000+` where the service stopped counting.

export function shownCount(count: number, isCut = false): string {
  return `${count.toLocaleString('en')}${isCut ? '+' : ''}`;
}

/** A count with its noun: `1 message`, `2 messages`. */
export function countWithNoun(count: number, noun: string, isCut = false): string {
  return `${shownCount(count, isCut)} ${noun}${count === 1 ? '' : 's'}`;
}
