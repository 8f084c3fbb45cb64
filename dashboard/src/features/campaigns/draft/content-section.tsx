import type { Campaign, Template } from '@sterna/sdk'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo, useState } from 'react'
import { apiOf } from '../../../client/api.ts'
import type { CodeIssue } from '../../../content/code-editor.tsx'
import { ContentWorkspace } from '../../../content/content-workspace.tsx'
import { StartPicker } from '../../../content/starters/start-picker.tsx'
import type { FindPeople } from '../../../data/contacts.ts'
import { offeredTemplatesQuery } from '../../../data/templates.ts'
import { ordered } from '../../../design/document/design-json.ts'
import type { Draft } from '../../../editor/use-draft.ts'
import { useApi, useProject } from '../../../projects/current.ts'
import { Dialog, DialogButtons } from '../../../ui/dialog/dialog.tsx'
import { toast } from '../../../ui/dialog/toast.tsx'
import { Button } from '../../../ui/form/button.tsx'
import { Field } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { Input } from '../../../ui/form/input.tsx'
import { Banner } from '../../../ui/notice/banner.tsx'
import { type CampaignValues, campaignValuesOf } from './campaign-values.ts'
import type { DraftPart, OpenParts } from './open-parts.ts'
import { Section } from './section.tsx'

const ROUTE = '/app/p/$projectId/campaigns/$campaignId'

/** Previews show only people who would get the campaign. */
const recipientsOf = (campaignId: string): FindPeople => ({
  scope: `campaign ${campaignId}`,
  find: async (projectId, search, limit) => {
    const { data } = await apiOf(projectId).campaigns.audience(campaignId, { part: 'recipients', limit, ...(search && { search }) })
    return data.map(({ contactId, email }) => ({ id: contactId, email }))
  },
})

const TEXT_PARTS = ['subject', 'body'] as const

type TextName = 'subject' | 'previewText' | 'from' | 'fromName' | 'replyTo'
type ContentSectionProps = {
  campaign: Campaign
  draft: Draft<CampaignValues>
  issues: CodeIssue[] | undefined
  problem: string | undefined
  open: OpenParts
  onConfirm: (part: DraftPart) => void
}

/** The content, in the same editor as for templates. */
export function ContentSection({ campaign, draft, issues, problem, open, onConfirm }: ContentSectionProps) {
  const navigate = useNavigate()
  const { as, show, dark } = useSearch({ from: ROUTE })
  const people = useMemo(() => recipientsOf(campaign.id), [campaign.id])
  const text = (name: TextName, maxLength: number) => ({
    value: draft.values[name],
    onChange: (event: { target: { value: string } }) => draft.set({ [name]: event.target.value }),
    maxLength,
    autoComplete: 'off',
  })
  const openTexts = TEXT_PARTS.filter((part) => open[part])
  return (
    <Section title="Content" state={problem ? 'wrong' : openTexts.length > 0 ? 'open' : 'done'} flush>
      <div className="space-y-3 px-4 pb-4 sm:px-6 lg:px-8">
        {openTexts.map((part) => (
          <Banner
            key={part}
            action={
              <Button size="sm" onClick={() => onConfirm(part)}>
                Keep the {part}
              </Button>
            }
          >
            {capitalized(open[part]!)}.
          </Banner>
        ))}
        <div className="grid grid-cols-1 gap-3 md:grid-cols-2">
          <Field name="subject" label="Subject">
            <Input {...text('subject', 998)} />
          </Field>
          <Field
            name="previewText"
            label="Preview text"
            hint="Shown after the subject in the inbox. If empty, the beginning of the body is shown."
          >
            <Input {...text('previewText', 500)} />
          </Field>
        </div>
        <div className="grid grid-cols-1 gap-3 md:grid-cols-3">
          <Field name="fromName" label="From name">
            <Input {...text('fromName', 255)} />
          </Field>
          <Field name="from" label="From address">
            <Input {...text('from', 320)} type="email" />
          </Field>
          <Field name="replyTo" label="Reply to">
            <Input {...text('replyTo', 320)} type="email" placeholder="The from address" />
          </Field>
        </div>
        <UseTemplate draft={draft} />
      </div>
      <ContentWorkspace
        values={draft.values}
        saved={campaignValuesOf(campaign)}
        onContent={draft.set}
        issues={issues}
        view={{ ...(as && { as }), ...(show && { show }), ...(dark && { dark }) }}
        onView={(search) => navigate({ to: '.', search: search as never, replace: true, resetScroll: false })}
        people={people}
      />
    </Section>
  )
}

const capitalized = (text: string) => text.charAt(0).toUpperCase() + text.slice(1)

/** Replaces the content by that of a template; the toast offers the old one again. */
function UseTemplate({ draft }: { draft: Draft<CampaignValues> }) {
  const project = useProject()
  const templates = useQuery(offeredTemplatesQuery(project.id)).data ?? []
  const api = useApi()
  const [open, setOpen] = useState(false)
  const [chosen, setChosen] = useState('')
  const use = useMutation({ mutationFn: async (id: string) => copy(await api.templates.get(id)) })
  if (templates.length === 0) return null
  function copy(template: Template) {
    const { subject, previewText, body, design, type, templateId, fromName, replyTo } = draft.values
    draft.set({
      subject: template.subject,
      previewText: template.previewText ?? '',
      body: template.body,
      design: ordered(template.design),
      type: template.type,
      templateId: template.id,
      ...(template.fromName && { fromName: template.fromName }),
      ...(template.replyTo && { replyTo: template.replyTo }),
    })
    setOpen(false)
    const undo = () => draft.set({ subject, previewText, body, design, type, templateId, fromName, replyTo })
    toast(`The content is now that of ${template.name}`, { action: { label: 'Undo', run: undo } })
  }
  return (
    <>
      <Button size="sm" onClick={() => setOpen(true)}>
        Use a template…
      </Button>
      <Dialog
        title="Use a template"
        description="Copies its content into this campaign. Later changes to the template do not change the campaign."
        open={open}
        onOpenChange={setOpen}
        wide
      >
        <Form error={use.error} onSubmit={() => use.mutate(chosen || templates[0]!.id)}>
          <StartPicker
            legend="Template"
            groups={[
              {
                heading: 'Your templates',
                choices: templates.map(({ id, name, body }) => ({ key: id, label: name, content: { design: null, body } })),
              },
            ]}
            chosen={chosen || templates[0]!.id}
            onChoose={setChosen}
          />
          <DialogButtons>
            <Button onClick={() => setOpen(false)}>Cancel</Button>
            <Button type="submit" variant="primary" busy={use.isPending}>
              Replace the content
            </Button>
          </DialogButtons>
        </Form>
      </Dialog>
    </>
  )
}
