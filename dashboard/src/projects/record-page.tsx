import { SternaError } from '@sterna/sdk'
import type { UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { LucideIcon } from 'lucide-react'
import { type ReactNode, useEffect } from 'react'
import { buttonClass } from '../ui/form/button.tsx'
import { EmptyState } from '../ui/page/empty-state.tsx'
import { ErrorState } from '../ui/page/error-state.tsx'
import { Page } from '../ui/page/page.tsx'
import { useProject } from './current.ts'
import { rememberRecent } from './recents.ts'

const LISTS = {
  Campaign: 'campaigns',
  Contact: 'contacts',
  Email: 'emails',
  Segment: 'segments',
  Template: 'templates',
  Workflow: 'workflows',
} as const
type Kind = keyof typeof LISTS

type RecordPageProps<Row> = {
  kind: Kind
  id: string
  query: UseQueryResult<Row>
  /** Its name among the recent pages of the palette. */
  labelOf: (row: Row) => string
  /** Shown if there is no such record, with the reason. */
  missing: { icon: LucideIcon; reason: string }
  children: (row: Row) => ReactNode
}

/** The page of one contact, email, template, campaign or segment: loading, not found, failed, and its entry among the recent pages. */
export function RecordPage<Row>({ kind, id, query, labelOf, missing, children }: RecordPageProps<Row>) {
  const project = useProject()
  const label = query.data && labelOf(query.data)
  useEffect(() => {
    if (label) rememberRecent(project.id, { path: `/app/p/${project.id}/${LISTS[kind]}/${id}`, label, kind })
  }, [label, project.id, kind, id])

  if (query.isPending) return <Page title={kind} parent={<ListLink kind={kind} />} width="full" loading />
  if (query.error instanceof SternaError && query.error.status === 404) return <NoSuchRecord kind={kind} {...missing} />
  if (query.isLoadingError) return <ErrorState error={query.error} retry={query.refetch} />
  return children(query.data)
}

/** The link to the list, before the title of a record. */
export function ListLink({ kind }: { kind: Kind }) {
  const project = useProject()
  return (
    <Link to={`/app/p/$projectId/${LISTS[kind]}`} params={{ projectId: project.id }} className="rounded-sm hover:text-ink hover:underline">
      {kind}s
    </Link>
  )
}

function NoSuchRecord({ kind, icon, reason }: { kind: Kind; icon: LucideIcon; reason: string }) {
  const project = useProject()
  return (
    <Page title={kind}>
      <EmptyState
        icon={icon}
        title={`No such ${kind.toLowerCase()}`}
        action={
          <Link to={`/app/p/$projectId/${LISTS[kind]}`} params={{ projectId: project.id }} className={buttonClass('primary')}>
            All {LISTS[kind]}
          </Link>
        }
      >
        {reason}
      </EmptyState>
    </Page>
  )
}
