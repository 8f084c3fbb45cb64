import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ArrowLeft } from 'lucide-react'
import { messageQuery, messageSourceQuery } from '../../data/sandbox.ts'
import type { ListSearch } from '../../list/list-search.ts'
import { useProject } from '../../projects/current.ts'
import { Button, buttonClass } from '../../ui/form/button.tsx'
import { MessageHeaders, MessageTabs, NoPart } from '../../ui/message/message-tabs.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { CodeBlock, CopyText } from '../../ui/text/copy-field.tsx'
import { formatBytes } from '../../ui/text/format-bytes.ts'
import { Time } from '../../ui/text/time.tsx'
import { bytesOf, findProblems, linksOf } from './message-parts.ts'

const TABS = { html: 'HTML', text: 'Text', source: 'Source', headers: 'Headers', links: 'Links' }
type Tab = keyof typeof TABS

type Known = { emailId: string; to: string; from: string; subject: string; createdAt: string }

/** One message of the sandbox. The fields that the list has are shown at once; a link to an older message loads it. */
export function MessageView({ id, message, onBack }: { id: string; message: Known | undefined; onBack: () => void }) {
  const project = useProject()
  const source = useQuery({ ...messageSourceQuery(project.id, id), enabled: !message })
  const known = message ?? source.data
  return (
    <article aria-label={known?.subject || 'Message'} className="space-y-3 p-4">
      <Button size="sm" variant="quiet" className="lg:hidden" onClick={onBack}>
        <ArrowLeft aria-hidden="true" />
        All messages
      </Button>
      {source.isLoadingError && <ErrorState title="Could not load this message" error={source.error} retry={source.refetch} />}
      {known && <Head message={known} />}
      {!source.isLoadingError && <Parts id={id} />}
    </article>
  )
}

function Head({ message: { emailId, to, from, subject, createdAt } }: { message: Known }) {
  const project = useProject()
  return (
    <header className="flex flex-wrap items-start gap-3">
      <div className="min-w-0 flex-1 basis-60">
        <h2 className="wrap-break-word font-semibold text-base">{subject || 'No subject'}</h2>
        <p className="wrap-break-word text-muted text-ui">
          From {from} to <CopyText value={to} label="Recipient" /> · <Time value={createdAt} />
        </p>
      </div>
      <Link to="/app/p/$projectId/emails/$emailId" params={{ projectId: project.id, emailId }} className={buttonClass('secondary', 'sm')}>
        What happened to it
      </Link>
    </header>
  )
}

function Parts({ id }: { id: string }) {
  const project = useProject()
  const search = useSearch({ strict: false }) as ListSearch
  const navigate = useNavigate()
  const query = useQuery(messageQuery(project.id, id))
  if (query.isPending) return <Skeleton className="h-96" />
  if (query.isLoadingError) return <ErrorState title="Could not read this message" error={query.error} retry={query.refetch} />
  const { html, text, headers, attachments, frameUrl } = query.data
  const tab: Tab = search.tab && Object.hasOwn(TABS, search.tab) ? (search.tab as Tab) : 'html'
  const problems = findProblems({ html, text, headers })
  return (
    <>
      {problems.length > 0 && <Banner tone="warning">{problems.join(' ')}</Banner>}
      <MessageTabs
        label="Message"
        tabs={TABS}
        chosen={tab}
        onChoose={(next) =>
          navigate({
            to: '/app/p/$projectId/sandbox',
            params: { projectId: project.id },
            search: { ...search, peek: id, tab: next === 'html' ? undefined : next },
            replace: true,
            resetScroll: false,
          })
        }
        rendered="html"
        frame={html ? { title: 'The message', url: frameUrl } : undefined}
      >
        {tab === 'html' && <NoPart>It has no HTML part.</NoPart>}
        {tab === 'text' && (text ? <CodeBlock title="The text part" label="Text" code={text} /> : <NoPart>It has no text part.</NoPart>)}
        {tab === 'source' && <Source id={id} />}
        {tab === 'headers' && <MessageHeaders headers={headers} />}
        {tab === 'links' && <Links html={html} />}
      </MessageTabs>
      <p className="text-muted text-xs">
        HTML {formatBytes(bytesOf(html))} of the 102 KB that Gmail shows. Without the open pixel and with the original links; the source has
        both.
      </p>
      {attachments.length > 0 && <Attachments attachments={attachments} />}
    </>
  )
}

function Source({ id }: { id: string }) {
  const project = useProject()
  const query = useQuery(messageSourceQuery(project.id, id))
  if (query.isPending) return <Skeleton className="h-96" />
  if (query.isLoadingError) return <ErrorState title="Could not load the source" error={query.error} retry={query.refetch} />
  return <CodeBlock title="As it would have been sent" label="Source" code={query.data.source} />
}

/** Shown as text: a link of a message is not followed from here by mistake. */
function Links({ html }: { html: string }) {
  const links = linksOf(html)
  if (links.length === 0) return <NoPart>It has no links.</NoPart>
  return (
    <ul className="divide-y divide-line text-ui">
      {links.map(({ label, url }) => (
        <li key={url} className="py-2">
          <p className="truncate font-medium">{label}</p>
          <CopyText value={url} label="Link" mono />
        </li>
      ))}
    </ul>
  )
}

type Attachment = { filename: string; contentType: string; bytes: number; inline: boolean }

function Attachments({ attachments }: { attachments: Attachment[] }) {
  return (
    <section aria-label="Attachments" className="text-ui">
      <h3 className="font-medium">Attachments</h3>
      <ul>
        {attachments.map(({ filename, contentType, bytes, inline }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two files may have the same name, and the list never changes
          <li key={index} className="wrap-break-word">
            {filename}{' '}
            <span className="text-muted">
              {contentType}, {formatBytes(bytes)}
              {inline && ', in the text'}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}
