// To come.

export function FailuresScreen() {
  return null;
}
