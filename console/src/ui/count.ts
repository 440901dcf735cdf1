// A count in a readable form: `10,000+` where the service stopped counting.

export function shownCount(count: number, isCut = false): string {
  return `${count.toLocaleString('en')}${isCut ? '+' : ''}`;
}
