// To come.

export function SendScreen() {
  return null;
}
