import { useQuery } from '@tanstack/react-query'
import { Link, Outlet, useParams } from '@tanstack/react-router'
import { Compass } from 'lucide-react'
import { useEffect } from 'react'
import { CurrentProject, useProject } from '../projects/current.ts'
import { rememberProject } from '../projects/last-opened.ts'
import { projectsQuery } from '../projects/queries.ts'
import { UserMenu } from '../session/user-menu.tsx'
import { VerifyBanner } from '../session/verify-banner.tsx'
import { Banner } from '../ui/banner.tsx'
import { buttonClass } from '../ui/button.tsx'
import { EmptyState } from '../ui/empty-state.tsx'
import { ErrorState } from '../ui/error-state.tsx'
import { Logo } from '../ui/logo.tsx'
import { Skeleton } from '../ui/skeleton.tsx'
import { ThemeToggle } from '../ui/theme-toggle.tsx'
import { Navigation } from './navigation.tsx'
import { NavigationSheet } from './navigation-sheet.tsx'
import { ProjectSwitcher } from './project-switcher.tsx'

/** Wraps every page of a project. */
export function Shell() {
  const { projectId } = useParams({ from: '/app/p/$projectId' })
  const projects = useQuery(projectsQuery)
  const project = projects.data?.find(({ id }) => id === projectId)
  useEffect(() => {
    if (project) rememberProject(project.id)
  }, [project])

  if (projects.isPending) return <ShellSkeleton />
  if (projects.isError) return <ErrorState error={projects.error} retry={projects.refetch} />
  if (!project) return <NoSuchProject />

  return (
    <CurrentProject value={project}>
      <a
        href="#content"
        className={`${buttonClass('primary')} sr-only focus:not-sr-only focus:fixed focus:top-3 focus:left-3 focus:z-50 focus:px-4`}
      >
        Skip to content
      </a>
      <div className="min-h-dvh lg:grid lg:grid-cols-[16rem_minmax(0,1fr)]">
        <aside className="sticky top-0 hidden h-dvh flex-col gap-6 border-line border-r bg-surface p-4 lg:flex">
          <Link to="/app" aria-label="Sterna, home" className="self-start rounded-lg px-2 pt-2">
            <Logo />
          </Link>
          <ProjectSwitcher />
          <Navigation />
          <div className="mt-auto flex items-center gap-1">
            <UserMenu wide />
            <ThemeToggle />
          </div>
        </aside>
        <div className="min-w-0">
          <header className="sticky top-0 z-30 flex h-14 items-center gap-2 border-line border-b bg-surface px-2 lg:hidden">
            <NavigationSheet />
            <span className="min-w-0 flex-1 truncate font-medium text-sm">{project.name}</span>
            <ThemeToggle />
            <UserMenu />
          </header>
          <main id="content" tabIndex={-1} className="px-5 py-8 outline-none sm:px-8 lg:px-12 lg:py-12">
            <div className="mx-auto mb-8 max-w-4xl space-y-3 empty:hidden">
              <VerifyBanner />
              <DisabledBanner />
            </div>
            <Outlet />
          </main>
        </div>
      </div>
    </CurrentProject>
  )
}

function DisabledBanner() {
  const { disabled, disabledReason } = useProject()
  if (!disabled) return null
  return (
    <Banner tone="danger">
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
  return (
    <div role="status" className="min-h-dvh lg:grid lg:grid-cols-[16rem_minmax(0,1fr)]">
      <span className="sr-only">Loading…</span>
      <div className="hidden space-y-6 border-line border-r bg-surface p-4 lg:block">
        <Skeleton className="h-8 w-28" />
        <Skeleton className="h-12" />
        <Skeleton className="h-32" />
      </div>
      <div className="mx-auto w-full max-w-4xl space-y-6 px-5 py-16">
        <Skeleton className="h-10 w-56" />
        <Skeleton className="h-40" />
        <Skeleton className="h-64" />
      </div>
    </div>
  )
}
