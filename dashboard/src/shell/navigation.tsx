import { Link } from '@tanstack/react-router'
import { KeyRound, Settings, Users } from 'lucide-react'
import { useProject } from '../projects/current.ts'

const ENTRIES = [
  { to: '/app/p/$projectId/keys', label: 'Keys', icon: KeyRound },
  { to: '/app/p/$projectId/team', label: 'Team', icon: Users },
  { to: '/app/p/$projectId/settings', label: 'Settings', icon: Settings },
] as const

export function Navigation({ onNavigate }: { onNavigate?: () => void }) {
  const { id: projectId } = useProject()
  return (
    <nav aria-label="Project">
      <ul className="space-y-1">
        {ENTRIES.map(({ to, label, icon: Icon }) => (
          <li key={to}>
            <Link
              to={to}
              params={{ projectId }}
              onClick={onNavigate}
              activeOptions={{ includeSearch: false }}
              className="flex h-10 items-center gap-3 rounded-lg px-3 font-medium text-muted text-sm hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent dark:aria-[current=page]:text-accent-strong"
            >
              <Icon className="size-4.5" aria-hidden="true" />
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
