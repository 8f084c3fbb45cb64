import type { Sterna } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { ArrowUp, Inbox, SearchX } from 'lucide-react'
import { useEffect, useState } from 'react'
import { configQuery } from '../../data/installation.ts'
import { FilterBar } from '../../list/filter-bar.tsx'
import { Pager } from '../../list/pager.tsx'
import { type List, useList } from '../../list/use-list.ts'
import { useListKeys } from '../../list/use-list-keys.ts'
import { SendEmail } from '../../people/send-email.tsx'
import { useProject } from '../../projects/current.ts'
import { Button } from '../../ui/form/button.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { EmptyState } from '../../ui/page/empty-state.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { FirstRun } from '../../ui/page/first-run.tsx'
import { Page, PageHeader } from '../../ui/page/page.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { useIsSlow } from '../../ui/page/use-is-slow.ts'
import { Count } from '../../ui/text/count.tsx'
import { Time } from '../../ui/text/time.tsx'
import { MessageView } from './message-view.tsx'
import { useOpened, useSeenUntil } from './seen.ts'

type Message = Awaited<ReturnType<Sterna['sandbox']['list']>>['data'][number]

const LIVE_MS = 5_000
const rowId = ({ id }: Message) => id

export function SandboxPage() {
  const config = useQuery(configQuery).data
  if (!config) return <Page title="Sandbox" width="full" loading />
  if (config.features.email.sandbox) return <SandboxInbox />
  return (
    <Page title="Sandbox" width="full">
      <EmptyState icon={Inbox} title="This server sends real email">
        The sandbox keeps emails instead of sending them. It is on while no SMTP server and no Amazon SES is configured.
      </EmptyState>
    </Page>
  )
}

/** Interval and limit of waiting for a message that was just sent from this page. */
const AWAIT_MS = 400
const AWAIT_AT_MOST_MS = 15_000

function SandboxInbox() {
  const [awaited, setAwaited] = useState<{ before: string | undefined }>()
  const list = useList<Message>({
    name: 'sandbox',
    load: (api, { limit, cursor, q }) => api.sandbox.list({ limit, ...(cursor && { cursor }), ...(q && { q }) }),
    rowId,
    live: awaited ? AWAIT_MS : LIVE_MS,
  })
  useListKeys(list, { canSelect: false, canPeek: true, onSelect: () => undefined })
  useMarkSeen(list)
  useShowNext(list, awaited, setAwaited)
  const send = <SendEmail label="Send a test" onSent={() => setAwaited({ before: list.rows?.[0]?.id })} />
  const isFirstRun = list.rows?.length === 0 && list.isFirstPage && !list.isFiltered
  return (
    <>
      <PageHeader title="Sandbox" count={list.rows && <Count value={list.total} />} actions={!isFirstRun && send} />
      <div className="max-w-[1440px] space-y-4 px-4 py-4 sm:px-6 lg:px-8">
        <Banner>
          Nothing leaves this machine. <Code>bounce@…</Code>, <Code>complaint@…</Code> and <Code>delay@…</Code> play those parts, on any
          domain.
        </Banner>
        {isFirstRun && (
          <FirstRun icon={Inbox} title="Nothing here yet" action={send}>
            Send something: it appears here, as it would have been sent.
          </FirstRun>
        )}
        {!isFirstRun && <FilterBar filters={[]} request={list.request} change={list.change} searchHint="Recipient or subject" />}
        {list.isPending && <Loading />}
        {list.error && !list.rows && <ErrorState title="Could not load the messages" error={list.error} retry={list.retry} />}
        {list.rows?.length === 0 && list.isFiltered && (
          <EmptyState
            icon={SearchX}
            title="Nothing matches this search"
            action={<Button onClick={() => list.change({ q: undefined })}>Clear the search</Button>}
          >
            It looks at recipients and subjects.
          </EmptyState>
        )}
        {list.rows && list.rows.length > 0 && <Panes list={list} rows={list.rows} />}
      </div>
    </>
  )
}

function Code({ children }: { children: string }) {
  return <code className="font-mono text-code">{children}</code>
}

/** On a phone one pane at a time. On a large screen the newest message is shown until another is chosen. */
function Panes({ list, rows }: { list: List<Message>; rows: Message[] }) {
  const project = useProject()
  const { isOpened, open } = useOpened(project.id)
  const chosen = list.search.peek ?? rows[0]?.id
  const message = rows.find(({ id }) => id === chosen)
  const onPhone = list.search.peek !== undefined
  function choose(id: string) {
    open(id)
    list.peek(id)
  }
  return (
    <div className="grid grid-cols-1 rounded-lg border border-line bg-surface lg:grid-cols-[22rem_minmax(0,1fr)]">
      <div className={`min-w-0 border-line lg:border-r ${onPhone ? 'max-lg:hidden' : ''}`}>
        {list.newCount > 0 && (
          <div className="border-line border-b p-2">
            <Button size="sm" onClick={list.showNew}>
              <ArrowUp aria-hidden="true" />
              {list.newCount} new
            </Button>
          </div>
        )}
        <ul aria-label="Messages">
          {rows.map((each) => (
            <MessageRow key={each.id} message={each} isChosen={each.id === chosen} isUnread={!isOpened(each.id)} onChoose={choose} />
          ))}
        </ul>
        <Pager
          isFirstPage={list.isFirstPage}
          knowsNewer={list.knowsNewer}
          hasMore={list.hasMore}
          size={list.request.limit}
          onNewer={list.newer}
          onOlder={list.older}
          onSize={list.setSize}
          byTime
        />
      </div>
      <div className={`min-w-0 ${onPhone ? '' : 'max-lg:hidden'}`}>
        {chosen && <MessageView key={chosen} id={chosen} message={message} onBack={() => list.peek(undefined)} />}
      </div>
    </div>
  )
}

type MessageRowProps = { message: Message; isChosen: boolean; isUnread: boolean; onChoose: (id: string) => void }

function MessageRow({ message: { id, to, subject, createdAt }, isChosen, isUnread, onChoose }: MessageRowProps) {
  return (
    <li data-row={id} className="border-line border-b">
      <button
        type="button"
        data-row-link
        aria-current={isChosen || undefined}
        onClick={() => onChoose(id)}
        className="flex w-full gap-2 px-3 py-2 text-left text-ui hover:bg-sunken focus-visible:-outline-offset-2 aria-[current=true]:bg-accent-soft"
      >
        <span aria-hidden="true" className={`mt-1.5 size-2 shrink-0 rounded-full ${isUnread ? 'bg-accent' : ''}`} />
        <span className="min-w-0 flex-1">
          <span className="flex items-baseline gap-2">
            <span className={`min-w-0 flex-1 truncate ${isUnread ? 'font-semibold' : ''}`}>{to}</span>
            <span className="shrink-0 text-muted text-xs">
              <Time value={createdAt} />
            </span>
          </span>
          <span className="block truncate text-muted">
            {isUnread && <span className="sr-only">Unread: </span>}
            {subject || 'No subject'}
          </span>
        </span>
      </button>
    </li>
  )
}

type AwaitedMessage = { before: string | undefined } | undefined

/** A message that the user has just sent is shown at once, without the button for new messages. */
function useShowNext({ newCount, showNew, rows }: List<Message>, awaited: AwaitedMessage, setAwaited: (awaited: AwaitedMessage) => void) {
  const newest = rows?.[0]?.id
  useEffect(() => {
    if (!awaited) return
    if (newCount > 0) showNew()
    if (newCount > 0 || newest !== awaited.before) setAwaited(undefined)
  }, [awaited, newCount, newest, showNew, setAwaited])
  useEffect(() => {
    if (!awaited) return
    const timer = setTimeout(() => setAwaited(undefined), AWAIT_AT_MOST_MS)
    return () => clearTimeout(timer)
  }, [awaited, setAwaited])
}

/** Opening the first page marks its messages as seen. */
function useMarkSeen(list: List<Message>) {
  const project = useProject()
  const [seenUntil, setSeenUntil] = useSeenUntil(project.id)
  // The order is that of the ids: an email that was queued earlier may have been sent later.
  const newest = list.isFirstPage
    ? list.rows
        ?.map(({ createdAt }) => createdAt)
        .sort()
        .at(-1)
    : undefined
  useEffect(() => {
    if (newest && newest > seenUntil) setSeenUntil(newest)
  }, [newest, seenUntil, setSeenUntil])
}

function Loading() {
  const isSlow = useIsSlow()
  return (
    <div className="min-h-[31rem]">
      <p className="sr-only" role="status">
        Loading…
      </p>
      {isSlow && <Skeleton className="h-96" />}
    </div>
  )
}
