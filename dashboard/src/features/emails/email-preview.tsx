import { useQuery } from '@tanstack/react-query'
import { emailPreviewQuery } from '../../data/emails.ts'
import { useProject } from '../../projects/current.ts'
import { MessageHeaders, MessageTabs, NoPart } from '../../ui/message/message-tabs.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { Skeleton } from '../../ui/page/skeleton.tsx'
import { CodeBlock } from '../../ui/text/copy-field.tsx'

const TABS = { preview: 'Preview', text: 'Text', html: 'HTML', headers: 'Headers' }
export type PreviewTab = keyof typeof TABS
export const readTab = (tab: string | undefined): PreviewTab => (tab && Object.hasOwn(TABS, tab) ? (tab as PreviewTab) : 'preview')

type EmailPreviewProps = { id: string; tab: PreviewTab; onTab: (tab: PreviewTab) => void }

/** The content, rendered again by the server. */
export function EmailPreview({ id, tab, onTab }: EmailPreviewProps) {
  const project = useProject()
  const query = useQuery(emailPreviewQuery(project.id, id))
  if (query.isPending) return <Skeleton className="h-96" />
  if (query.isLoadingError) return <ErrorState title="Could not render this email" error={query.error} retry={query.refetch} />
  const { subject, html, text, headers, frameUrl, requestDataCleared, clearedVariables } = query.data
  return (
    <div className="space-y-2">
      <MessageTabs
        label="Content"
        tabs={TABS}
        chosen={tab}
        onChoose={onTab}
        rendered="preview"
        frame={{ title: `Preview of ${subject}`, url: frameUrl }}
      >
        {tab === 'text' && <CodeBlock title="The text part" label="Text" code={text} />}
        {tab === 'html' && <CodeBlock title="The HTML part" label="HTML" code={html} />}
        {tab === 'headers' &&
          (headers.length > 0 ? <MessageHeaders headers={headers} /> : <NoPart>The headers of a received email are not kept.</NoPart>)}
      </MessageTabs>
      <p className="text-muted text-xs">
        {tab === 'headers'
          ? 'Without signatures, and without what servers on the way have added.'
          : 'Rendered again from its content and today’s data of the contact, without tracking: viewing it does not count as an open.'}
        {requestDataCleared && clearedVariables.length > 0 && (
          <> Values of the request are no longer stored; ▢ stands for {clearedVariables.join(', ')}.</>
        )}
      </p>
    </div>
  )
}
