// To come.

export function SchedulesScreen() {
  return null;
}
