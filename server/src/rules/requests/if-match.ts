// Reads the header If-Match: the versions of which something must have one, so that a call changes it.

/** The opaque tag of a strong entity tag, or of a weak one. */
const TAG = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*$/;
const TAGS_MAX = 100;

/**
 * The versions in the header, or null if any version will do: without the header, and for `*`. A weak tag never matches
 * (RFC 9110, 13.1.1), so it is left out.
 */
export function parseIfMatch(text: string | undefined): readonly string[] | null | { readonly problem: string } {
  if (text === undefined || text.trim() === '*') return null;
  const versions: string[] = [];
  // A version of ours has no comma, so a tag with one in it may be cut: it matches nothing in either case.
  const parts = text.split(',', TAGS_MAX);
  // A list may have empty elements (RFC 9110, 5.6.1.2), but not only such.
  const given = parts.filter((part) => part.trim() !== '');
  for (const part of given.length === 0 ? parts : given) {
    const [whole, weak, tag] = TAG.exec(part) ?? [];
    if (whole === undefined) return { problem: 'must be a version in double quotes, as in the ETag header, or *' };
    if (weak === undefined) versions.push(tag!);
  }
  return versions;
}

/** The value of the header ETag for this version. */
export function entityTag(version: string): string {
  return `"${version}"`;
}
