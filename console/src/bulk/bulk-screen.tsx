// To come.

export function BulkScreen() {
  return null;
}
