// Before the first paint, so that the page does not flash in the other theme. The rest is in src/app/theme.ts.
{
  let kept = null;
  try {
    kept = localStorage.getItem('postrider-theme');
  } catch {
    // Storage may be forbidden; the system's preference then decides.
  }
  const isDark = kept ? kept === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
}
