// To come.

export function SettingsScreen() {
  return null;
}
