// To come.

export function QueuesScreen() {
  return null;
}
