import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router'
import { Compass, PanelLeft, Search } from 'lucide-react'
import { lazy, Suspense, useEffect, useState, useSyncExternalStore } from 'react'
import { projectsQuery } from '../data/projects.ts'
import { JobTray } from '../jobs/job-tray.tsx'
import { CurrentProject, useProject } from '../projects/current.ts'
import { rememberProject } from '../projects/last-opened.ts'
import { usePreference } from '../session/preferences.ts'
import { UserMenu } from '../session/user-menu.tsx'
import { ShortcutSheet } from '../ui/dialog/shortcut-sheet.tsx'
import { buttonClass, IconButton } from '../ui/form/button.tsx'
import { Banner } from '../ui/notice/banner.tsx'
import { EmptyState } from '../ui/page/empty-state.tsx'
import { ErrorState } from '../ui/page/error-state.tsx'
import { Skeleton } from '../ui/page/skeleton.tsx'
import { ThemeToggle } from '../ui/page/theme-toggle.tsx'
import { useIsSlow } from '../ui/page/use-is-slow.ts'
import { Kbd } from '../ui/shortcuts/kbd.tsx'
import { useShortcuts } from '../ui/shortcuts/shortcuts.ts'
import { DoctorLink, Navigation, SettingsLink } from './navigation.tsx'
import { ENTRIES } from './navigation-entries.ts'
import { NavigationSheet } from './navigation-sheet.tsx'
import { ProjectSwitcher } from './project-switcher.tsx'

const Palette = lazy(() => import('./palette.tsx').then(({ Palette }) => ({ default: Palette })))

/** Wraps every page of a project. */
export function Shell() {
  const { projectId } = useParams({ from: '/app/p/$projectId' })
  const projects = useQuery(projectsQuery)
  const project = projects.data?.find(({ id }) => id === projectId)
  useEffect(() => {
    if (project) rememberProject(project.id)
  }, [project])

  if (projects.isPending) return <ShellSkeleton />
  if (projects.isLoadingError) return <ErrorState error={projects.error} retry={projects.refetch} />
  if (!project) return <NoSuchProject />

  return (
    <CurrentProject value={project}>
      {/* Keyed by project: after a switch no page may keep rows or input of the other project. */}
      <Frame key={project.id} />
    </CurrentProject>
  )
}

function Frame() {
  const [collapsed, setCollapsed] = usePreference('navigation-collapsed', false)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  const [isSheetOpen, setSheetOpen] = useState(false)
  // The tray is shown in one place: each job is polled once.
  const isWide = useSyncExternalStore(watchWidth, () => WIDE.matches)
  usePageShortcuts()
  useShortcuts([
    { keys: 'mod+k', label: 'Search and commands', group: 'Everywhere', run: () => setPaletteOpen(true) },
    { keys: '?', label: 'Keyboard shortcuts', group: 'Everywhere', run: () => setSheetOpen(true) },
    { keys: '[', label: 'Fold or unfold the navigation', group: 'Everywhere', run: () => setCollapsed(!collapsed) },
  ])
  const openPalette = () => setPaletteOpen(true)
  return (
    <>
      <a
        href="#content"
        className={`${buttonClass('primary')} sr-only focus:not-sr-only focus:fixed focus:top-3 focus:left-3 focus:z-50 focus:px-4`}
      >
        Skip to content
      </a>
      <div className={`min-h-dvh lg:grid ${collapsed ? 'lg:grid-cols-[56px_minmax(0,1fr)]' : 'lg:grid-cols-[232px_minmax(0,1fr)]'}`}>
        <SideNavigation
          collapsed={collapsed}
          hasTray={isWide}
          onCollapse={() => setCollapsed(!collapsed)}
          onSearch={openPalette}
          onSheet={() => setSheetOpen(true)}
        />
        <div className="min-w-0">
          <TopBar onSearch={openPalette} onSheet={() => setSheetOpen(true)} />
          <main id="content" tabIndex={-1} className="outline-none">
            <div className="space-y-2 px-4 py-3 empty:hidden sm:px-6 lg:px-8">
              <DisabledBanner />
            </div>
            <Outlet />
          </main>
          {!isWide && (
            <div className="sticky bottom-0 z-20 border-line border-t bg-surface p-2 empty:hidden">
              <JobTray />
            </div>
          )}
        </div>
      </div>
      <ShortcutSheet open={isSheetOpen} onOpenChange={setSheetOpen} />
      {isPaletteOpen && (
        <Suspense>
          <Palette onClose={() => setPaletteOpen(false)} onSheet={() => setSheetOpen(true)} />
        </Suspense>
      )}
    </>
  )
}

/** `g` and a letter open a page. */
function usePageShortcuts() {
  const { id: projectId } = useProject()
  const navigate = useNavigate()
  useShortcuts(ENTRIES.map(({ to, label, keys }) => ({ keys, label, group: 'Go to', run: () => navigate({ to, params: { projectId } }) })))
}

/** Where the navigation is a column beside the page. */
const WIDE = window.matchMedia('(min-width: 64rem)')

function watchWidth(listener: () => void) {
  WIDE.addEventListener('change', listener)
  return () => WIDE.removeEventListener('change', listener)
}

type SideProps = { collapsed: boolean; hasTray: boolean; onCollapse: () => void; onSearch: () => void; onSheet: () => void }

function SideNavigation({ collapsed, hasTray, onCollapse, onSearch, onSheet }: SideProps) {
  return (
    <aside className="sticky top-0 hidden h-dvh flex-col gap-3 border-line border-r bg-surface p-2.5 lg:flex">
      <ProjectSwitcher collapsed={collapsed} />
      <button
        type="button"
        onClick={onSearch}
        className="flex h-8 shrink-0 items-center gap-2 rounded-md border border-line px-2 text-muted text-ui hover:bg-sunken hover:text-ink"
      >
        <Search className="size-4 shrink-0" aria-hidden="true" />
        <span className={collapsed ? 'sr-only' : 'flex-1 text-left'}>Search</span>
        {!collapsed && <Kbd keys="mod+k" />}
      </button>
      <Navigation collapsed={collapsed} />
      {hasTray && !collapsed && <JobTray />}
      <div>
        <DoctorLink collapsed={collapsed} />
        <SettingsLink collapsed={collapsed} />
        <div className={`mt-1 flex gap-1 ${collapsed ? 'flex-col' : 'items-center'}`}>
          <UserMenu wide={!collapsed} onSheet={onSheet} />
          <ThemeToggle />
          <IconButton label={collapsed ? 'Unfold the navigation' : 'Fold the navigation'} hint="[" onClick={onCollapse}>
            <PanelLeft />
          </IconButton>
        </div>
      </div>
    </aside>
  )
}

/** On narrow screens, in place of the side navigation. */
function TopBar({ onSearch, onSheet }: { onSearch: () => void; onSheet: () => void }) {
  const { name } = useProject()
  return (
    <header className="sticky top-0 z-30 flex h-12 items-center gap-1 border-line border-b bg-surface px-2 lg:hidden">
      <NavigationSheet />
      <span className="min-w-0 flex-1 truncate font-semibold text-ui">{name}</span>
      <IconButton label="Search and commands" onClick={onSearch}>
        <Search />
      </IconButton>
      <ThemeToggle />
      <UserMenu onSheet={onSheet} />
    </header>
  )
}

function DisabledBanner() {
  const { id, disabled, disabledReason } = useProject()
  if (!disabled) return null
  return (
    <Banner
      tone="danger"
      action={
        <Link
          to="/app/p/$projectId/settings/security"
          params={{ projectId: id }}
          className="rounded-sm font-medium underline underline-offset-4"
        >
          See why
        </Link>
      }
    >
      This project is disabled{disabledReason && ` (${disabledReason})`}: it is read-only and does not send email.
    </Banner>
  )
}

function NoSuchProject() {
  return (
    <main className="mx-auto grid min-h-dvh max-w-lg place-content-center px-5">
      <EmptyState
        icon={Compass}
        title="No such project"
        action={
          <Link to="/app" className={buttonClass('primary')}>
            Open your projects
          </Link>
        }
      >
        It was deleted, or you are no longer a member.
      </EmptyState>
    </main>
  )
}

function ShellSkeleton() {
  const isSlow = useIsSlow()
  return (
    <div role="status" className="min-h-dvh lg:grid lg:grid-cols-[232px_minmax(0,1fr)]">
      <span className="sr-only">Loading…</span>
      <div className="hidden space-y-3 border-line border-r bg-surface p-2.5 lg:block">
        {isSlow && (
          <>
            <Skeleton className="h-9" />
            <Skeleton className="h-8" />
            <Skeleton className="h-40" />
          </>
        )}
      </div>
      <div className="h-14 border-line border-b bg-surface" />
    </div>
  )
}
