import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Mail, PenLine } from 'lucide-react'
import { useState } from 'react'
import { TemplatePicker } from '../../../content/template/template-picker.tsx'
import { findSender, storeTemplate, templateQuery } from '../../../data/templates.ts'
import { blankDesign } from '../../../design/document/design-json.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { explain } from '../../../ui/notice/explain.ts'
import type { Step } from '../graph/graph.ts'
import { describeReason } from './describe.ts'
import { EmailHere } from './email/email-here.tsx'
import { TemplateChooser } from './email/template-chooser.tsx'
import { type StepFormProps, type StepView, setterOf, textOf } from './step-view.ts'

const recipientOf = ({ recipient }: Step['config']) => (recipient ?? { type: 'CONTACT' }) as { type: string; customEmail?: string }

export const sendEmailView: StepView = {
  word: 'Send an email',
  Icon: Mail,
  newConfig: { templateId: '', recipient: { type: 'CONTACT' } },
  describe(config, { templates }) {
    const recipient = recipientOf(config)
    const template = textOf(config.templateId) ? (templates[textOf(config.templateId)] ?? 'a deleted template') : 'no template yet'
    return recipient.type === 'CUSTOM' ? `${template}, to ${recipient.customEmail || 'no address yet'}` : template
  },
  problem(config) {
    if (!textOf(config.templateId)) return 'Choose an email, or write one.'
    const recipient = recipientOf(config)
    return recipient.type === 'CUSTOM' && !recipient.customEmail?.includes('@') ? 'Enter the address it goes to.' : undefined
  },
  Form: SendEmailForm,
  Result: EmailResult,
}

function SendEmailForm(props: StepFormProps) {
  const { config } = props.step
  const set = setterOf(props)
  const templateId = textOf(config.templateId)
  const recipient = recipientOf(config)
  return (
    <>
      <EmailOfStep {...props} templateId={templateId} onTemplate={(id) => set({ templateId: id })} />
      <Field name="recipient" label="To">
        <Select
          options={{ CONTACT: 'The contact', CUSTOM: 'Another address' }}
          value={recipient.type}
          onChange={(event) =>
            set({ recipient: event.target.value === 'CUSTOM' ? { type: 'CUSTOM', customEmail: '' } : { type: 'CONTACT' } })
          }
        />
      </Field>
      {recipient.type === 'CUSTOM' && (
        <Field name="customEmail" label="Address" hint="Gets the email with the data of the contact, such as a note to your team.">
          <Input
            type="email"
            value={recipient.customEmail ?? ''}
            autoComplete="off"
            onChange={(event) => set({ recipient: { type: 'CUSTOM', customEmail: event.target.value } }, 'customEmail')}
          />
        </Field>
      )}
    </>
  )
}

type EmailOfStepProps = StepFormProps & { templateId: string; onTemplate: (id: string) => void }

/** Chosen from the templates, or written here: then it is a template that belongs to the workflow. */
function EmailOfStep({ step, workflow, templateId, onTemplate }: EmailOfStepProps) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const [writtenId, setWrittenId] = useState<string>()
  const [picking, setPicking] = useState(false)
  const template = useQuery({ ...templateQuery(project.id, templateId), enabled: templateId !== '' })
  const name = !templateId ? 'Choose a template' : (template.data?.name ?? (template.isError ? 'a deleted template' : '…'))
  const write = useMutation({
    mutationFn: async () => {
      const created = await api.templates.create({
        name: nameOf(workflow, step),
        subject: step.name,
        design: blankDesign(),
        type: 'TRANSACTIONAL',
        workflowId: workflow.id,
        ...(await findSender(queries, project)),
      })
      await storeTemplate(queries, project.id, created)
      setWrittenId(created.id)
      onTemplate(created.id)
    },
  })
  return (
    <div className="space-y-3">
      <div className="space-y-1">
        <p className="font-medium text-ui">Email</p>
        <TemplateChooser name={name} isChosen={templateId !== ''} onChoose={({ id }) => onTemplate(id)} />
        <p className="text-muted text-ui">
          The template is read when the step runs: later changes apply to everyone who reaches the step after that.
        </p>
      </div>
      {write.error && <Banner tone="danger">{explain(write.error)}</Banner>}
      <div className="flex flex-wrap gap-2">
        {!templateId && (
          <Button size="sm" busy={write.isPending} onClick={() => write.mutate()}>
            <PenLine aria-hidden="true" />
            Write it here
          </Button>
        )}
        <Button size="sm" onClick={() => setPicking(true)}>
          Browse templates and starters…
        </Button>
      </div>
      <TemplatePicker
        open={picking}
        onOpenChange={setPicking}
        templateId={templateId || undefined}
        newName={nameOf(workflow, step)}
        workflowId={workflow.id}
        onTemplate={onTemplate}
      />
      {templateId && <EmailHere key={templateId} templateId={templateId} startsOpen={templateId === writtenId} />}
    </div>
  )
}

const nameOf = (workflow: { name: string }, step: { name: string }) => `${workflow.name}: ${step.name}`.slice(0, 255)

function EmailResult({ result }: { result: Record<string, unknown> }) {
  if (result.skipped) return <p className="text-ui text-warning">Skipped: {describeReason(String(result.skipped))}.</p>
  // The end of the path says why it fails.
  if (typeof result.subject !== 'string') return null
  return (
    <p className="text-ui">
      “{result.subject}” to {String(result.to)}, from {String(result.from)}
    </p>
  )
}
