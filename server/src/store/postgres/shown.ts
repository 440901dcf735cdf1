// How the address of a database is shown to people.

/** The location without the password. */
export function shown(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || 'localhost'}${port && `:${port}`}${pathname}`;
}
