// Runs before the first paint, so that no page flashes in the other theme.
try {
  const chosen = localStorage.getItem('conch-theme')
  if (chosen === 'light' || chosen === 'dark') document.documentElement.classList.add(chosen)
} catch {
  // A browser that keeps nothing for this page: the system's theme it is.
}
export {}
