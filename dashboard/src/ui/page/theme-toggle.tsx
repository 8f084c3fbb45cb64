import { Moon, Sun } from 'lucide-react'
import { IconButton } from '../form/button.tsx'

/** Renders both icons and lets CSS show one: public/theme.js owns the theme, not React. */
export function ThemeToggle() {
  return (
    <IconButton label="Switch between light and dark" onClick={switchTheme}>
      <Moon className="dark:hidden" />
      <Sun className="not-dark:hidden" />
    </IconButton>
  )
}

export function switchTheme() {
  const root = document.documentElement
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  const theme = root.dataset.theme === 'dark' ? 'light' : 'dark'
  root.dataset.theme = theme
  try {
    // The choice equals the system's: follow the system again.
    if (theme === system) localStorage.removeItem('theme')
    else localStorage.setItem('theme', theme)
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
}
