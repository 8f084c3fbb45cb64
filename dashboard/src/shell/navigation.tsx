import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { meQuery } from '../data/account.ts'
import { configQuery, doctorQuery } from '../data/installation.ts'
import { useProject } from '../projects/current.ts'
import { showKeys } from '../ui/shortcuts/shortcuts.ts'
import { DOCTOR, type Entry, NAVIGATION, SETTINGS } from './navigation-entries.ts'
import { useBadges } from './use-badges.ts'

type NavigationProps = { collapsed?: boolean; onNavigate?: () => void }

export function Navigation({ collapsed = false, onNavigate }: NavigationProps) {
  const badges = useBadges()
  const isSandbox = useQuery(configQuery).data?.features.email.sandbox ?? false
  return (
    <nav aria-label="Project" className="min-h-0 flex-1 space-y-4 overflow-y-auto">
      {NAVIGATION.map(({ label, entries }) => (
        <div key={label ?? ''}>
          {label && <p className={`mb-1 px-2 text-muted text-xs ${collapsed ? 'sr-only' : ''}`}>{label}</p>}
          <ul aria-label={label} className="space-y-px">
            {entries
              .filter(({ onlyInSandbox }) => isSandbox || !onlyInSandbox)
              .map((entry) => (
                <li key={entry.to}>
                  <NavigationLink entry={entry} badge={badges[entry.to]} collapsed={collapsed} onNavigate={onNavigate} />
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  )
}

/** Operators see the worst verdict at once; others have no use for the page. */
export function DoctorLink(props: NavigationProps) {
  const isOperator = useQuery(meQuery).data?.operator ?? false
  const verdict = useQuery({ ...doctorQuery, enabled: isOperator }).data?.verdict
  if (!isOperator) return null
  return (
    <NavigationLink entry={DOCTOR} badge={verdict && verdict !== 'ok' ? (verdict === 'FAIL' ? 'Fails' : 'Check') : undefined} {...props} />
  )
}

export function SettingsLink(props: NavigationProps) {
  return <NavigationLink entry={SETTINGS} {...props} />
}

type LinkProps = { entry: Entry; badge?: string | undefined; collapsed?: boolean; onNavigate?: (() => void) | undefined }

function NavigationLink({ entry: { to, label, icon: Icon, keys }, badge, collapsed = false, onNavigate }: LinkProps) {
  const { id: projectId } = useProject()
  return (
    <Link
      to={to}
      params={{ projectId }}
      onClick={onNavigate}
      activeOptions={{ includeSearch: false, exact: to === '/app/p/$projectId' }}
      title={`${label} (${showKeys(keys)})`}
      className="flex h-8 items-center gap-2.5 rounded-md px-2 font-medium text-muted text-ui hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:text-accent pointer-coarse:h-11 dark:aria-[current=page]:text-accent-strong"
    >
      <Icon className="size-4 shrink-0" aria-hidden="true" />
      <span className={collapsed ? 'sr-only' : 'min-w-0 flex-1 truncate'}>{label}</span>
      {badge && !collapsed && <span className="rounded bg-sunken px-1.5 text-muted text-xs">{badge}</span>}
    </Link>
  )
}
