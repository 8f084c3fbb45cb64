// Blocks rendering on purpose: the theme is set before the first paint, so that a dark theme never flashes white.
// A file of its own because the content security policy allows no inline script.
{
  const prefersDark = matchMedia('(prefers-color-scheme: dark)')

  const chosen = () => {
    try {
      return localStorage.getItem('theme')
    } catch {
      return null // storage is blocked: follow the system
    }
  }

  const apply = () => {
    document.documentElement.dataset.theme = chosen() ?? (prefersDark.matches ? 'dark' : 'light')
  }

  apply()
  prefersDark.addEventListener('change', apply)
  addEventListener('storage', apply)
}
