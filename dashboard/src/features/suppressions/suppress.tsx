import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Ban } from 'lucide-react'
import { useState } from 'react'
import { invalidateSuppressions } from '../../data/suppressions.ts'
import { useApi, useProject } from '../../projects/current.ts'
import { Dialog, DialogButtons } from '../../ui/dialog/dialog.tsx'
import { toast } from '../../ui/dialog/toast.tsx'
import { Button } from '../../ui/form/button.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Form } from '../../ui/form/form.tsx'
import { TextArea } from '../../ui/form/input.tsx'
import { Banner } from '../../ui/notice/banner.tsx'
import { useShortcuts } from '../../ui/shortcuts/shortcuts.ts'
import { countOf } from '../../ui/text/count.tsx'
import { addUp, describeSuppressed, inBatches, readEntries } from './suppression-entries.ts'

const NOUN = { one: 'entry', many: 'entries' }
/** Invalid entries named in the dialog; the rest are counted. */
const MAX_NAMED = 10

/** Lives in the page, not beside a button: the one of an empty list goes away with the first suppression, and the result with it. */
export function SuppressDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  useShortcuts([{ keys: 'c', label: 'Suppress', group: 'List', run: () => onOpenChange(true) }])
  return (
    <Dialog
      title="Suppress"
      description="A suppressed address gets no email of any kind, not even transactional email. A domain means all its addresses."
      open={open}
      onOpenChange={onOpenChange}
    >
      <SuppressForm onDone={() => onOpenChange(false)} />
    </Dialog>
  )
}

export function SuppressButton({ label, onClick }: { label: string; onClick: () => void }) {
  return (
    <Button variant="primary" size="sm" onClick={onClick}>
      <Ban aria-hidden="true" />
      {label}
    </Button>
  )
}

function SuppressForm({ onDone }: { onDone: () => void }) {
  const project = useProject()
  const api = useApi()
  const queries = useQueryClient()
  const [typed, setTyped] = useState('')
  const entries = readEntries(typed)
  const suppress = useMutation({
    mutationFn: async () => {
      const results = []
      // One after the other: a request that is refused leaves the rest in the field.
      for (const batch of inBatches(entries.length > 0 ? entries : [typed.trim()]))
        results.push(await api.suppressions.addMany({ entries: batch }))
      await invalidateSuppressions(queries, project.id)
      return addUp(results)
    },
    onSuccess: (result) => {
      toast(describeSuppressed(result))
      if (result.invalid.length === 0) onDone()
      else setTyped(result.invalid.join('\n'))
    },
  })
  const invalid = suppress.data?.invalid ?? []
  return (
    <Form error={suppress.error} onSubmit={() => suppress.mutate()}>
      {invalid.length > 0 && (
        <Banner tone="warning">
          Neither an address nor a domain: {invalid.slice(0, MAX_NAMED).join(', ')}
          {invalid.length > MAX_NAMED && ` and ${invalid.length - MAX_NAMED} more`}
        </Banner>
      )}
      <Field name="entries" label="Addresses or domains" hint="One, or many: separated by lines, spaces, commas or semicolons.">
        <TextArea
          required
          rows={6}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          placeholder={'ada@example.com\nexample.org'}
          spellCheck={false}
          className="font-mono"
        />
      </Field>
      <DialogButtons>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" variant="primary" busy={suppress.isPending}>
          {entries.length > 1 ? `Suppress ${countOf(entries.length, NOUN)}` : 'Suppress'}
        </Button>
      </DialogButtons>
    </Form>
  )
}
