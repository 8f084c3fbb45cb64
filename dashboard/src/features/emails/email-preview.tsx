import { useQuery } from '@tanstack/react-query'
import { Images, Smartphone } from 'lucide-react'
import { useState } from 'react'
import { useProject } from '../../projects/current.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/copy-field.tsx'
import { ErrorState } from '../../ui/error-state.tsx'
import { MessageFrame } from '../../ui/message-frame.tsx'
import { Skeleton } from '../../ui/skeleton.tsx'
import { ViewTabs } from '../../ui/view-tabs.tsx'
import { emailPreviewQuery } from './queries.ts'

const TABS = { preview: 'Preview', text: 'Text', html: 'HTML' }
export type PreviewTab = keyof typeof TABS
export const readTab = (tab: string | undefined): PreviewTab => (tab && Object.hasOwn(TABS, tab) ? (tab as PreviewTab) : 'preview')

type EmailPreviewProps = { id: string; tab: PreviewTab; onTab: (tab: PreviewTab) => void }

/** The content, rendered again by the server. */
export function EmailPreview({ id, tab, onTab }: EmailPreviewProps) {
  const project = useProject()
  const query = useQuery(emailPreviewQuery(project.id, id))
  const [images, setImages] = useState(false)
  const [phone, setPhone] = useState(false)
  if (query.isPending) return <Skeleton className="h-96" />
  if (query.isLoadingError) return <ErrorState title="Could not render this email" error={query.error} retry={query.refetch} />
  const { subject, html, text, frameUrl, requestDataCleared, clearedVariables } = query.data
  return (
    <ViewTabs
      label="Content"
      tabs={TABS}
      chosen={tab}
      onChoose={onTab}
      actions={
        tab === 'preview' && (
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
      <div className="space-y-2">
        {tab === 'preview' && <MessageFrame title={`Preview of ${subject}`} url={frameUrl} images={images} phone={phone} />}
        {tab === 'text' && <CodeBlock title="The text part" label="Text" code={text} />}
        {tab === 'html' && <CodeBlock title="The HTML part" label="HTML" code={html} />}
        <p className="text-muted text-xs">
          Rendered again from its content and today’s data of the contact, without tracking: looking at it is no open.
          {requestDataCleared && clearedVariables.length > 0 && (
            <> Values of the request are no longer stored; ▢ stands for {clearedVariables.join(', ')}.</>
          )}
        </p>
      </div>
    </ViewTabs>
  )
}
