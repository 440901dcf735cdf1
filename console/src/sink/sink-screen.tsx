// To come.

export function SinkScreen() {
  return null;
}
