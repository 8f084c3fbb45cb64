import type { Template } from '@sterna/sdk'
import { useEffect, useState } from 'react'
import { ContentWorkspace } from '../../../../content/content-workspace.tsx'
import type { PreviewView } from '../../../../content/preview.tsx'
import { type TemplateValues, templateProblemOf, templateValuesOf } from '../../../../content/template/template-values.ts'
import { useTemplateDraft } from '../../../../content/template/use-template-draft.ts'
import { useLint } from '../../../../content/use-lint.ts'
import { TYPE_HINTS, TYPE_NAMES } from '../../../../content/values/content-values.ts'
import { DraftNotices } from '../../../../editor/editor-frame.tsx'
import type { Draft } from '../../../../editor/use-draft.ts'
import { Confirm } from '../../../../ui/dialog/dialog.tsx'
import { FullDialog } from '../../../../ui/dialog/full-dialog.tsx'
import { Button } from '../../../../ui/form/button.tsx'
import { Field } from '../../../../ui/form/field.tsx'
import { Input, Select } from '../../../../ui/form/input.tsx'
import { useShortcuts } from '../../../../ui/shortcuts/shortcuts.ts'

type EmailDialogProps = { template: Template; onClose: () => void; returnFocus: () => HTMLElement | null }

/** Writes the email of a step, as blocks or as code, over the workflow. */
export default function EmailDialog({ template, onClose, returnFocus }: EmailDialogProps) {
  const draft = useTemplateDraft(template)
  const [asking, setAsking] = useState(false)
  const [isSaved, setIsSaved] = useState(false)
  // Once the saved state was rendered: until then the browser keeps the draft, and would offer it again.
  useEffect(() => {
    if (isSaved && !draft.isDirty) onClose()
  }, [isSaved, draft.isDirty, onClose])
  const [view, setView] = useState<PreviewView>({})
  const issues = useLint(draft.values)
  const errors = issues?.filter(({ severity }) => severity === 'error')
  const problem = templateProblemOf(draft.values, errors)
  const canSave = draft.isDirty && !problem && !draft.hasConflict
  useShortcuts([{ keys: 'mod+s', label: 'Save the email', group: 'Editor', run: () => void (canSave && draft.save()) }])
  return (
    <FullDialog
      title={template.name}
      onClose={() => (draft.isDirty ? setAsking(true) : onClose())}
      returnFocus={returnFocus}
      actions={
        <>
          <span className="text-muted text-xs max-sm:hidden" role="status">
            {draft.isDirty && (problem ? `Not saved: ${problem}` : 'Not saved')}
          </span>
          <Button variant="primary" size="sm" busy={draft.isSaving} disabled={!canSave} onClick={() => draft.save(() => setIsSaved(true))}>
            Save the email
          </Button>
        </>
      }
    >
      <div className="space-y-2 px-4 pt-4 empty:hidden sm:px-6 lg:px-8">
        <DraftNotices draft={draft} />
      </div>
      <EmailFields draft={draft} />
      <ContentWorkspace
        values={draft.values}
        saved={templateValuesOf(template)}
        onContent={draft.set}
        issues={issues}
        view={view}
        onView={setView}
      />
      <Confirm
        title="Close without saving?"
        description="Your changes to the email stay in this browser and are offered again, but they are not saved."
        action="Close without saving"
        open={asking}
        onOpenChange={setAsking}
        onConfirm={async () => onClose()}
      />
    </FullDialog>
  )
}

/** The required fields of an email besides its content. The rest is on the page of the template. */
function EmailFields({ draft }: { draft: Draft<TemplateValues> }) {
  const text = (name: 'subject' | 'previewText' | 'from', maxLength: number) => ({
    value: draft.values[name],
    onChange: (event: { target: { value: string } }) => draft.set({ [name]: event.target.value }),
    maxLength,
    autoComplete: 'off',
  })
  return (
    <div className="space-y-3 px-4 py-4 sm:px-6 lg:px-8">
      <div className="grid grid-cols-1 gap-3 md:grid-cols-2">
        <Field name="subject" label="Subject">
          <Input {...text('subject', 998)} />
        </Field>
        <Field name="from" label="From address" hint="On a verified domain.">
          <Input {...text('from', 320)} type="email" />
        </Field>
        <Field name="previewText" label="Preview text" hint="Shown after the subject in the inbox.">
          <Input {...text('previewText', 500)} />
        </Field>
        <Field name="type" label="Type" hint={TYPE_HINTS[draft.values.type]}>
          <Select
            options={TYPE_NAMES}
            value={draft.values.type}
            // The options are the types.
            onChange={(event) => draft.set({ type: event.target.value as TemplateValues['type'] })}
          />
        </Field>
      </div>
      <p className="text-muted text-xs">After saving, contacts who reach this step get the new version.</p>
    </div>
  )
}
