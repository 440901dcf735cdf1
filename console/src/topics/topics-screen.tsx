// To come.

export function TopicsScreen() {
  return null;
}
