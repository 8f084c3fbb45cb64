import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { emailQuery } from '../../data/emails.ts'
import { useProject } from '../../projects/current.ts'
import { buttonClass } from '../../ui/form/button.tsx'
import { ErrorState } from '../../ui/page/error-state.tsx'
import { EmailFacts } from './email-facts.tsx'
import { EmailPreview, type PreviewTab } from './email-preview.tsx'
import { Story } from './story.tsx'

/** A look at an email beside the list. */
export function EmailPeek({ id }: { id: string }) {
  const project = useProject()
  const query = useQuery(emailQuery(project.id, id))
  const [tab, setTab] = useState<PreviewTab>('preview')
  if (query.isLoadingError) return <ErrorState title="Could not load this email" error={query.error} retry={query.refetch} />
  if (!query.data) return null
  const { timeline, ...email } = query.data
  return (
    <div className="space-y-4">
      <Link
        to="/app/p/$projectId/emails/$emailId"
        params={{ projectId: project.id, emailId: id }}
        className={buttonClass('secondary', 'sm')}
      >
        Open email
      </Link>
      <Story email={email} timeline={timeline} />
      <div className="border-line border-t pt-4">
        <EmailFacts email={email} />
      </div>
      <EmailPreview id={id} tab={tab} onTab={setTab} />
    </div>
  )
}
