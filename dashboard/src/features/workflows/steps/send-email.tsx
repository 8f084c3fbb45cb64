import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Mail } from 'lucide-react'
import { useState } from 'react'
import { TemplatePicker } from '../../../content/template-picker.tsx'
import { templateNamesQuery } from '../../../data/templates.ts'
import { useProject } from '../../../projects/current.ts'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Input, Select } from '../../../ui/form/input.tsx'
import { describeReason } from '../editor/describe.ts'
import type { Step } from '../graph/graph.ts'
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
    if (!textOf(config.templateId)) return 'Choose a template.'
    const recipient = recipientOf(config)
    return recipient.type === 'CUSTOM' && !recipient.customEmail?.includes('@') ? 'Enter the address it goes to.' : undefined
  },
  Form: SendEmailForm,
  Result: EmailResult,
}

function SendEmailForm(props: StepFormProps) {
  const [picking, setPicking] = useState(false)
  const project = useProject()
  const templates = useQuery(templateNamesQuery(project.id)).data ?? {}
  const { config } = props.step
  const set = setterOf(props)
  const templateId = textOf(config.templateId)
  const recipient = recipientOf(config)
  const options = {
    ...(!templateId && { '': 'Choose a template' }),
    ...templates,
    ...(templateId && !templates[templateId] && { [templateId]: 'Another template' }),
  }
  return (
    <>
      <div className="grid grid-cols-1 gap-4 @md:grid-cols-2">
        <Field
          name="templateId"
          label="Template"
          hint="The template is read when the step runs: later changes apply to everyone who reaches the step after them."
          aside={
            templateId && (
              <Link to="/app/p/$projectId/templates/$templateId" params={{ projectId: project.id, templateId }} className="link text-ui">
                Open
              </Link>
            )
          }
        >
          <Select options={options} value={templateId} onChange={(event) => set({ templateId: event.target.value })} />
        </Field>
        <Field name="recipient" label="To">
          <Select
            options={{ CONTACT: 'The contact', CUSTOM: 'Another address' }}
            value={recipient.type}
            onChange={(event) =>
              set({ recipient: event.target.value === 'CUSTOM' ? { type: 'CUSTOM', customEmail: '' } : { type: 'CONTACT' } })
            }
          />
        </Field>
      </div>
      <Button size="sm" onClick={() => setPicking(true)}>
        Choose by picture, or make one…
      </Button>
      <TemplatePicker
        open={picking}
        onOpenChange={setPicking}
        templateId={templateId || undefined}
        newName={props.step.name}
        onTemplate={(chosen) => set({ templateId: chosen })}
      />
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
