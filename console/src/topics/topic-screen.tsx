// To come.

export function TopicScreen() {
  return null;
}
