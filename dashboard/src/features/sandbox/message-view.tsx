import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { ArrowLeft, Images, Smartphone } from 'lucide-react'
import { useState } from 'react'
import type { ListSearch } from '../../list/list-search.ts'
import { useProject } from '../../projects/current.ts'
import { Banner } from '../../ui/banner.tsx'
import { Button, buttonClass } from '../../ui/button.tsx'
import { CodeBlock, CopyText } from '../../ui/copy-field.tsx'
import { ErrorState } from '../../ui/error-state.tsx'
import { MessageFrame } from '../../ui/message-frame.tsx'
import { Fact, Facts } from '../../ui/peek-panel.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { Time } from '../../ui/time.tsx'
import { ViewTabs } from '../../ui/view-tabs.tsx'
import { bytesOf, findProblems, formatBytes, linksOf } from './message-parts.ts'
import { messageQuery, sourceQuery } from './queries.ts'

const TABS = { html: 'HTML', text: 'Text', source: 'Source', headers: 'Headers', links: 'Links' }
type Tab = keyof typeof TABS

type Known = { emailId: string; to: string; from: string; subject: string; createdAt: string }

/** One message of the sandbox. What the list knows of it is shown at once; a link to an older one loads it. */
export function MessageView({ id, message, onBack }: { id: string; message: Known | undefined; onBack: () => void }) {
  const project = useProject()
  const source = useQuery({ ...sourceQuery(project.id, id), enabled: !message })
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
  const [images, setImages] = useState(false)
  const [phone, setPhone] = useState(false)
  if (query.isPending) return <Skeleton className="h-96" />
  if (query.isLoadingError) return <ErrorState title="Could not read this message" error={query.error} retry={query.refetch} />
  const { html, text, headers, attachments, frameUrl } = query.data
  const tab: Tab = search.tab && Object.hasOwn(TABS, search.tab) ? (search.tab as Tab) : 'html'
  const problems = findProblems({ html, text, headers })
  return (
    <>
      {problems.length > 0 && <Banner tone="warning">{problems.join(' ')}</Banner>}
      <ViewTabs
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
        actions={
          tab === 'html' && (
            <span className="flex gap-1">
              <Button size="sm" variant="quiet" aria-pressed={images} onClick={() => setImages(!images)}>
                <Images aria-hidden="true" />
                {images ? 'Hide remote images' : 'Show remote images'}
              </Button>
              <Button size="sm" variant="quiet" aria-pressed={phone} onClick={() => setPhone(!phone)}>
                <Smartphone aria-hidden="true" />
                Phone
              </Button>
            </span>
          )
        }
      >
        {tab === 'html' &&
          (html ? (
            <MessageFrame title="The message" url={frameUrl} images={images} phone={phone} />
          ) : (
            <Nothing>It has no HTML part.</Nothing>
          ))}
        {tab === 'text' && (text ? <CodeBlock title="The text part" label="Text" code={text} /> : <Nothing>It has no text part.</Nothing>)}
        {tab === 'source' && <Source id={id} />}
        {tab === 'headers' && <Headers headers={headers} />}
        {tab === 'links' && <Links html={html} />}
      </ViewTabs>
      <p className="text-muted text-xs">
        HTML {formatBytes(bytesOf(html))} of the 102 KB that Gmail shows. Without the open pixel and with the original links; the source has
        both.
      </p>
      {attachments.length > 0 && <Attachments attachments={attachments} />}
    </>
  )
}

function Nothing({ children }: { children: string }) {
  return <p className="py-6 text-muted text-ui">{children}</p>
}

function Source({ id }: { id: string }) {
  const project = useProject()
  const query = useQuery(sourceQuery(project.id, id))
  if (query.isPending) return <Skeleton className="h-96" />
  if (query.isLoadingError) return <ErrorState title="Could not load the source" error={query.error} retry={query.refetch} />
  return <CodeBlock title="As it would have been sent" label="Source" code={query.data.source} />
}

function Headers({ headers }: { headers: { name: string; value: string }[] }) {
  return (
    <Facts>
      {headers.map(({ name, value }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a header may occur twice, and the list never changes
        <Fact key={index} label={name}>
          <span className="font-mono text-code">{value}</span>
        </Fact>
      ))}
    </Facts>
  )
}

/** Shown as text: a link of a message is not followed from here by mistake. */
function Links({ html }: { html: string }) {
  const links = linksOf(html)
  if (links.length === 0) return <Nothing>It has no links.</Nothing>
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
