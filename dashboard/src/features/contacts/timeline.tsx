import type { Event } from '@sterna/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Bell, Filter as FilterIcon, Layers, type LucideIcon, Mail, Zap } from 'lucide-react'
import { useProject } from '../../projects/current.ts'
import { Button } from '../../ui/button.tsx'
import { ErrorState } from '../../ui/error-state.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { ClockTime } from '../../ui/time.tsx'
import { useIsSlow } from '../../ui/use-is-slow.ts'
import { contactEventsQuery } from './queries.ts'
import { describeEvent, groupByDay, KINDS, type Kind } from './timeline-entry.ts'

const ICONS: Record<Kind, LucideIcon> = { email: Mail, subscription: Bell, segment: Layers, event: Zap }
const LIVE_MS = 5_000
/** Refetching many pages would be a request for each; beyond this the timeline stands still until it is reloaded. */
const LIVE_PAGES = 1

type TimelineProps = { contactId: string; kind?: string | undefined; onKind?: (kind: string | undefined) => void }

/** What happened to a contact, newest first, by day. */
export function Timeline({ contactId, kind, onKind }: TimelineProps) {
  const project = useProject()
  const query = useInfiniteQuery({
    ...contactEventsQuery(project.id, contactId),
    refetchInterval: ({ state }) => (state.data && state.data.pages.length <= LIVE_PAGES ? LIVE_MS : false),
  })
  if (query.isPending) return <TimelineSkeleton />
  if (query.isLoadingError) return <ErrorState title="Could not load the timeline" error={query.error} retry={query.refetch} />

  const events = query.data.pages.flatMap(({ data }) => data)
  const shown = events.filter((event) => !kind || describeEvent(event).kind === kind)
  return (
    <div>
      {onKind && <KindFilter kind={kind} onKind={onKind} />}
      {events.length === 0 && <p className="py-6 text-muted text-ui">Nothing happened yet.</p>}
      {events.length > 0 && shown.length === 0 && (
        <p className="py-6 text-muted text-ui">Nothing of this kind{query.hasNextPage ? ' among the events loaded so far' : ''}.</p>
      )}
      {groupByDay(shown).map(({ day, events: ofDay }) => (
        <section key={day} aria-label={day}>
          <h3 className="pt-4 pb-1 font-medium text-muted text-xs">{day}</h3>
          <ol>
            {ofDay.map((event) => (
              <TimelineRow key={event.id} event={event} />
            ))}
          </ol>
        </section>
      ))}
      {query.hasNextPage && (
        <Button size="sm" className="mt-4" busy={query.isFetchingNextPage} onClick={() => query.fetchNextPage()}>
          Load older events
        </Button>
      )}
    </div>
  )
}

function KindFilter({ kind, onKind }: { kind: string | undefined; onKind: (kind: string | undefined) => void }) {
  return (
    <fieldset className="flex flex-wrap gap-1">
      <legend className="sr-only">Show only</legend>
      <KindButton label="Everything" icon={FilterIcon} isChosen={!kind} onClick={() => onKind(undefined)} />
      {Object.entries(KINDS).map(([name, label]) => (
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

function TimelineRow({ event }: { event: Event }) {
  const { kind, title, detail } = describeEvent(event)
  const Icon = ICONS[kind]
  const hasData = kind === 'event' && Object.keys(event.data).length > 0
  return (
    <li className="flex gap-3 border-line border-b py-2 text-ui last:border-b-0">
      <Icon className="mt-0.5 size-4 shrink-0 text-muted" aria-hidden="true" />
      <div className="min-w-0 flex-1">
        <p className="wrap-break-word font-medium">{event.emailId ? <EmailLink emailId={event.emailId}>{title}</EmailLink> : title}</p>
        {detail && <p className="wrap-break-word text-muted">{detail}</p>}
        {hasData && (
          <details className="text-muted">
            <summary className="w-fit rounded-sm text-xs">Data</summary>
            <pre className="mt-1 whitespace-pre-wrap wrap-break-word font-mono text-code">{JSON.stringify(event.data, null, 2)}</pre>
          </details>
        )}
      </div>
      <span className="shrink-0 text-muted text-xs">
        <ClockTime value={event.createdAt} />
      </span>
    </li>
  )
}

function EmailLink({ emailId, children }: { emailId: string; children: string }) {
  const project = useProject()
  return (
    <Link
      to="/app/p/$projectId/emails/$emailId"
      params={{ projectId: project.id, emailId }}
      className="rounded-sm hover:text-accent hover:underline"
    >
      {children}
    </Link>
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
