import type { Activity, Email } from '@sterna/sdk'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Bell, Filter as FilterIcon, Layers, type LucideIcon, Mail, Workflow, Zap } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { contactActivityQuery } from '../../../data/activity.ts'
import { scheduledEmailsQuery } from '../../../data/emails.ts'
import { segmentsBySlugQuery } from '../../../data/segments.ts'
import { useProject } from '../../../projects/current.ts'
import { Button } from '../../../ui/form/button.tsx'
import { ErrorState } from '../../../ui/page/error-state.tsx'
import { PathLink } from '../../../ui/page/path-link.tsx'
import { Skeleton } from '../../../ui/page/skeleton.tsx'
import { useIsSlow } from '../../../ui/page/use-is-slow.ts'
import { ClockTime, Time } from '../../../ui/text/time.tsx'
import { PAGES_SHOWN, pagesInWindow, skippedToShow } from './page-window.ts'
import { describeEntry, ENTRY_KINDS, groupByDay, isKind, type Kind, type TimelineEntry, typesOf } from './timeline-entry.ts'

const ICONS: Record<Kind, LucideIcon> = { email: Mail, subscription: Bell, segment: Layers, workflow: Workflow, event: Zap }
const LIVE_MS = 5_000
/** Refetching many pages would be a request for each; beyond this the timeline is not refreshed until it is reloaded. */
const LIVE_PAGES = 1

type TimelineProps = { contactId: string; kind?: string | undefined; onKind?: (kind: string | undefined) => void }

/** The activities of a contact, newest first, by day. */
export function Timeline({ contactId, kind: asked, onKind }: TimelineProps) {
  const kind = isKind(asked) ? asked : undefined
  return (
    <div>
      {onKind && <KindFilter kind={kind} onKind={onKind} />}
      {(!kind || kind === 'email') && <Scheduled contactId={contactId} />}
      <Entries key={kind} contactId={contactId} kind={kind} />
    </div>
  )
}

/** Emails that wait for their time, the next one first. */
function Scheduled({ contactId }: { contactId: string }) {
  const project = useProject()
  const emails = useQuery(scheduledEmailsQuery(project.id, contactId)).data ?? []
  if (!emails.length) return null
  return (
    <section aria-label="Scheduled">
      <h3 className="pt-4 pb-1 font-medium text-muted text-xs">Scheduled</h3>
      <ol>
        {inOrder(emails).map(({ id, subject, sendAt }) => (
          <Row key={id} icon={Mail} title="Email scheduled" detail={subject} path={`/emails/${id}`}>
            <Time value={sendAt!} />
          </Row>
        ))}
      </ol>
    </section>
  )
}

const inOrder = (emails: Email[]) => emails.toSorted((a, b) => Date.parse(a.sendAt!) - Date.parse(b.sendAt!))

function Entries({ contactId, kind }: { contactId: string; kind: Kind | undefined }) {
  const project = useProject()
  const [skipped, setSkipped] = useState(0)
  const query = useInfiniteQuery({
    ...contactActivityQuery(project.id, contactId, kind && typesOf(kind)),
    refetchInterval: ({ state }) => (state.data && state.data.pages.length <= LIVE_PAGES ? LIVE_MS : false),
  })
  if (query.isPending) return <TimelineSkeleton />
  if (query.isLoadingError) return <ErrorState title="Could not load the timeline" error={query.error} retry={query.refetch} />

  const { pages } = query.data
  const isAtEnd = skipped + PAGES_SHOWN >= pages.length
  async function showOlder() {
    if (!isAtEnd) return setSkipped(skipped + 1)
    const { data } = await query.fetchNextPage()
    setSkipped(skippedToShow(data?.pages.length ?? pages.length))
  }
  const shown = pagesInWindow(pages, skipped)
    .flatMap(({ data }) => data)
    .filter((entry) => !kind || describeEntry(entry).kind === kind)
  return (
    <>
      {skipped > 0 && (
        <Button size="sm" className="mt-4" onClick={() => setSkipped(skipped - 1)}>
          Show newer entries
        </Button>
      )}
      {shown.length === 0 && (
        <p className="py-6 text-muted text-ui">
          {!kind ? 'Nothing happened yet.' : query.hasNextPage ? 'Nothing of this kind so far.' : 'Nothing of this kind.'}
        </p>
      )}
      {groupByDay(shown).map(({ day, entries }) => (
        <section key={day} aria-label={day}>
          <h3 className="pt-4 pb-1 font-medium text-muted text-xs">{day}</h3>
          <ol>
            {entries.map((entry) => (
              <TimelineRow key={entry.id} entry={entry} />
            ))}
          </ol>
        </section>
      ))}
      {(query.hasNextPage || !isAtEnd) && (
        <Button size="sm" className="mt-4" busy={query.isFetchingNextPage} onClick={showOlder}>
          Show older entries
        </Button>
      )}
    </>
  )
}

function KindFilter({ kind, onKind }: { kind: string | undefined; onKind: (kind: string | undefined) => void }) {
  return (
    <fieldset className="flex flex-wrap gap-1">
      <legend className="sr-only">Show only</legend>
      <KindButton label="Everything" icon={FilterIcon} isChosen={!kind} onClick={() => onKind(undefined)} />
      {Object.entries(ENTRY_KINDS).map(([name, label]) => (
        <KindButton key={name} label={label} icon={ICONS[name as Kind]} isChosen={kind === name} onClick={() => onKind(name)} />
      ))}
    </fieldset>
  )
}

type KindButtonProps = { label: string; icon: LucideIcon; isChosen: boolean; onClick: () => void }

function KindButton({ label, icon: Icon, isChosen, onClick }: KindButtonProps) {
  return (
    <button
      type="button"
      aria-pressed={isChosen}
      onClick={onClick}
      className="inline-flex h-7 items-center gap-1.5 rounded-md px-2 text-muted text-xs hover:bg-sunken aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-ink pointer-coarse:h-11"
    >
      <Icon className="size-3.5" aria-hidden="true" />
      {label}
    </button>
  )
}

function TimelineRow({ entry }: { entry: Activity }) {
  const project = useProject()
  const segments = useQuery(segmentsBySlugQuery(project.id)).data
  const { kind, data, ...described } = describeEntry(entry, segments)
  return (
    <Row icon={ICONS[kind]} {...described} data={data}>
      <ClockTime value={entry.timestamp} />
    </Row>
  )
}

type RowProps = Pick<TimelineEntry, 'title' | 'detail' | 'path'> & {
  icon: LucideIcon
  data?: TimelineEntry['data'] | undefined
  /** When. */
  children: ReactNode
}

function Row({ icon: Icon, title, detail, path, data, children }: RowProps) {
  const project = useProject()
  return (
    <li data-entry className="flex gap-3 border-line border-b py-2 text-ui last:border-b-0">
      <Icon className="mt-0.5 size-4 shrink-0 text-muted" aria-hidden="true" />
      <div className="min-w-0 flex-1">
        <p className="wrap-break-word font-medium">
          {path ? (
            <PathLink to={`/app/p/${project.id}${path}`} className="rounded-sm hover:text-accent hover:underline">
              {title}
            </PathLink>
          ) : (
            title
          )}
        </p>
        {detail && <p className="wrap-break-word text-muted">{detail}</p>}
        {data && (
          <details className="text-muted">
            <summary className="w-fit rounded-sm py-1 text-xs">Data</summary>
            <pre className="mt-1 whitespace-pre-wrap wrap-break-word font-mono text-code">{JSON.stringify(data, null, 2)}</pre>
          </details>
        )}
      </div>
      <span className="shrink-0 text-muted text-xs">{children}</span>
    </li>
  )
}

function TimelineSkeleton() {
  const isSlow = useIsSlow()
  return (
    <div className="min-h-64 space-y-2" role="status">
      <span className="sr-only">Loading…</span>
      {isSlow && [1, 2, 3, 4, 5].map((row) => <Skeleton key={row} className="h-9" />)}
    </div>
  )
}
