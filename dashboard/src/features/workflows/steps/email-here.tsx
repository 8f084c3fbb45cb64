import type { Template } from '@sterna/sdk'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useRef, useState } from 'react'
import { fieldsQuery } from '../../../data/contacts.ts'
import { storeTemplate, templatePreviewQuery, templateQuery } from '../../../data/templates.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input } from '../../../ui/form/input.tsx'
import { MessageFrame } from '../../../ui/message/message-frame.tsx'
import { Banner } from '../../../ui/page/banner.tsx'
import { explain } from '../../../ui/text/explain.ts'

const CodeEditor = lazy(() => import('../../../content/code-editor.tsx'))

/** The email of a step: a look at it, and its subject and HTML to be changed in place. */
export function EmailHere({ templateId, startsOpen }: { templateId: string; startsOpen: boolean }) {
  const project = useProject()
  const template = useQuery(templateQuery(project.id, templateId)).data
  const [isEditing, setIsEditing] = useState(startsOpen)
  const edit = useRef<HTMLButtonElement>(null)
  const wasEditing = useRef(isEditing)
  // The button that had the focus is gone with the form.
  useEffect(() => {
    if (wasEditing.current && !isEditing) edit.current?.focus()
    wasEditing.current = isEditing
  }, [isEditing])
  if (!template) return null
  if (isEditing && !template.design) return <EmailEditor template={template} onClose={() => setIsEditing(false)} />
  return (
    <div className="space-y-2">
      <p className="text-ui">
        <span className="text-muted">Subject</span> {template.subject}
      </p>
      <EmailPreview template={template} />
      <div className="flex flex-wrap items-center gap-3">
        {!template.design && (
          <Button ref={edit} size="sm" onClick={() => setIsEditing(true)}>
            Edit it here
          </Button>
        )}
        <Link to="/app/p/$projectId/templates/$templateId" params={{ projectId: project.id, templateId }} className="link text-ui">
          Open the template
        </Link>
      </div>
    </div>
  )
}

function EmailPreview({ template }: { template: Template }) {
  const project = useProject()
  const url = useQuery(templatePreviewQuery(project.id, template)).data?.frameUrl
  return (
    <div className="h-72 overflow-hidden rounded-md border border-line">
      {url && <MessageFrame fill images title={`Preview of ${template.name}`} url={url} />}
    </div>
  )
}

function EmailEditor({ template, onClose }: { template: Template; onClose: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const fields = useQuery(fieldsQuery(project.id)).data ?? []
  const [subject, setSubject] = useState(template.subject)
  const [from, setFrom] = useState(template.from ?? '')
  const [body, setBody] = useState(template.body)
  const first = useRef<HTMLDivElement>(null)
  useEffect(() => first.current?.querySelector('input')?.focus(), [])
  const save = useMutation({
    mutationFn: async () => {
      const changed = await api.templates.update(template.id, { subject, body, ...(from.includes('@') && { from }) })
      await storeTemplate(queries, project.id, changed)
      onClose()
    },
  })
  return (
    <div ref={first} className="space-y-3 rounded-lg border border-line p-3">
      {save.error && <Banner tone="danger">{explain(save.error)}</Banner>}
      <Field name="subject" label="Subject">
        <Input value={subject} maxLength={998} autoComplete="off" onChange={(event) => setSubject(event.target.value)} />
      </Field>
      <Field name="from" label="From" hint="An address of a verified domain.">
        <Input type="email" value={from} autoComplete="off" onChange={(event) => setFrom(event.target.value)} />
      </Field>
      <div className="h-64 overflow-auto rounded-md border border-edge">
        <Suspense fallback={<p className="p-2 text-muted text-ui">Loading…</p>}>
          <CodeEditor
            label="HTML of the email"
            value={body}
            onChange={setBody}
            variables={fields.map(({ field }) => ({ label: field, detail: 'field' }))}
            issues={[]}
          />
        </Suspense>
      </div>
      <div className="flex gap-2">
        <Button size="sm" variant="primary" busy={save.isPending} onClick={() => save.mutate()}>
          Save the email
        </Button>
        <Button size="sm" onClick={onClose}>
          Close
        </Button>
      </div>
      <p className="text-muted text-xs">Saving changes what everyone gets who reaches the step after it.</p>
    </div>
  )
}
