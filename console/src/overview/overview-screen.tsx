// To come.

export function OverviewScreen() {
  return null;
}
