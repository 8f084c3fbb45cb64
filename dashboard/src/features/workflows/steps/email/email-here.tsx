import type { Template } from '@sterna/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useRef, useState } from 'react'
import { templatePreviewQuery, templateQuery } from '../../../../data/templates.ts'
import { useProject } from '../../../../projects/current.ts'
import { Button } from '../../../../ui/form/button.tsx'
import { MessageFrame } from '../../../../ui/message/message-frame.tsx'

const EmailDialog = lazy(() => import('./email-dialog.tsx'))

/**
 * The email of a step: a look at it, and its editor. It is as tall before the template is loaded as afterwards:
 * an open menu below it would else move out of the screen.
 */
export function EmailHere({ templateId, startsOpen }: { templateId: string; startsOpen: boolean }) {
  const project = useProject()
  const { data: template, isError } = useQuery(templateQuery(project.id, templateId))
  const [isEditing, setIsEditing] = useState(startsOpen)
  const edit = useRef<HTMLButtonElement>(null)
  if (isError) return null
  return (
    <div className="space-y-2">
      <p className="text-ui">
        <span className="text-muted">Subject</span> {template?.subject}
      </p>
      <EmailPreview template={template} />
      <div className="flex flex-wrap items-center gap-3">
        <Button ref={edit} size="sm" disabled={!template} onClick={() => setIsEditing(true)}>
          Edit it here
        </Button>
        <Link to="/app/p/$projectId/templates/$templateId" params={{ projectId: project.id, templateId }} className="link text-ui">
          Open the template
        </Link>
      </div>
      {template && isEditing && (
        <Suspense>
          <EmailDialog template={template} onClose={() => setIsEditing(false)} returnFocus={() => edit.current} />
        </Suspense>
      )}
    </div>
  )
}

function EmailPreview({ template }: { template: Template | undefined }) {
  return <div className="h-72 overflow-hidden rounded-md border border-line">{template && <PreviewFrame template={template} />}</div>
}

function PreviewFrame({ template }: { template: Template }) {
  const project = useProject()
  const url = useQuery(templatePreviewQuery(project.id, template)).data?.frameUrl
  return url && <MessageFrame fill images title={`Preview of ${template.name}`} url={url} />
}
