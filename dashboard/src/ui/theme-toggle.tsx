import { Moon, Sun } from 'lucide-react'
import { IconButton } from './button.tsx'

/** Both icons are there and CSS shows one: the theme is known to the page (public/theme.js), not to React. */
export function ThemeToggle() {
  return (
    <IconButton label="Switch between light and dark" onClick={switchTheme}>
      <Moon className="dark:hidden" />
      <Sun className="not-dark:hidden" />
    </IconButton>
  )
}

function switchTheme() {
  const root = document.documentElement
  const system = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  const theme = root.dataset.theme === 'dark' ? 'light' : 'dark'
  root.dataset.theme = theme
  try {
    // Back on what the system says, follow the system again.
    if (theme === system) localStorage.removeItem('theme')
    else localStorage.setItem('theme', theme)
  } catch {
    // Storage is blocked: the choice lasts as long as the page.
  }
}
